import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { postgresHarnesses } from "./harness.ts";
import { startPooled } from "./pgbouncer.ts";

const server = startPooled("max_prepared_statements = 0");
afterAll(async () => (await server).stop());

runConformance({ name: "PgBouncer, transaction mode", createHarness: postgresHarnesses(server) });
