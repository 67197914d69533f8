export { runFactory } from "./factory/index.ts";
export { type Fault, runFaults, type ServerControl, spawnServer } from "./faults/index.ts";
export { type GoldenFacts, runGolden, writeGolden } from "./golden/index.ts";
export type { FaultyConnection, Harness, RawAccess } from "./harness.ts";
export { runConformance, runHistory } from "./suite.ts";
export { TcpProxy } from "./tcp-proxy.ts";
