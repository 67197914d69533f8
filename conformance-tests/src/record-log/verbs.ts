import { type Amendment, type LogRow, MemoryRecordLog, type RecordLog } from "@scrollback/store-core";
import fc from "fast-check";
import { expect } from "vitest";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";

const newStream = () => `t${crypto.randomUUID()}`;

async function withLog({ connect }: RecordLogHarness, run: (log: RecordLog) => Promise<void>): Promise<void> {
  const log = connect();
  await run(log).finally(() => log.close());
}

const whole = (log: RecordLog, stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);

/** A row as its readers take it: blank texts at its end may be there or not. */
function comparable({ texts, expiresAt, ...row }: LogRow): LogRow {
  const last = texts.findLastIndex((text) => text !== "");
  return { ...row, expiresAt, texts: texts.slice(0, last + 1) };
}

const withoutTexts = ({ number, head, expiresAt }: LogRow) => ({ number, head, expiresAt });

/** Streams that are made to meet, in a backend that puts names together without care. */
const stream = fc.constantFrom(
  ...["a", "a ", "A", "a:", "a:1", "a:0000000000000001", "a%3A", "a\0", "$a.b", "é", "e\u0301", "💬", "p/a"],
);
const number = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.constantFrom(10, 99, 100));
const DAY = 24 * 60 * 60 * 1_000;
/** In the future, as the backend may delete what has expired; whole seconds, as it may count in those. */
const time = fc.integer({ min: 1, max: 9 }).map((days) => (Math.ceil(Date.now() / DAY) + days) * DAY);
const text = fc.constantFrom("", "a", "text", "ü💬\0", "$set");

const insertStep = fc.record({
  kind: fc.constant("insert" as const),
  stream,
  row: fc.record(
    {
      number,
      head: fc.constantFrom("", "{}", "ÿ\0$"),
      // A row that has texts has all that an amendment may name.
      texts: fc.oneof(fc.constant([]), fc.tuple(text, text, text)),
      expiresAt: time,
    },
    { requiredKeys: ["number", "head", "texts"] },
  ),
});

function amendStep(expiry: fc.Arbitrary<Pick<Amendment, "expiresAt" | "extendTo">>) {
  const index = fc.integer({ min: 0, max: 2 });
  const blank = fc.oneof(
    fc.constant({ blank: "all" as const }),
    fc.tuple(index, index).map(([a, b]) => ({ blank: { from: Math.min(a, b), to: Math.max(a, b) + 1 } })),
  );
  const range = fc.tuple(number, fc.oneof(number, fc.constant(Number.MAX_SAFE_INTEGER)));
  const amendment = fc
    .tuple(range, fc.oneof(fc.constant({}), blank), fc.oneof(fc.constant({}), expiry))
    .map(
      ([[a, b], ...what]): Amendment => Object.assign({ from: Math.min(a, b), to: Math.max(a, b) }, ...what),
    );
  const amendments = fc.array(amendment, { minLength: 1, maxLength: 3 });
  return fc.record({ kind: fc.constant("amend" as const), stream, amendments });
}

const readStep = fc.record({
  kind: fc.constant("read" as const),
  stream,
  below: fc.oneof(number, fc.constant(Number.POSITIVE_INFINITY)),
  limit: fc.integer({ min: 1, max: 8 }),
});

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: insertStep },
    // One call's amendments may be made in any order, so they do not set and extend at once.
    amendStep(time.map((expiresAt) => ({ expiresAt }))),
    amendStep(fc.oneof(time, fc.constant(null)).map((extendTo) => ({ extendTo }))),
    readStep,
  ),
  { minLength: 5, maxLength: 20 },
);

/** Does the same to a log and to one in memory; whatever is read must be the same. */
async function compare(log: RecordLog, todo: typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never) {
  const memory = new MemoryRecordLog();
  const prefix = newStream();
  for (const step of todo) {
    const own = prefix + step.stream;
    if (step.kind === "insert") {
      const inserted = await log.insert(own, step.row);
      const expected = await memory.insert(own, step.row);
      expect(inserted === true, "whether the row is inserted").toBe(expected === true);
      if (typeof inserted !== "boolean" && typeof expected !== "boolean") {
        expect(comparable(inserted), "the row that was there").toEqual(comparable(expected));
      }
    } else if (step.kind === "amend") {
      await log.amend(own, step.amendments);
      await memory.amend(own, step.amendments);
    } else {
      const expected = (await memory.read(own, step.below, step.limit)).map(comparable);
      expect((await log.read(own, step.below, step.limit, false)).map(comparable)).toEqual(expected);
      const heads = await log.read(own, step.below, step.limit, true);
      expect(heads.map(withoutTexts)).toEqual(expected.map(withoutTexts));
    }
  }
  for (const name of new Set(todo.map((step) => prefix + step.stream))) {
    const expected = await memory.read(name, Number.POSITIVE_INFINITY, 100);
    expect((await whole(log, name)).map(comparable)).toEqual(expected.map(comparable));
  }
}

