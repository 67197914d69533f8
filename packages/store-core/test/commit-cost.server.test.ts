import { expect, test, vi } from "vitest";
import { messagesFrom } from "../../../benchmarks/src/messages.ts";
import { createStores, type Driver, MemoryDriver, NO_THREAD } from "../src/index.ts";

/** A driver that does nothing, so that what is measured is store-core alone. */
const driver: Driver = {
  capabilities: new MemoryDriver().capabilities,
  commit: async () => ({ outcome: "committed", revision: "AAAAAAAAAAAAAAAA.1" }),
  read: async () => NO_THREAD,
  delete: async () => ({ outcome: "deleted" }),
  list: async () => ({ threads: [] }),
  close: async () => undefined,
  classifyError: () => undefined,
};
// Nobody observes: OpenTelemetry is installed for the tests.
vi.stubEnv("OTEL_SDK_DISABLED", "true");
const store = createStores(driver, { maxMessages: 1_000 }).open();
const ROUNDS = 300;

/**
 * How many times as long a commit takes as JSON.stringify of its messages. Timed in turn, a fraction of a millisecond each,
 * and the shortest times are compared: those that no other work of the machine made longer.
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
  // About 2.8 and 1.8. With a digest of every commit, regular expressions on keys and five promises more: 5.4 and 3.4.
  expect(one).toBeLessThan(4.2);
  expect(twenty).toBeLessThan(2.6);
});
