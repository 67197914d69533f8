import { startServer } from "@scrollback/conformance/servers";
import { type Amendment, type LogRow, MemoryRecordLog } from "@scrollback/store-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyOf } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type SentCommand, takeNames, watchable, watchCommands } from "./commands.ts";

const server = startServer("mongodb");
let collection: TestCollection;
let log: MongoRecordLog;
let sent: SentCommand[];

beforeAll(async () => {
  collection = makeCollection((await server).url);
  const { url, database, collectionName } = collection;
  const { place } = parseOptions({ url: watchable(url), database, collectionName });
  sent = watchCommands(place.client);
  log = new MongoRecordLog(place);
  await log.setup();
});
afterAll(async () => {
  await log.close();
  await collection[Symbol.asyncDispose]();
  await (await server).stop();
});

const newStream = () => `t${crypto.randomUUID()}`;
const whole = (stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);

/** A row as its readers take it: a text that is gone is a blank one. */
const comparable = ({ texts, ...row }: LogRow) => ({ ...row, texts: texts.join("|").replace(/\|+$/, "") });

const streams = [
  "a",
  "a:",
  "a:1",
  "a:0000000000000001",
  "A",
  "a%3A",
  "a\0",
  "$a.b",
  "é",
  "e\u0301",
  "💬",
  "p/a",
];
const number = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.constantFrom(10, 99, 100));
const range = fc.tuple(number, number).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));
const time = fc.integer({ min: 1, max: 9 }).map((day) => Date.now() + day * 86_400_000);
const text = fc.constantFrom("", "text", "ü💬\0", "$set");
const row = fc.record(
  {
    number,
    head: fc.constantFrom("{}", "ÿ\0$"),
    texts: fc.array(text, { minLength: 3, maxLength: 4 }),
    expiresAt: time,
  },
  { requiredKeys: ["number", "head", "texts"] },
);
const blank = fc.constantFrom<Amendment["blank"]>(undefined, "all", { from: 0, to: 1 }, { from: 1, to: 3 });
const expiry = fc.oneof(
  fc.constant({}),
  time.map((expiresAt) => ({ expiresAt })),
  fc.oneof(time, fc.constant(null)).map((extendTo) => ({ extendTo })),
);
const amendment = fc
  .tuple(range, blank, expiry)
  .map(
    ([between, blanked, until]): Amendment => ({ ...between, ...(blanked && { blank: blanked }), ...until }),
  );
const step = fc.record({
  stream: fc.constantFrom(...streams),
  what: fc.oneof(
    { weight: 3, arbitrary: fc.record({ insert: row }) },
    fc.record({ amend: amendment }),
    fc.record({
      read: fc.record({
        below: fc.oneof(number, fc.constant(Infinity)),
        limit: fc.integer({ min: 1, max: 5 }),
      }),
    }),
  ),
});

