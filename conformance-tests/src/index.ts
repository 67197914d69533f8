export { runFactory } from "./factory/run-factory.ts";
export type { Fault, ServerControl } from "./faults/faults.ts";
export { runFaults } from "./faults/run-faults.ts";
export { spawnServer } from "./faults/spawned-server.ts";
export { runGolden } from "./golden/run-golden.ts";
export { type GoldenFacts, writeGolden } from "./golden/write-golden.ts";
export type { FaultyConnection, Harness, RawAccess } from "./harness.ts";
export { TcpProxy } from "./proxy/tcp-proxy.ts";
export { runConformance, runHistory } from "./suite.ts";
