import { runScenarioTests } from "../../simulator/src/index.ts";
import { run } from "./simulation/run.ts";

runScenarioTests({
  title: "of the portable store under every fault break no promise",
  run,
  module: "packages/store-core/test/simulation/run.ts",
  acts: 60,
});
