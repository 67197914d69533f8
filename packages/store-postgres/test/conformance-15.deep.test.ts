import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { postgresHarnesses } from "./harness.ts";

const server = startServer("postgres-15");
afterAll(async () => (await server).stop());

runConformance({ name: "PostgreSQL 15", createHarness: postgresHarnesses(server, false) });
