// Exceeds 300 lines because the tests of all four verbs share the random steps of the comparison.

import { fc } from "@scrollback/conformance/internal";
import { expect } from "vitest";
import { type Amendment, type LogRow, MemoryRecordLog, type RecordLog } from "../index.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";

const newStream = () => crypto.randomUUID();

async function withLog({ connect }: RecordLogHarness, run: (log: RecordLog) => Promise<void>): Promise<void> {
  const log = connect();
  await run(log).finally(() => log.close());
}

const whole = (log: RecordLog, stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);

/** A row without the part in which logs may differ: empty texts at its end may be present or absent. */
function comparable({ texts, expiresAt, ...row }: LogRow): LogRow {
  const last = texts.findLastIndex((text) => text !== "");
  return { ...row, expiresAt, texts: texts.slice(0, last + 1) };
}

const withoutTexts = ({ number, head, expiresAt }: LogRow) => ({ number, head, expiresAt });

/** The number of a row that a driver would insert today. */
const TODAY = Date.now() * 2048;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Streams that a backend may confuse if it concatenates names carelessly. */
const stream = fc.constantFrom(
  ...["a", "a ", "A", "a:", "a:1", "a:0000000000000001", "a%3A", "a\0", "$a.b", "é", "e\u0301", "💬", "p/a"],
);
const number = fc.oneof(
  fc.integer({ min: 1, max: 8 }),
  fc.constantFrom(10, 99, 100),
  fc.integer({ min: TODAY, max: TODAY + 8 }),
  fc.constantFrom(LARGEST - 1),
);
const DAY = 24 * 60 * 60 * 1_000;
/**
 * Midnight after `days` days. In the future, because the backend may delete expired rows; whole seconds, because it may count
 * those.
 */
const inDays = (days: number) => (Math.ceil(Date.now() / DAY) + days) * DAY;
const time = fc.integer({ min: 1, max: 9 }).map(inDays);
const text = fc.constantFrom("", "a", "text", "ü💬\0", "$set");

const insertStep = fc.record({
  kind: fc.constant("insert" as const),
  stream,
  row: fc.record(
    {
      number,
      head: fc.constantFrom("", "{}", "ÿ\0$"),
      // A row with texts has every index that an amendment may use.
      texts: fc.oneof(fc.constant([]), fc.tuple(text, text, text)),
      expiresAt: time,
    },
    { requiredKeys: ["number", "head", "texts"] },
  ),
});

type Expiry = Pick<Amendment, "expiresAt" | "extend">;

/** The amendments of one call may be made in any order, so all of them set the same, or extend rows of the same age. */
const expiries: fc.Arbitrary<fc.Arbitrary<Expiry>> = fc.oneof(
  time.map((expiresAt) => fc.constant({ expiresAt })),
  time.map((atLeast) => fc.oneof(time, fc.constant(null)).map((to) => ({ extend: { to, atLeast } }))),
);

const amendStep = expiries.chain((expiry) => {
  const index = fc.integer({ min: 0, max: 2 });
  const blank = fc.oneof(
    fc.constant({ blank: "all" as const }),
    fc.tuple(index, index).map(([a, b]) => ({ blank: { from: Math.min(a, b), to: Math.max(a, b) + 1 } })),
  );
  const range = fc.tuple(number, fc.oneof(number, fc.constant(LARGEST)));
  const amendment = fc
    .tuple(range, fc.oneof(fc.constant({}), blank), fc.oneof(fc.constant({}), expiry))
    .map(
      ([[a, b], ...what]): Amendment => Object.assign({ from: Math.min(a, b), to: Math.max(a, b) }, ...what),
    );
  const amendments = fc.array(amendment, { minLength: 1, maxLength: 3 });
  return fc.record({ kind: fc.constant("amend" as const), stream, amendments });
});

const readStep = fc.record({
  kind: fc.constant("read" as const),
  stream,
  below: fc.oneof(number, fc.constant(Number.POSITIVE_INFINITY)),
  limit: fc.integer({ min: 1, max: 8 }),
});

const steps = fc.array(
  fc.oneof({ weight: 3, arbitrary: insertStep }, { weight: 2, arbitrary: amendStep }, readStep),
  { minLength: 5, maxLength: 20 },
);

/** Applies the same steps to a log and to one in memory. All reads must return the same. */
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
        expect(comparable(inserted), "the existing row").toEqual(comparable(expected));
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

/**
 * Inserts rows with three texts, each with its expiry; returns a function that reads the expiries, in the order of the numbers.
 */
async function withExpiries(
  log: RecordLog,
  own: string,
  rows: readonly (readonly [number: number, expiresAt: number | undefined])[],
): Promise<() => Promise<(number | undefined)[]>> {
  for (const [number, expiresAt] of rows) {
    await log.insert(own, { number, head: "h", texts: ["a", "b", "c"], expiresAt });
  }
  return async () => (await whole(log, own)).map((row) => row.expiresAt).reverse();
}

