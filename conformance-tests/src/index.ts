export { runFactory } from "./factory/run-factory.ts";
export { runFaults } from "./faults/run-faults.ts";
export { runGolden } from "./golden/run-golden.ts";
export { writeGolden } from "./golden/write-golden.ts";
export type { Harness } from "./harness.ts";
export { TcpProxy } from "./proxy/tcp-proxy.ts";
export { runConformance } from "./suite.ts";
