import type { CommitRequest, Driver, ReadRequest } from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";

/** A driver that changes the request of a commit. */
export const asking = (change: (request: CommitRequest) => Partial<CommitRequest>) => (driver: Driver) =>
  wrapDriver(driver, { commit: (request) => driver.commit({ ...request, ...change(request) }) });

/** A driver that changes the request of a read. */
export const reading = (change: (request: ReadRequest) => Partial<ReadRequest>) => (driver: Driver) =>
  wrapDriver(driver, { read: (request) => driver.read({ ...request, ...change(request) }) });

/** A read of everything. */
export const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: true };
