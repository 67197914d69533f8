import { runFaults } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { postgresHarnesses } from "./harness.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

runFaults({ name: "PostgreSQL", createHarness: postgresHarnesses(server), server: () => server });
