import { tracingChannel } from "node:diagnostics_channel";
import { expect, test } from "vitest";
import { MemoryDriver, type StoreCall } from "../src/index.ts";
import { observed } from "../src/observation.ts";

// No factory is made here: nobody listens, whatever is installed.
const reads = tracingChannel<object, StoreCall>("scrollback:read");
const driver = new MemoryDriver();
/** As little as a call can do, so that what the channels add stands out. */
const run = async () => 7;
const cells = [run, () => observed("read", "listMessages", driver, "t", run)];
const BATCH = 1_000;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** How many times as long the observed call takes. Timed in turn, so that whatever else the machine does hits both. */
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
