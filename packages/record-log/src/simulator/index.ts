/**
 * A simulator of clients on a record log that loses, delays and repeats requests, in virtual time.
 *
 * @packageDocumentation
 */
export type { SimulatedClient } from "./client.ts";
export { SimulationFailure } from "./failure.ts";
export { type Fault, faults } from "./faults.ts";
export { type ProfileName, profileNames } from "./profiles.ts";
export { Register } from "./register.ts";
export {
  type FailedRun,
  formatReport,
  type SimulationReport,
} from "./report.ts";
export {
  type Ended,
  type Interval,
  runScenario,
  type Scenario,
  type ScenarioSetup,
  type World,
} from "./scenario.ts";
export { runScenarioTests, type ScenarioTestOptions } from "./scenario-tests.ts";
export { describeFailedRun, shrink } from "./shrink.ts";
export { type Run, randomSeed, type SimulateOptions, simulate } from "./simulate.ts";
export { runSimulation, type SimulationOptions, type SimulationResult } from "./simulation.ts";