/** Tests of each verb against the contract of `RecordLog`. */
export function declareVerbs(test: DeclareLogTest): void {
  test("does what the log in memory does, for streams with similar names", (harness) =>
    withLog(harness, async (log) => {
      await fc.assert(
        fc.asyncProperty(steps, (todo) => compare(log, todo)),
        { numRuns: 30 },
      );
    }));

  test("reads rows in the order of their numbers, up to the largest number", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const numbers = [1, 2, 9, 10, 11, 99, 100, 2 ** 31, 2 ** 32, TODAY, TODAY + 1, LARGEST - 1, LARGEST];
      for (const number of numbers.toReversed()) await log.insert(own, { number, head: "h", texts: [] });
      expect((await whole(log, own)).map((row) => row.number)).toEqual(numbers.toReversed());
      const below = await log.read(own, TODAY + 1, 2, true);
      expect(below.map((row) => row.number)).toEqual([TODAY, 2 ** 32]);
      expect(await log.read(own, 1, 2, true)).toEqual([]);
    }));

  test("keeps the row that an insert found, also a blank one", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const first = { number: 1, head: "first", texts: ["a"], expiresAt: undefined };
      expect(await log.insert(own, first)).toBe(true);
      expect(await log.insert(own, { number: 1, head: "second", texts: ["b"] })).not.toBe(true);
      expect((await whole(log, own)).map(comparable)).toEqual([first]);
      await log.amend(own, [{ from: 1, to: 2, blank: "all" }]);
      expect(await log.insert(own, { number: 1, head: "second", texts: ["b"] })).not.toBe(true);
      expect((await whole(log, own)).map(comparable)).toEqual([{ ...first, texts: [] }]);
    }));

  test("amends the rows from the first number of a range to the one before its end", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const numbers = [1, 2, TODAY, TODAY + 1, TODAY + 2, LARGEST - 1];
      const expiries = await withExpiries(
        log,
        own,
        numbers.map((number) => [number, inDays(1)]),
      );
      const texts = async () => (await whole(log, own)).map((row) => row.texts.join("|")).reverse();
      await log.amend(own, [
        { from: 1, to: 2, expiresAt: inDays(2) },
        { from: 2, to: TODAY + 1, blank: { from: 1, to: 2 } },
        { from: TODAY + 1, to: LARGEST - 1, blank: { from: 0, to: 2 }, expiresAt: inDays(3) },
        { from: LARGEST - 1, to: LARGEST - 1, blank: "all", expiresAt: inDays(4) },
      ]);
      expect(await texts()).toEqual(["a|b|c", "a||c", "a||c", "||c", "||c", "a|b|c"]);
      expect(await expiries()).toEqual([
        ...[inDays(2), inDays(1), inDays(1), inDays(3), inDays(3)],
        inDays(1),
      ]);
    }));

  test("amends no row that is missing, in a range of any width", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      await log.insert(own, { number: TODAY, head: "h", texts: ["a"] });
      await log.amend(own, [
        { from: 1, to: TODAY, blank: "all", expiresAt: inDays(1) },
        { from: TODAY + 1, to: LARGEST, blank: { from: 0, to: 1 } },
        { from: TODAY + 1, to: TODAY + 40, expiresAt: inDays(1) },
        { from: 3, to: 4, extend: { to: null, atLeast: 0 } },
        { from: 4, to: 5, extend: { to: inDays(1), atLeast: 0 } },
      ]);
      expect((await whole(log, own)).map(comparable)).toEqual([
        { number: TODAY, head: "h", texts: ["a"], expiresAt: undefined },
      ]);
    }));

  test("extends only rows that expire at a given time or later, and shortens no expiry", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const expiries = await withExpiries(log, own, [
        [1, undefined],
        [2, inDays(2)],
        [3, inDays(3)],
        [4, inDays(4)],
        [5, inDays(7)],
        [6, inDays(3)],
      ]);
      await log.amend(own, [{ from: 1, to: 6, extend: { to: inDays(5), atLeast: inDays(3) } }]);
      const extended = [undefined, inDays(2), inDays(5), inDays(5), inDays(7), inDays(3)];
      expect(await expiries()).toEqual(extended);
      // A late amendment, made twice.
      await log.amend(own, [{ from: 1, to: 6, extend: { to: inDays(4), atLeast: 0 } }]);
      await log.amend(own, [{ from: 1, to: 6, extend: { to: inDays(4), atLeast: 0 } }]);
      expect(await expiries()).toEqual(extended.with(1, inDays(4)));
      await log.amend(own, [{ from: 1, to: 7, extend: { to: null, atLeast: inDays(5) } }]);
      expect(await expiries()).toEqual([
        ...[undefined, inDays(4), undefined, undefined, undefined],
        inDays(3),
      ]);
    }));

  test("leaves the expiry of a freed row unchanged by a late extension", (harness) =>
    withLog(harness, async (log) => {
      const own = newStream();
      const expiries = await withExpiries(log, own, [
        [1, inDays(30)],
        [2, inDays(30)],
        [3, undefined],
      ]);
      await log.amend(own, [
        { from: 1, to: 2, blank: "all", expiresAt: inDays(2) },
        { from: 3, to: 4, blank: "all", expiresAt: inDays(2) },
      ]);
      await log.amend(own, [{ from: 1, to: 4, extend: { to: inDays(60), atLeast: inDays(30) } }]);
      expect(await expiries()).toEqual([inDays(2), inDays(60), inDays(2)]);
      await log.amend(own, [{ from: 1, to: 4, extend: { to: null, atLeast: inDays(60) } }]);
      expect(await expiries()).toEqual([inDays(2), undefined, inDays(2)]);
    }));

  test("makes all of many concurrent amendments of one row", async ({ connect }) => {
    const own = newStream();
    const logs = Array.from({ length: 4 }, connect);
    const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
    await logs[0]?.insert(own, { number: TODAY, head: "h", texts, expiresAt: inDays(1) });
    const row = { from: TODAY, to: TODAY + 1 };
    await Promise.all(
      texts.slice(1).map((_, index) => {
        const extend = { to: inDays(40 - index), atLeast: inDays(1) };
        return logs[index % logs.length]?.amend(own, [
          { ...row, blank: { from: index + 1, to: index + 2 } },
          { ...row, extend },
        ]);
      }),
    );
    expect((await logs[0]?.read(own, Number.POSITIVE_INFINITY, 2, false))?.map(comparable)).toEqual([
      { number: TODAY, head: "h", texts: ["text 0"], expiresAt: inDays(40) },
    ]);
    for (const log of logs) await log.close();
  });

  test("amends the same rows on several connections in any order, without a deadlock", async ({
    connect,
  }) => {
    const own = newStream();
    const logs = Array.from({ length: 4 }, connect);
    const [log] = logs;
    for (let batch = 0; batch < 10; batch++) {
      const first = TODAY + 40 * batch;
      const numbers = Array.from({ length: 40 }, (_, index) => first + index);
      // The newest first, so that a backend that keeps rows in the order of inserts finds them in another one than their keys'.
      for (const number of numbers.toReversed())
        await log?.insert(own, { number, head: "h", texts: ["text"], expiresAt: inDays(1) });
      const each = numbers.map((from) => ({ from, to: from + 1, blank: "all" as const }));
      const all = [{ from: first, to: first + 40, extend: { to: inDays(2), atLeast: inDays(1) } }];
      await Promise.all(
        logs.map((one, index) => one.amend(own, [all, each, all, each.toReversed()][index] ?? [])),
      );
      const rows = (await log?.read(own, first + 40, 40, false)) ?? [];
      expect(rows.map(({ texts, expiresAt }) => [texts.join(""), expiresAt])).toEqual(
        numbers.map(() => ["", inDays(2)]),
      );
    }
    for (const one of logs) await one.close();
  });

  test("lets one of many concurrent writers insert a row", async ({ connect }) => {
    const own = newStream();
    const logs = Array.from({ length: 6 }, connect);
    for (let number = TODAY; number < TODAY + 20; number++) {
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

  test("takes a row of the stated maximum size with the longest key, and blanks it", (harness) =>
    withLog(harness, async (log) => {
      // 1,024 bytes of UTF-8.
      const own = `${"é:%".repeat(255)}${crypto.randomUUID().slice(0, 4)}`;
      expect(Buffer.byteLength(own)).toBe(1_024);
      // The driver counts 17 bytes in addition to the bytes of each text, and never fills a row of 32 MiB.
      const head = "h".repeat(16 * 1024);
      const room = Math.min(log.capabilities.maxRowBytes, 32 * 1024 ** 2) - head.length;
      const expiresAt = inDays(1);
      for (const [number, count] of [
        [LARGEST - 2, 1],
        [LARGEST - 1, 4_000],
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
      await log.amend(own, [{ from: LARGEST - 1, to: LARGEST, blank: { from: 10, to: 3_990 } }]);
      const [largest] = await log.read(own, Number.POSITIVE_INFINITY, 1, false);
      expect(largest?.texts.filter((left) => left !== "")).toHaveLength(20);
      await log.amend(own, [{ from: 1, to: LARGEST, blank: "all" }]);
      expect((await whole(log, own)).map(comparable).map(({ texts }) => texts)).toEqual([[], []]);
    }));
}
