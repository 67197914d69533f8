import { runScenarioTests } from "../src/simulator/scenario-tests.ts";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "of the portable store under every fault break no promise",
  run,
  module: "packages/record-log/test/simulation/run.ts",
  acts: 60,
});
