import type { Harness } from "@scrollback/conformance";
import { memoryHarness } from "../../../conformance-tests/test/memory-harness.ts";
import { watchedDriver } from "../../store-postgres/test/queries.ts";
import { requestsOf } from "../../store-redis/test/count-requests.ts";

/** A driver in workerd, and what the suite cannot do from another process. */
export interface OpenDriver extends Pick<Harness, "driver"> {
  /** See `Harness.requestCount`. */
  requestCount(): number;
  /** Absent for a backend that the suite reaches by its own client. */
  readonly raw?: Harness["raw"];
}

/** Opens a driver, by its name, from the data that the child processes of its suite are given. */
export const drivers = {
  async memory(): Promise<OpenDriver> {
    return { ...(await memoryHarness()), requestCount: () => 0 };
  },

  async redis(data: unknown): Promise<OpenDriver> {
    const { driver, count } = requestsOf(data as Parameters<typeof requestsOf>[0]);
    return { driver, requestCount: count };
  },

  async postgres(data: unknown): Promise<OpenDriver> {
    const { driver, sent } = watchedDriver(data as Parameters<typeof watchedDriver>[0]);
    return { driver, requestCount: () => sent.length };
  },
};

export type DriverName = keyof typeof drivers;
