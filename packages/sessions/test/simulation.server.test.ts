import { runScenarioTests } from "@scrollback/simulator";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "of sessions under every fault lose, double and hide nothing",
  run,
  module: "packages/sessions/test/simulation/run.ts",
  steps: 10_000,
  acts: 60,
});
