import { describe } from "vitest";
import { sharedServer } from "../../conformance-tests/servers/index.ts";
import { clauses } from "../../conformance-tests/src/clauses/index.ts";
import type { Harness } from "../../conformance-tests/src/harness.ts";
import { declareClause } from "../../conformance-tests/src/suite.ts";
import { loopbackHarness } from "../../conformance-tests/test/loopback/harness.ts";
import { memoryHarness } from "../../conformance-tests/test/memory-harness.ts";
import { documentsHarness } from "../../packages/documents/test/harness.ts";

// Runs one clause on one backend, both named by environment variables. The source contains a mutant.

const backends: Record<string, () => Promise<() => Promise<unknown>>> = {
  memory: async () => () => memoryHarness(),
  loopback: async () => () => loopbackHarness(),
  documents: async () => () => documentsHarness(),
  sqlite: async () => (await import("../../packages/store-sqlite/test/harness.ts")).createSqliteHarness,
  redis: async () => {
    const { redisHarnesses } = await import("../../packages/store-redis/test/harness.ts");
    return redisHarnesses(sharedServer("redis"));
  },
  postgres: async () => {
    const { postgresHarnesses } = await import("../../packages/store-postgres/test/harness.ts");
    return postgresHarnesses(sharedServer("postgres"));
  },
};

const { MUTANT_NAME: name = "", MUTANT_BACKEND: backend = "", MUTANT_CLAUSE: id = "" } = process.env;
const clause = clauses[id];
const makeHarnesses = backends[backend];
if (!clause || !makeHarnesses) throw new Error(`there is no clause ${id} or no backend ${backend}`);
// The adapters' harnesses use the types of the built suite; this file uses its source.
const createHarness = (await makeHarnesses()) as () => Promise<Harness>;
describe(name, () => declareClause(id, clause, { name: backend, createHarness }));
