import { describe, expect } from "vitest";
import type { Clause } from "../../src/clause.ts";
import { declareClause } from "../../src/suite.ts";
import { memoryHarness } from "../memory-harness.ts";

// A suite of two small clauses on three backends, one without its server. Run by reporter.deep.test.ts.
const order: Clause = {
  title: "Order",
  declare(test) {
    test("holds", async (backend) => {
      await backend.store().addMessages([]);
    });
    test("holds in other processes", async (backend) => {
      backend.requireProcesses();
    });
  },
};
const size: Clause = {
  title: "Size",
  declare(test) {
    test("is as asked", async () => {
      expect(process.env.FIXTURE_FAILS).toBeUndefined();
    });
  },
};

for (const name of ["One", "Two", "Gone"]) {
  const createHarness = async () => {
    if (name === "Gone" && process.env.FIXTURE_FAILS) throw new Error("there is no server");
    return await memoryHarness();
  };
  describe(name, () => {
    declareClause("C1", order, { name, createHarness });
    declareClause("C12", size, { name, createHarness });
  });
}
