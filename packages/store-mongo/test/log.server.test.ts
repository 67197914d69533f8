import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyOf } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type SentCommand, takeNames, watchable, watchCommands } from "./commands.ts";

const server = sharedServer("mongodb");
let collection: TestCollection;
let log: MongoRecordLog;
let sent: SentCommand[];

beforeAll(async () => {
  collection = makeCollection((await server).url);
  const { url, database, collectionName } = collection;
  const { collection: used } = parseOptions({ url: watchable(url), database, collectionName });
  sent = watchCommands(used.client);
  log = new MongoRecordLog(used);
  await log.setup();
});
afterAll(async () => {
  await log.close();
  await collection[Symbol.asyncDispose]();
});

const newStream = () => crypto.randomUUID();
const whole = (stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);

describe("a log", () => {
  test("keeps the row that an insert found, also an expired one", async () => {
    const stream = newStream();
    const first = { number: 1, head: "first", texts: ["a"], expiresAt: Date.now() - 1_000 };
    expect(await log.insert(stream, first)).toBe(true);
    expect(await log.insert(stream, { number: 1, head: "second", texts: ["b"] })).toBe(false);
    expect(await whole(stream)).toEqual([first]);
  });

  test("reads the requested rows in one query, and continues after the size of one reply", async () => {
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
      { from: 1, to: 4, blank: "all", expiresAt: Date.now() + 1e8 },
      { from: 5, to: 6, blank: { from: 1, to: 2 } },
      { from: 6, to: 10, extend: { to: Date.now() + 1e9, atLeast: Date.now() } },
      { from: 6, to: 10, extend: { to: null, atLeast: 0 } },
    ]);
    await log.amend(stream, []);
    expect(takeNames(sent)).toEqual(["update"]);
  });

  test("extends only rows that expire in the given range of time, also to a time after the last date", async () => {
    const stream = newStream();
    const now = Date.now();
    for (const [number, expiresAt] of [
      [1, now + 1_000],
      [2, now + 2_000],
      [3, undefined],
    ] as const) {
      await log.insert(stream, { number, head: "h", texts: [], expiresAt });
    }
    const expiries = async () => (await whole(stream)).map((row) => row.expiresAt).reverse();
    await log.amend(stream, [{ from: 1, to: 4, extend: { to: 2 ** 54, atLeast: now + 1_001 } }]);
    expect(await expiries()).toEqual([now + 1_000, 8.64e15, undefined]);
    await log.amend(stream, [{ from: 1, to: 4, extend: { to: null, atLeast: 2 ** 54 } }]);
    expect(await expiries(), "the latest possible date is equal to any later time").toEqual([
      now + 1_000,
      undefined,
      undefined,
    ]);
  });
});
