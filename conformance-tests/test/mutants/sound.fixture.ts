import { describe } from "vitest";
import { clauses } from "../../src/clauses/index.ts";
import { declareClause } from "../../src/suite.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { SOUND } from "./index.ts";
import { declareGroups } from "./mutant.ts";

// Runs in the same way as the mutants, so that none of them fails only because others run beside it.
const options = { name: SOUND, createHarness: () => loopbackHarness() };
declareGroups(
  Object.entries(clauses),
  ([id]) => id,
  ([id, clause], group) => describe(SOUND, group, () => declareClause(id, clause, options)),
);
