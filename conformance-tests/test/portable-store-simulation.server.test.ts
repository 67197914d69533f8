import { runScenarioTests } from "../src/scenario-tests.ts";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "of the portable store under every fault break no promise",
  run,
  module: "conformance-tests/test/simulation/run.ts",
  acts: 60,
});
