import { runScenarioTests } from "../src/scenario-tests.ts";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "100,000 steps of the portable store under every fault break no promise",
  run,
  module: "conformance-tests/test/simulation/run.ts",
  acts: 60,
});
