import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { postgresHarnesses } from "./harness.ts";

const server = startServer("postgres-13");
afterAll(async () => (await server).stop());

runConformance({ name: "PostgreSQL 13", createHarness: postgresHarnesses(server, false) });
