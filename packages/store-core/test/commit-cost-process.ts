// Started by `commit-cost.server.test.ts`: prints the ratios of a commit of 1 and of 20 messages as JSON.
import { messagesFrom } from "../../../benchmarks/src/messages.ts";
import { createStores, type Driver, MemoryDriver, NO_THREAD } from "../src/driver.ts";

/** A driver without any work, so that only store-core is measured. */
const driver: Driver = {
  capabilities: new MemoryDriver().capabilities,
  commit: async () => ({ outcome: "committed", revision: "AAAAAAAAAAAAAAAA.1" }),
  read: async () => NO_THREAD,
  delete: async () => ({ outcome: "deleted" }),
  list: async () => ({ threads: [] }),
  close: async () => undefined,
  classifyError: () => undefined,
};
const store = createStores(driver, { maxMessages: 1_000 }).open();
const WARM_UP_ROUNDS = 300;
const ROUNDS = 1_200;

/**
 * The ratio of the time of a commit to the time of JSON.stringify of its messages. Both are timed in turn, for a fraction of a
 * millisecond. The ratio uses the shortest times, because other work on the machine disturbs them least.
 */
async function costOf(messages: number): Promise<number> {
  const batches = Array.from({ length: 100 / messages }, (_, index) =>
    messagesFrom(index * messages, messages),
  );
  const cells = [
    async () => {
      for (const batch of batches) for (const message of batch) JSON.stringify(message);
    },
    async () => {
      for (const batch of batches) await store.addMessages(batch);
    },
  ];
  const shortest = cells.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const [index, cell] of cells.entries()) {
      const begin = performance.now();
      await cell();
      const time = performance.now() - begin;
      if (round >= WARM_UP_ROUNDS) shortest[index] = Math.min(shortest[index] ?? time, time);
    }
  }
  const [json = Number.NaN, commit = Number.NaN] = shortest;
  return commit / json;
}

console.log(JSON.stringify([await costOf(1), await costOf(20)]));
