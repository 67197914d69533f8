import { tracingChannel } from "node:diagnostics_channel";
import { expect, onTestFinished, test } from "vitest";
import type { Driver } from "../src/driver.ts";
import type { StoreCall } from "../src/index.ts";
import { observed } from "../src/store/observation.ts";

// Needs a process of its own: creating stores may load OpenTelemetry, which subscribes until the process ends.
test("without subscribers nothing is created and the driver is not accessed", async () => {
  const untouchable = new Proxy({} as Driver, {
    get: (_, name) => {
      throw new Error(`asked for ${String(name)}`);
    },
  });
  const given: unknown[] = [];
  const run = (call: unknown) => {
    given.push(call);
    return Promise.resolve(7);
  };
  expect(await observed("commit", "commit", untouchable, "t", run)).toBe(7);
  expect(given).toEqual([undefined]);
  const commits = tracingChannel<object, StoreCall>("scrollback:commit");
  const nothing = () => {};
  const subscribers = {
    start: nothing,
    end: nothing,
    asyncStart: nothing,
    asyncEnd: nothing,
    error: nothing,
  };
  commits.subscribe(subscribers);
  onTestFinished(() => commits.unsubscribe(subscribers));
  await expect(async () => observed("commit", "commit", untouchable, "t", run)).rejects.toThrow("asked for");
});
