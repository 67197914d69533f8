import { tracingChannel } from "node:diagnostics_channel";
import { expect, test } from "vitest";
import { MemoryDriver } from "../src/driver.ts";
import type { StoreCall } from "../src/index.ts";
import { observed } from "../src/store/observation.ts";

// This test creates no factory, so the channels have no subscriber even if OpenTelemetry is installed.
const reads = tracingChannel<object, StoreCall>("scrollback:read");
const driver = new MemoryDriver();
/** A minimal call, so that the overhead of the channels is visible. */
const run = async () => 7;
const cells = [run, () => observed("read", "listMessages", driver, "t", run)];
const BATCH = 1_000;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The time ratio of the observed call to the plain call. They are timed in turn, so other work on the machine affects both. */
async function measure(rounds: number): Promise<number> {
  const times: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [index, cell] of cells.entries()) {
      const begin = performance.now();
      for (let call = 0; call < BATCH; call++) await cell();
      times[index]?.push(performance.now() - begin);
    }
  }
  const [plain = [], watched = []] = times;
  return median(watched) / median(plain);
}

test("without subscribers the channels do not slow down an empty call", async () => {
  expect(reads.hasSubscribers).toBe(false);
  await measure(100);
  const unsubscribed = await measure(1_000);
  const listener = () => undefined;
  reads.asyncEnd.subscribe(listener);
  const subscribed = await measure(100);
  reads.asyncEnd.unsubscribe(listener);
  console.log(
    `times as long as an empty call: ${unsubscribed.toFixed(2)} without a subscriber, ${subscribed.toFixed(1)} with one`,
  );
  // About 1.1 and 6: the second shows that the measurement can detect a difference.
  expect(unsubscribed).toBeLessThan(1.5);
  expect(subscribed).toBeGreaterThan(3);
});
