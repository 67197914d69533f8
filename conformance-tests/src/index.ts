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
export { runConformance, runHistory } from "./suite.ts";
export { type ProxyCounters, type ProxyMode, TcpProxy } from "./tcp-proxy.ts";
