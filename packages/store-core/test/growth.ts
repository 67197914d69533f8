import { expect, test } from "vitest";
import type { StoreFactory } from "../src/index.ts";

// Eight times the input may take eight times the time, not 64 times. The time is the CPU time of this process, the minimum
// of several runs. The limit is far from both, because other processes make even that time longer.

const isDeep = process.env.SCROLLBACK_DEEP === "1";
export const SIZES = isDeep ? ([2_000, 16_000] as const) : ([500, 4_000] as const);
/** A commit to the record log has at most 10,000 messages. */
const BATCHES = isDeep ? ([1_250, 10_000] as const) : ([250, 2_000] as const);
const TRIMMED = isDeep ? ([150, 1_200] as const) : ([50, 400] as const);
const ROUNDS = isDeep ? 6 : 4;
export const MOST_TIMES = 24;
/** Times below this number of microseconds are too inexact to compare. */
const SHORTEST_US = 100;

export async function growth(
  sizes: readonly [number, number],
  run: (size: number) => unknown,
): Promise<number> {
  const fastest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, size] of sizes.entries()) {
      const before = process.cpuUsage();
      await run(size);
      const { user, system } = process.cpuUsage(before);
      fastest[index] = Math.min(fastest[index] ?? 0, user + system);
    }
  }
  return (fastest[1] ?? 0) / Math.max(SHORTEST_US, fastest[0] ?? 0);
}

export const many = <T>(size: number, make: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index));

/** Declares that the costs of stores over a driver grow linearly. @param make makes empty stores in this process. */
export function declareStoreCosts(driver: string, make: (maxMessages: number) => StoreFactory): void {
  test(`C12 the cost of a batch over ${driver} grows linearly with its length`, async () => {
    const batch = async (size: number) => {
      const store = make(100_000).open();
      await store.addMessages(many(size, (index) => ({ role: "assistant", content: `${index}` })));
      await store.listMessages();
    };
    expect(await growth(BATCHES, batch)).toBeLessThan(MOST_TIMES);
  });

  test(`C6 the cost of trimming over ${driver} grows linearly with the messages in which no turn begins`, async () => {
    const prepared = new Map<number, ReturnType<StoreFactory["open"]>>();
    for (const size of TRIMMED) {
      const store = make(size).open();
      prepared.set(size, store);
      for (let number = 0; number < size; number++)
        await store.addMessages([{ role: "assistant", content: "a" }]);
    }
    const trim = async (size: number) => {
      for (let round = 0; round < 5; round++)
        await prepared.get(size)?.addMessages([{ role: "tool", content: "t" } as never]);
    };
    expect(await growth(TRIMMED, trim)).toBeLessThan(MOST_TIMES);
  });
}
