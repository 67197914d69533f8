export { callDamaged } from "./damaged.ts";
export {
  type FactoryTestOptions,
  type HandedIn,
  type ProxiedServer,
  type Refusal,
  runFactory,
} from "./factory/index.ts";
export {
  type Fault,
  type FaultOptions,
  type FaultScene,
  formatLoad,
  type LoadFigure,
  type LoadOptions,
  runFaults,
  type ServerControl,
  type SpawnedServer,
  type SpawnedServerOptions,
  spawnServer,
  underLoad,
} from "./faults/index.ts";
export {
  type GoldenFact,
  type GoldenFacts,
  type GoldenOptions,
  runGolden,
  writeGolden,
} from "./golden/index.ts";
export type {
  ConformanceOptions,
  FaultyConnection,
  Harness,
  RawAccess,
  ServerInfo,
} from "./harness.ts";
export { CountingLog } from "./record-log/counting-log.ts";
export type { RecordLogHarness } from "./record-log/harness.ts";
export {
  type CountedLog,
  type RecordLogBackend,
  recordLogAccess,
  recordLogHarness,
} from "./record-log/record-log-harness.ts";
export { type RecordLogOptions, runRecordLog } from "./record-log/run-record-log.ts";
export { runScenarioTests, type ScenarioTestOptions } from "./scenario-tests.ts";
export {
  describeFailedRun,
  type Ended,
  type FailedRun,
  type Fault as SimulatedFault,
  faults as simulatedFaults,
  formatReport,
  type Interval,
  type ProfileName,
  profileNames,
  Register,
  type Run,
  randomSeed,
  runScenario,
  runSimulation,
  type Scenario,
  type ScenarioSetup,
  type SimulatedClient,
  type SimulateOptions,
  SimulationFailure,
  type SimulationOptions,
  type SimulationReport,
  type SimulationResult,
  shrink,
  simulate,
  type World,
} from "./simulator/index.ts";
export { runConformance, runHistory } from "./suite.ts";
export { type ProxyCounters, type ProxyMode, TcpProxy } from "./tcp-proxy.ts";
