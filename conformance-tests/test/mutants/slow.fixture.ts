import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "vitest";
import { clauses } from "../../src/clauses/index.ts";
import type { ConformanceOptions } from "../../src/harness.ts";
import { declareClause } from "../../src/suite.ts";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { memoryHarness } from "../memory-harness.ts";
import { SLOW } from "./index.ts";

/** More than half of the shortest time to live in a test. */
const DELAY_MS = 500;

const options: ConformanceOptions = {
  name: SLOW,
  async createHarness() {
    const harness = await memoryHarness();
    const { driver } = harness;
    const late = async <T>(outcome: Promise<T>): Promise<T> => {
      await sleep(DELAY_MS);
      return await outcome;
    };
    return {
      ...harness,
      driver: wrapDriver(driver, {
        commit: (request) => late(driver.commit(request)),
        read: (request) => late(driver.read(request)),
      }),
    };
  },
};

// Only tests of expiry, in which the time matters.
describe(SLOW, () => {
  for (const [id, clause] of Object.entries(clauses)) {
    const declare: typeof clause.declare = (test) =>
      clause.declare((title, run) => {
        if (id === "C11" || /\bexpired\b/.test(title)) test(title, run);
      });
    if (["C5", "C7", "C11"].includes(id))
      declareClause(id, { ...clause, concurrent: true, declare }, options);
  }
});
