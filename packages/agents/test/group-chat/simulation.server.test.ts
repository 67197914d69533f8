import { runScenarioTests } from "@scrollback/conformance";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "100,000 steps of a group chat under every fault lose, double and reorder no message",
  run,
  module: "packages/agents/test/group-chat/simulation/run.ts",
  acts: 40,
});
