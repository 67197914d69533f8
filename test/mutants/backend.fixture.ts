import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "vitest";
import { sharedServer } from "../../conformance-tests/servers/index.ts";
import { clauses } from "../../conformance-tests/src/clauses/index.ts";
import type { Harness } from "../../conformance-tests/src/harness.ts";
import { declareClause } from "../../conformance-tests/src/suite.ts";
import { wrapDriver } from "../../conformance-tests/src/wrapped-driver.ts";
import { memoryHarness } from "../../conformance-tests/test/memory-harness.ts";

// Runs clauses on one backend, all named by environment variables. The source contains a mutant, or none.

/** The memory driver, with the most time of a request in milliseconds. */
async function lateHarness(most: number): Promise<Harness> {
  const harness = await memoryHarness();
  const { driver } = harness;
  const late = async <T>(run: () => Promise<T>): Promise<T> => {
    await sleep(Math.random() * most);
    const outcome = await run();
    await sleep(Math.random() * most);
    return outcome;
  };
  const commit: typeof driver.commit = (request) => late(() => driver.commit(request));
  const read: typeof driver.read = (request) => late(() => driver.read(request));
  return { ...harness, driver: wrapDriver(driver, { commit, read }) };
}

/** Memory that says that it forgets a deleted thread late, so that no test waits for it. */
async function forgetfulHarness(): Promise<Harness> {
  const harness = await memoryHarness();
  const { capabilities } = harness.driver;
  const deletedWithinMs = capabilities.deletedWithinMs && 86_400_000;
  return {
    ...harness,
    driver: wrapDriver(harness.driver, { capabilities: { ...capabilities, deletedWithinMs } }),
  };
}

/** Each loads only its own modules, because each mutant loads them anew. */
const backends: Record<string, () => Promise<() => Promise<unknown>>> = {
  memory: async () => () => (names === "C21" ? forgetfulHarness() : memoryHarness()),
  late: async () => () => lateHarness(2),
  // More than half of the shortest time to live in a test, as on a busy machine.
  slow: async () => () => lateHarness(500),
  loopback: async () => (await import("../../conformance-tests/test/loopback/harness.ts")).loopbackHarness,
  documents: async () => (await import("../../packages/documents/test/harness.ts")).documentsHarness,
  "sqlite-documents": async () =>
    (await import("../../packages/documents/test/sqlite/harness.ts")).sqliteDocumentsHarness,
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

const { MUTANT_NAME: name = "", MUTANT_RUNS: backend = "", MUTANT_CLAUSE: names = "" } = process.env;
const makeHarnesses = backends[backend];
if (!makeHarnesses) throw new Error(`there is no backend ${backend}`);
// The adapters' harnesses use the types of the built suite; this file uses its source.
const createHarness = (await makeHarnesses()) as () => Promise<Harness>;
describe(name, () => {
  const [part = "", parts] = names.split("/");
  const ids = Object.keys(clauses).filter((_, index) => index % Number(parts) === Number(part));
  for (const id of parts ? ids : names.split(" ")) {
    const clause = clauses[id];
    if (!clause) throw new Error(`there is no clause ${id}`);
    // On a slow backend only tests of expiry, in which the time matters, side by side.
    const declare: typeof clause.declare = (test) =>
      clause.declare((title, run) => {
        if (id === "C11" || /\bexpired\b/.test(title)) test(title, run);
      });
    const slow = { ...clause, concurrent: true, declare };
    declareClause(id, backend === "slow" ? slow : clause, { name: backend, createHarness });
  }
});
