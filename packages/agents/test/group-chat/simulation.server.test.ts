import { runScenarioTests } from "@scrollback/simulator";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "of a group chat under every fault lose, double and reorder no message",
  run,
  module: "packages/agents/test/group-chat/simulation/run.ts",
  steps: 10_000,
  acts: 40,
});