/** The verbs, one by one, as `RecordLog` states them. */
export function declareVerbs(test: DeclareLogTest): void {
  test("does what the one in memory does, for streams that are made to meet", (harness) =>
    withLog(harness, async (log) => {
      await fc.assert(
        fc.asyncProperty(steps, (todo) => compare(log, todo)),
        { numRuns: 30 },
      );
    }));

  test("reads numbers up to the largest in their order", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const numbers = [1, 2, 9, 10, 11, 99, 100, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER - 1];
      for (const number of numbers.toReversed()) await log.insert(own, { number, head: "h", texts: [] });
      expect((await whole(log, own)).map((row) => row.number)).toEqual(numbers.toReversed());
      const below = await log.read(own, Number.MAX_SAFE_INTEGER - 1, 2, true);
      expect(below.map((row) => row.number)).toEqual([2 ** 32, 2 ** 31]);
    }));

  test("keeps what an insert found there, also what is blank", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const first = { number: 1, head: "first", texts: ["a"], expiresAt: undefined };
      expect(await log.insert(own, first)).toBe(true);
      expect(await log.insert(own, { number: 1, head: "second", texts: ["b"] })).not.toBe(true);
      expect((await whole(log, own)).map(comparable)).toEqual([first]);
      await log.amend(own, [{ from: 1, to: 1, blank: "all" }]);
      expect(await log.insert(own, { number: 1, head: "second", texts: ["b"] })).not.toBe(true);
      expect((await whole(log, own)).map(comparable)).toEqual([{ ...first, texts: [] }]);
    }));

  test("amends what it is told and nothing else: lives are extended, never shortened", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const day = (days: number) => (Math.ceil(Date.now() / DAY) + days) * DAY;
      for (const [number, expiresAt] of [
        [1, day(5)],
        [2, undefined],
        [3, day(2)],
        [5, day(2)],
      ] as const) {
        await log.insert(own, { number, head: "h", texts: ["a", "b", "c"], expiresAt });
      }
      const lives = async () => (await whole(log, own)).map((row) => row.expiresAt);
      await log.amend(own, [{ from: 1, to: 4, extendTo: day(3) }]);
      expect(await lives()).toEqual([day(2), day(3), undefined, day(5)]);
      await log.amend(own, [{ from: 2, to: 3, expiresAt: day(1), blank: { from: 1, to: 2 } }]);
      expect(await lives()).toEqual([day(2), day(1), day(1), day(5)]);
      expect((await whole(log, own)).map(({ texts }) => texts.join("|"))).toEqual([
        ...["a|b|c", "a||c", "a||c", "a|b|c"],
      ]);
      await log.amend(own, [{ from: 1, to: 3, extendTo: null }]);
      expect(await lives()).toEqual([day(2), undefined, undefined, undefined]);
    }));

  test("lets one of many writers insert a row", async ({ connect }) => {
    const own = newStream();
    const logs = Array.from({ length: 6 }, connect);
    for (let number = 1; number <= 20; number++) {
      const won = await Promise.all(
        logs.map(
          async (one, writer) => (await one.insert(own, { number, head: `${writer}`, texts: [] })) === true,
        ),
      );
      expect(won.filter(Boolean), `writers of row ${number}`).toHaveLength(1);
      expect((await logs[0]?.read(own, number + 1, 1, true))?.[0]?.head).toBe(`${won.indexOf(true)}`);
    }
    for (const one of logs) await one.close();
  });

  test("takes a row of the largest size that it announces, with the longest key, and blanks it", (harness) =>
    withLog(harness, async (log) => {
      // 1,099 bytes of UTF-8.
      const own = `p${"é:%".repeat(274)}é`;
      // As the driver counts: 8 KiB for the head, 17 bytes a text beyond its own. No row of 32 MiB is ever made.
      const room = Math.min(log.capabilities.maxRowBytes, 32 * 1024 ** 2) - 8 * 1024;
      // A head may grow beyond what is counted for it.
      const head = "h".repeat(18 * 1024);
      const expiresAt = Math.ceil(Date.now() / DAY) * DAY + DAY;
      for (const [number, count] of [
        [Number.MAX_SAFE_INTEGER - 1, 1],
        [Number.MAX_SAFE_INTEGER, 4_000],
      ] as const) {
        const texts = Array.from({ length: count }, () => "x".repeat(room / count - 17));
        expect(await log.insert(own, { number, head, texts, expiresAt })).toBe(true);
        expect((await log.read(own, Number.POSITIVE_INFINITY, 1, false))[0]).toEqual({
          number,
          head,
          texts,
          expiresAt,
        });
      }
      await log.amend(own, [{ from: 1, to: Number.MAX_SAFE_INTEGER, blank: { from: 10, to: 3_990 } }]);
      const [largest] = await log.read(own, Number.POSITIVE_INFINITY, 1, false);
      expect(largest?.texts.filter((left) => left !== "")).toHaveLength(20);
      await log.amend(own, [{ from: 1, to: Number.MAX_SAFE_INTEGER, blank: "all" }]);
      expect((await whole(log, own)).map(comparable).map(({ texts }) => texts)).toEqual([[], []]);
    }));
}
