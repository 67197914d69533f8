export type {
  ConformanceOptions,
  FaultyConnection,
  Harness,
  RawAccess,
  ServerInfo,
} from "./harness.ts";
export { runConformance } from "./suite.ts";
export { type ProxyCounters, type ProxyMode, TcpProxy } from "./tcp-proxy.ts";
