import { type CommitRequest, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DocumentDriver, MemoryDocuments } from "../src/index.ts";

// Histories with large batches, many small commits behind them, trims, drops and large pinned messages, beside the memory driver.

interface Step {
  readonly count: number;
  readonly drop: number | "all";
}

type Kind = CommitRequest["append"][number]["kind"];

const all = {
  threadId: "t",
  limit: Number.POSITIVE_INFINITY,
  before: undefined,
  after: undefined,
  metadata: true,
  signal: undefined,
};

/** Makes the steps on both drivers, and asserts after each that they read the same. */
async function compare(
  steps: readonly Step[],
  kindOf: (number: number) => Kind,
  sizeOf: (number: number) => number,
  maxMessages: number,
): Promise<void> {
  const drivers: Driver[] = [new DocumentDriver(new MemoryDocuments()), new MemoryDriver()];
  let made = 0;
  for (const [index, { count, drop }] of steps.entries()) {
    const append = Array.from({ length: count }, () => {
      made += 1;
      return { kind: kindOf(made), createdAt: 1, text: `${made} `.padEnd(sizeOf(made), "x") };
    });
    const request: CommitRequest = {
      ...{ threadId: "t", operationId: `${index}`, digest: "x", newIncarnation: "i".repeat(16) },
      ...{ expectedRevision: undefined, drop, append, metadata: undefined, maxMessages, trimming: "turns" },
      ...{ ttlMs: undefined, createdAt: 1, updatedAt: 1, signal: undefined },
    };
    const [ours, theirs] = await Promise.all(
      drivers.map(async (driver) => {
        await driver.commit(request);
        const { count: length, first, last, entries } = await driver.read(all);
        return { length, first, last, texts: entries.map(({ text }) => text.slice(0, 6)) };
      }),
    );
    expect(ours, `step ${index}`).toEqual(theirs);
  }
}

const one: Step = { count: 1, drop: 0 };
const times = (count: number) => Array.from({ length: count }, () => one);

test("C6 C17 a drop reaches a page that lies before a pinned page", async () => {
  const kindOf = (number: number): Kind => (number === 10 ? "k" : number % 5 === 0 ? "u" : "o");
  const steps = [{ count: 200, drop: 0 }, ...times(8), { count: 0, drop: 60 }, { count: 3, drop: 0 }];
  await compare(steps, kindOf, (number) => (number === 10 ? 5_000 : 5), 200);
});

test("C6 a trim finds the users in a page that contains a large pinned message", async () => {
  const kindOf = (number: number): Kind => (number === 10 ? "k" : number % 5 === 0 ? "u" : "o");
  await compare(
    [{ count: 200, drop: 0 }, ...times(40)],
    kindOf,
    (number) => (number === 10 ? 5_000 : 5),
    200,
  );
});

test("C6 a trim finds the users in a page that was written anew after a pinned message", async () => {
  const kindOf = (number: number): Kind => (number === 1 ? "s" : number % 10 === 9 ? "u" : "o");
  await compare([{ count: 200, drop: 0 }, ...times(120)], kindOf, () => 5, 200);
});

test("C6 any history is trimmed as in memory", async () => {
  const kinds: readonly Kind[] = ["o", "o", "o", "u", "t", "c", "b", "k", "s"];
  const step = fc.oneof(
    { weight: 20, arbitrary: fc.record({ count: fc.integer({ min: 1, max: 2 }), drop: fc.constant(0) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        count: fc.integer({ min: 0, max: 150 }),
        drop: fc.integer({ min: 0, max: 90 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ count: fc.constant(1), drop: fc.constant("all" as const) }) },
  );
  const history = fc.record({
    first: fc.integer({ min: 1, max: 350 }),
    steps: fc.array(step, { minLength: 40, maxLength: 120, size: "max" }),
    maxMessages: fc.constantFrom(5, 60, 150, 250),
    seed: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ first, steps, maxMessages, seed }) => {
      const random = (number: number) => Math.abs(Math.imul(number + seed, 0x9e3779b1) >>> 8);
      const kindOf = (number: number) =>
        number === 1 && seed % 2 === 0 ? "s" : (kinds[random(number) % kinds.length] ?? "o");
      const sizeOf = (number: number) => (random(number) % 23 === 0 ? 9_000 : 5);
      await compare([{ count: first, drop: 0 }, ...steps], kindOf, sizeOf, maxMessages);
    }),
    { numRuns: process.env.SCROLLBACK_DEEP === "1" ? 300 : 30 },
  );
}, 120_000);
