// "#diagnostics" where there is no `node:diagnostics_channel`: nothing is observed. Functions that bundlers remove.
import type * as Node from "./node-diagnostics.ts";

export function observed<T>(...[, , , , run]: Parameters<typeof Node.observed<T>>): Promise<T> {
  return run(undefined);
}
export function logged<T>(driver: T): T {
  return driver;
}
export function asCheck<T>(request: T): T {
  return request;
}
export function recordSize(): void {}
export function retried(): void {}
export function offerTelemetry(): void {}