describe("a log", () => {
  test("does what the one in memory does, for streams that are made to meet", async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const memory = new MemoryRecordLog();
      const own = newStream();
      for (const { stream, what } of steps) {
        const name = own + stream;
        if ("insert" in what) {
          // Only the memory hands over the row that was there.
          expect(await log.insert(name, what.insert)).toBe((await memory.insert(name, what.insert)) === true);
        } else if ("amend" in what) {
          await log.amend(name, [what.amend]);
          await memory.amend(name, [what.amend]);
        } else {
          const { below, limit } = what.read;
          const expected = await memory.read(name, below, limit);
          expect((await log.read(name, below, limit, false)).map(comparable)).toEqual(
            expected.map(comparable),
          );
          const heads = await log.read(name, below, limit, true);
          expect(heads).toEqual(
            expected.map((found) => ({ ...found, expiresAt: found.expiresAt, texts: [] })),
          );
        }
      }
      for (const stream of streams) {
        const expected = await memory.read(own + stream, Number.POSITIVE_INFINITY, 100);
        expect((await whole(own + stream)).map(comparable)).toEqual(expected.map(comparable));
      }
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test("reads numbers up to the largest in their order", async () => {
    const stream = newStream();
    const numbers = [1, 2, 9, 10, 11, 99, 100, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER - 1];
    for (const number of numbers.toReversed()) await log.insert(stream, { number, head: "h", texts: [] });
    expect((await whole(stream)).map((found) => found.number)).toEqual(numbers.toReversed());
    const below = await log.read(stream, Number.MAX_SAFE_INTEGER - 1, 2, true);
    expect(below.map((found) => found.number)).toEqual([2 ** 32, 2 ** 31]);
  });

  test("keeps what an insert found there, also what is past its expiry", async () => {
    const stream = newStream();
    const first = { number: 1, head: "first", texts: ["a"], expiresAt: Date.now() - 1_000 };
    expect(await log.insert(stream, first)).toBe(true);
    expect(await log.insert(stream, { number: 1, head: "second", texts: ["b"] })).toBe(false);
    expect(await whole(stream)).toEqual([first]);
  });

  test("lets one of many writers insert a row", async () => {
    const stream = newStream();
    const { url, database, collectionName } = collection;
    const logs = Array.from(
      { length: 6 },
      () => new MongoRecordLog(parseOptions({ url, database, collectionName }).place),
    );
    for (let number = 1; number <= 20; number++) {
      const won = await Promise.all(
        logs.map((one, writer) => one.insert(stream, { number, head: `${writer}`, texts: [] })),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await log.read(stream, number + 1, 1, true))[0]?.head).toBe(`${won.indexOf(true)}`);
    }
    for (const one of logs) await one.close();
  });

  test("takes a row of the largest size that it announces, with the longest key, and blanks it", async () => {
    const stream = `p${":%".repeat(549)}`;
    const { maxRowBytes } = log.capabilities;
    // 17 bytes a text beyond its own, as the driver counts them; and a head beyond what it reckons with.
    const texts = Array.from({ length: 40_000 }, () => "x".repeat(maxRowBytes / 40_000 - 17));
    const largest = {
      number: 2 ** 53 - 1,
      head: "h".repeat(2 * 1024 ** 2),
      texts,
      expiresAt: Date.now() + 1e8,
    };
    expect(await log.insert(stream, largest)).toBe(true);
    expect(await whole(stream)).toEqual([largest]);
    await log.amend(stream, [{ from: 1, to: largest.number, blank: { from: 10, to: 39_990 } }]);
    expect((await whole(stream))[0]?.texts.filter((left) => left !== "")).toHaveLength(20);
    await log.amend(stream, [{ from: 1, to: largest.number, blank: "all" }]);
    expect(await whole(stream)).toEqual([{ ...largest, texts: [] }]);
  });

  test("reads as many rows as are asked for in one query, and pages by itself past one reply's size", async () => {
    const stream = newStream();
    const many = Array.from({ length: 600 }, (_, index) => ({
      _id: keyOf(stream, index + 1),
      head: "h",
      texts: ["t"],
    }));
    await collection.rows.insertMany(many);
    takeNames(sent);
    const rows = await log.read(stream, Number.POSITIVE_INFINITY, 513, false);
    expect(rows.map((found) => found.number)).toEqual(Array.from({ length: 513 }, (_, index) => 600 - index));
    expect(takeNames(sent)).toEqual(["find"]);

    const large = newStream();
    const megabyte = "x".repeat(1024 ** 2);
    for (let at = 1; at <= 40; at++)
      await log.insert(large, { number: at, head: "h", texts: [`${at}${megabyte}`] });
    takeNames(sent);
    const found = await log.read(large, 39, 35, false);
    expect(found.map(({ texts }) => Number.parseInt(texts[0] ?? "", 10))).toEqual(
      Array.from({ length: 35 }, (_, index) => 38 - index),
    );
    expect(takeNames(sent)[0]).toBe("find");
  });

  test("sends all amendments of a call as one command", async () => {
    const stream = newStream();
    for (let at = 1; at <= 9; at++) await log.insert(stream, { number: at, head: "h", texts: ["a", "b"] });
    takeNames(sent);
    await log.amend(stream, [
      { from: 1, to: 3, blank: "all", expiresAt: Date.now() + 1e8 },
      { from: 5, to: 5, blank: { from: 1, to: 2 } },
      { from: 6, to: 9, extendTo: Date.now() + 1e9 },
      { from: 6, to: 9, extendTo: null },
    ]);
    await log.amend(stream, []);
    expect(takeNames(sent)).toEqual(["update"]);
  });
});
