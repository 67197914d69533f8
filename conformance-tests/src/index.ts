export { callDamaged } from "./damaged.ts";
export {
  type Fault,
  type FaultOptions,
  type FaultScene,
  formatLoad,
  type LoadFigure,
  type LoadOptions,
  runFaults,
  type ServerControl,
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
export type { RecordLogHarness } from "./record-log/harness.ts";
export { type RecordLogOptions, runRecordLog } from "./record-log/run-record-log.ts";
export { runConformance, runHistory } from "./suite.ts";
export { type ProxyCounters, type ProxyMode, TcpProxy } from "./tcp-proxy.ts";
