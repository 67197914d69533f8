import { runScenarioTests } from "@scrollback/conformance";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "100,000 steps of sessions under every fault lose, double and hide nothing",
  run,
  module: "packages/sessions/test/simulation/run.ts",
  acts: 60,
});
