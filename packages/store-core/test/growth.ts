import { expect, test } from "vitest";
import type { StoreFactory } from "../src/index.ts";

// Sixteen times the input may take sixteen times the time, not 256 times. The time is the CPU time of this thread (that of
// the process counts the collector's threads too), the minimum of several runs. The limit is four times what is right and
// a quarter of what is wrong.

const isDeep = process.env.SCROLLBACK_DEEP === "1";
export const SIZES = isDeep ? ([1_000, 16_000] as const) : ([250, 4_000] as const);
const BATCHES = isDeep ? ([625, 10_000] as const) : ([250, 4_000] as const);
const TRIMMED = isDeep ? ([75, 1_200] as const) : ([50, 800] as const);
const ROUNDS = isDeep ? 6 : 3;
export const MOST_TIMES = 64;
/** A run is repeated for so many microseconds, because the kernel's clock of a thread may advance by 10 ms at a time. */
const SHORTEST_US = 60_000;

export async function growth(
  sizes: readonly [number, number],
  run: (size: number) => unknown,
): Promise<number> {
  const fastest: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, size] of sizes.entries())
      fastest[index] = Math.min(fastest[index] ?? 0, await costOf(() => run(size)));
  return fastest[1] / fastest[0];
}

/** The CPU time of one run, in microseconds. */
async function costOf(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs++) {
    await run();
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= SHORTEST_US) return (user + system) / runs;
  }
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
