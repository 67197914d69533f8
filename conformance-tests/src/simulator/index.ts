export { SimulationFailure } from "./failure.ts";
export { type Fault, faults } from "./faults.ts";
export { type ProfileName, profileNames } from "./profiles.ts";
export {
  emptyReport,
  type FailedRun,
  formatReport,
  headSizeAt,
  mergeReports,
  type SimulationReport,
} from "./report.ts";
export { describeFailedRun, shrink } from "./shrink.ts";
export { randomSeed, type SimulateOptions, simulate } from "./simulate.ts";
export { runSimulation, type SimulationOptions, type SimulationResult } from "./simulation.ts";
