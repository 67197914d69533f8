import { expect, test, vi } from "vitest";
import { messagesFrom } from "../../../benchmarks/src/messages.ts";
import { createStores, type Driver, MemoryDriver, NO_THREAD } from "../src/index.ts";

/** A driver without any work, so that the test measures only store-core. */
const driver: Driver = {
  capabilities: new MemoryDriver().capabilities,
  commit: async () => ({ outcome: "committed", revision: "AAAAAAAAAAAAAAAA.1" }),
  read: async () => NO_THREAD,
  delete: async () => ({ outcome: "deleted" }),
  list: async () => ({ threads: [] }),
  close: async () => undefined,
  classifyError: () => undefined,
};
// Turns off OpenTelemetry, which is installed for other tests.
vi.stubEnv("OTEL_SDK_DISABLED", "true");
const store = createStores(driver, { maxMessages: 1_000 }).open();
const ROUNDS = 300;

/**
 * The ratio of the time of a commit to the time of JSON.stringify of its messages. Both are timed in turn, for a fraction of a
 * millisecond. The ratio uses the shortest times, because other work on the machine disturbs them least.
 */
async function costOf(messages: number): Promise<number> {
  const count = 100 / messages;
  const batches = Array.from({ length: count }, (_, index) => messagesFrom(index * messages, messages));
  const cells = [
    async () => {
      for (const batch of batches) for (const message of batch) JSON.stringify(message);
    },
    async () => {
      for (const batch of batches) await store.addMessages(batch);
    },
  ];
  const times: number[][] = [[], []];
  for (let round = 0; round < 2 * ROUNDS; round++) {
    for (const [index, cell] of cells.entries()) {
      const begin = performance.now();
      await cell();
      // The first half warms up.
      if (round >= ROUNDS) times[index]?.push(performance.now() - begin);
    }
  }
  const [json = [], commit = []] = times;
  return Math.min(...commit) / Math.min(...json);
}

test("the overhead of store-core on a commit is at most a few times JSON.stringify of the messages", async () => {
  const one = await costOf(1);
  const twenty = await costOf(20);
  console.log(`times JSON.stringify: ${one.toFixed(2)} for 1 message, ${twenty.toFixed(2)} for 20`);
  // About 2.8 and 1.8. With a digest of each commit, regular expressions on keys and five more promises: 5.4 and 3.4.
  expect(one).toBeLessThan(4.2);
  expect(twenty).toBeLessThan(2.6);
});
