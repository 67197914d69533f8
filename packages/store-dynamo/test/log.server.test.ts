import { startServer } from "@scrollback/conformance/servers";
import { type Amendment, type LogRow, MemoryRecordLog } from "@scrollback/store-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { MAX_ROW_BYTES } from "../src/item.ts";
import { watchRequests } from "./requests.ts";
import { makeTable, type TestTable } from "./table.ts";

const server = startServer("dynamodb");
let table: TestTable;
let log: DynamoRecordLog;
const sent: string[] = [];

beforeAll(async () => {
  table = await makeTable((await server).url);
  const { raw: client, tableName } = table;
  watchRequests(client, (action) => sent.push(action));
  log = new DynamoRecordLog({ client, tableName, owned: false });
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

const newStream = () => `t${crypto.randomUUID()}`;
const wholeStream = (stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 1_000_000, false);

/** Blank texts at the end of a row may be there or not: readers take both for the same. */
function comparable({ texts, ...row }: LogRow): LogRow {
  const last = texts.findLastIndex((text) => text !== "");
  return { ...row, texts: texts.slice(0, last + 1) };
}

const number = fc.integer({ min: 1, max: 8 });
const time = fc.integer({ min: 1, max: 9 }).map((day) => day * 86_400_000);
const stream = fc.constantFrom("a", "a ", "A", "p a/b\0", "é", "e\u0301", "💬");
const text = fc.constantFrom("", "a", "text", "ü💬\0");

const insertStep = fc.record({
  kind: fc.constant("insert" as const),
  stream,
  row: fc.record(
    {
      number,
      head: fc.constantFrom("", "head", "ÿ\0"),
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
  limit: number,
});

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: insertStep },
    // One call's amendments may be made in any order, so they do not set and extend at once.
    amendStep(time.map((expiresAt) => ({ expiresAt }))),
    amendStep(fc.oneof(time, fc.constant(null)).map((extendTo) => ({ extendTo }))),
    readStep,
  ),
  { minLength: 4, maxLength: 14 },
);

describe("a log", () => {
  test("does what the one in memory does", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const memory = new MemoryRecordLog();
        const prefix = newStream();
        for (const step of todo) {
          const own = prefix + step.stream;
          if (step.kind === "insert") {
            const inserted = [await log.insert(own, step.row), await memory.insert(own, step.row)];
            const [ours, expected] = inserted.map((one) =>
              typeof one === "boolean" ? one : comparable(one),
            );
            expect(ours).toEqual(expected);
          } else if (step.kind === "amend") {
            await log.amend(own, step.amendments);
            await memory.amend(own, step.amendments);
          } else {
            const rows = await log.read(own, step.below, step.limit, false);
            expect(rows.map(comparable)).toEqual(
              (await memory.read(own, step.below, step.limit)).map(comparable),
            );
            const heads = await log.read(own, step.below, step.limit, true);
            expect(heads).toEqual(rows.map((row) => ({ ...row, texts: [] })));
          }
        }
        for (const name of new Set(todo.map((step) => prefix + step.stream))) {
          const expected = await memory.read(name, Number.POSITIVE_INFINITY, 100);
          expect((await wholeStream(name)).map(comparable)).toEqual(expected.map(comparable));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("of numbers up to the largest is read in their order", async () => {
    const stream = newStream();
    const numbers = [1, 2, 9, 10, 11, 99, 100, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER - 1];
    for (const number of [...numbers].reverse()) await log.insert(stream, { number, head: "h", texts: [] });
    expect((await wholeStream(stream)).map((row) => row.number)).toEqual([...numbers].reverse());
    const below = await log.read(stream, Number.MAX_SAFE_INTEGER, 2, true);
    expect(below.map((row) => row.number)).toEqual([Number.MAX_SAFE_INTEGER - 1, 2 ** 32]);
  });

  test("keeps no row for less long than it was told, and at most a second longer", async () => {
    const stream = newStream();
    for (const [number, expiresAt] of [
      [1, 5_000],
      [2, 5_001],
      [3, 5_999],
      [4, undefined],
    ] as const) {
      await log.insert(stream, { number, head: "h", texts: [], expiresAt });
    }
    expect((await wholeStream(stream)).map((row) => row.expiresAt)).toEqual([undefined, 6_000, 6_000, 5_000]);
    await log.amend(stream, [{ from: 1, to: 4, extendTo: 5_001 }]);
    expect((await wholeStream(stream)).map((row) => row.expiresAt)).toEqual([undefined, 6_000, 6_000, 6_000]);
  });

  test("past 1 MB a page is read whole, and no further than asked", async () => {
    const stream = newStream();
    const text = "x".repeat(300 * 1024);
    for (let number = 1; number <= 9; number++)
      await log.insert(stream, { number, head: "h", texts: [text] });
    for (const [limit, requests] of [
      [9, 3],
      [20, 3],
      [3, 1],
      [1, 1],
    ] as const) {
      sent.length = 0;
      const rows = await log.read(stream, Number.POSITIVE_INFINITY, limit, false);
      expect(rows.map((row) => row.number)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1].slice(0, limit));
      expect(rows.every((row) => row.texts[0] === text)).toBe(true);
      expect(sent).toHaveLength(requests);
    }
  });

  test("a range of any length is amended, and what is not there stays so", async () => {
    const stream = newStream();
    const count = 1_200;
    for (let from = 1; from <= count; from += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          log.insert(stream, { number: 2 * (from + index), head: "h", texts: ["text"] }),
        ),
      );
    }
    await log.amend(stream, [{ from: 3, to: 2 * count - 2, blank: "all" }]);
    const rows = await wholeStream(stream);
    expect(rows).toHaveLength(count);
    const left = rows.filter(({ texts }) => texts.length > 0).map((row) => row.number);
    expect(left).toEqual([2 * count, 2]);
    sent.length = 0;
    await log.amend(stream, [{ from: 1, to: 10, expiresAt: 1_000 }]);
    expect(sent).toEqual(Array(10).fill("UpdateItem"));
    expect((await wholeStream(stream)).map((row) => row.number)).toHaveLength(count);
  });

  test("texts of a row are blanked by their index, however many", async () => {
    const stream = newStream();
    const texts = Array.from({ length: 2_000 }, (_, index) => `text ${index}`);
    await log.insert(stream, { number: 1, head: "h", texts });
    await log.amend(stream, [{ from: 1, to: 1, blank: { from: 10, to: 1_990 } }]);
    const [row] = await wholeStream(stream);
    expect(row?.texts).toEqual(texts.map((text, index) => (index < 10 || index >= 1_990 ? text : "")));
  });

  test("one amendment of a row costs one request, with its expiry", async () => {
    const stream = newStream();
    await log.insert(stream, { number: 1, head: "h", texts: ["text"] });
    sent.length = 0;
    await log.amend(stream, [
      { from: 1, to: 1, blank: "all" },
      { from: 1, to: 1, blank: { from: 0, to: 1 } },
      { from: 1, to: 1, expiresAt: 7_000 },
    ]);
    expect(sent).toEqual(["UpdateItem"]);
    expect(await wholeStream(stream)).toEqual([{ number: 1, head: "h", texts: [], expiresAt: 7_000 }]);
  });

  test("a row of the largest size that the log announces is taken, with the longest key", async () => {
    const stream = `p${"é".repeat(549)}`;
    expect(Buffer.byteLength(stream)).toBeGreaterThan(1_098);
    // As the driver counts: 8 KiB for the head, 17 bytes a text beyond its own.
    const room = MAX_ROW_BYTES - 8 * 1024;
    // What a head may be beyond the 8 KiB that are counted for it.
    const head = "h".repeat(18 * 1024);
    for (const [number, count] of [
      [Number.MAX_SAFE_INTEGER - 1, 1],
      [Number.MAX_SAFE_INTEGER, 4_000],
    ] as const) {
      const texts = Array.from({ length: count }, () => "x".repeat(room / count - 17));
      expect(await log.insert(stream, { number, head, texts, expiresAt: 9e12 })).toBe(true);
      expect((await wholeStream(stream))[0]).toEqual({ number, head, texts, expiresAt: 9e12 });
    }
  });
});
