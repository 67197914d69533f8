import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { watchRequests } from "./requests.ts";
import { makeTable, type TestTable } from "./table.ts";

const server = sharedServer("dynamodb");
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
});

const newStream = () => crypto.randomUUID();
/** A current row number of a driver. */
const TODAY = Date.now() * 2048;
const wholeStream = (stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 1_000_000, false);

describe("a log", () => {
  test("keeps a row at least until its expiry, and at most a second longer", async () => {
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
    await log.amend(stream, [{ from: 1, to: 5, extend: { to: 5_001, atLeast: 5_000 } }]);
    expect((await wholeStream(stream)).map((row) => row.expiresAt)).toEqual([undefined, 6_000, 6_000, 6_000]);
    await log.amend(stream, [{ from: 1, to: 5, extend: { to: 9_000, atLeast: 6_001 } }]);
    expect((await wholeStream(stream)).map((row) => row.expiresAt)).toEqual([undefined, 6_000, 6_000, 6_000]);
  });

  test("continues reading after pages of 1 MB, up to the requested rows", async () => {
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

  test("amends 25 rows with one request, missing ones included, and one row without a lookup", async () => {
    const stream = newStream();
    for (let row = 0; row < 60; row++) {
      await log.insert(stream, { number: TODAY + row, head: "h", texts: ["text"] });
    }
    for (const [from, to, requests] of [
      [0, 25, 1],
      [25, 60, 2],
      [55, 75, 1],
      [59, 60, 1],
      [60, 60, 0],
    ] as const) {
      sent.length = 0;
      await log.amend(stream, [{ from: TODAY + from, to: TODAY + to, blank: "all", expiresAt: 1_000 }]);
      expect(sent).toEqual(Array(requests).fill("BatchExecuteStatement"));
    }
    const rows = await wholeStream(stream);
    expect(rows).toHaveLength(60);
    expect(new Set(rows.map(({ expiresAt }) => expiresAt))).toEqual(new Set([1_000]));
  });

  test("finds the rows of a wide range by one query", async () => {
    const stream = newStream();
    const numbers = [1, TODAY, TODAY + 500, TODAY + 1_000, Number.MAX_SAFE_INTEGER];
    for (const number of numbers) await log.insert(stream, { number, head: "h", texts: ["text"] });
    sent.length = 0;
    await log.amend(stream, [
      { from: 2, to: TODAY + 600, blank: "all" },
      { from: 2, to: Number.MAX_SAFE_INTEGER, expiresAt: 1_000 },
      { from: TODAY + 700, to: TODAY + 701, blank: "all" },
    ]);
    expect(sent).toEqual(["Query", "BatchExecuteStatement"]);
    expect(
      (await wholeStream(stream)).map(({ number, texts, expiresAt }) => [number, texts, expiresAt]),
    ).toEqual([
      [Number.MAX_SAFE_INTEGER, ["text"], undefined],
      [TODAY + 1_000, ["text"], 1_000],
      [TODAY + 500, [], 1_000],
      [TODAY, [], 1_000],
      [1, ["text"], undefined],
    ]);
  });

  test("amends a range of more rows than a request and a page of keys hold", async () => {
    const stream = newStream();
    const count = 1_200;
    for (let from = 0; from < count; from += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          log.insert(stream, { number: TODAY + 2 * (from + index), head: "h", texts: ["text"] }),
        ),
      );
    }
    await log.amend(stream, [{ from: TODAY + 1, to: TODAY + 2 * count - 2, blank: "all" }]);
    const rows = await wholeStream(stream);
    expect(rows).toHaveLength(count);
    const left = rows.filter(({ texts }) => texts.length > 0).map((row) => row.number - TODAY);
    expect(left).toEqual([2 * count - 2, 0]);
  });

  test("blanks any number of a row's texts by their index", async () => {
    const stream = newStream();
    const texts = Array.from({ length: 2_000 }, (_, index) => `text ${index}`);
    await log.insert(stream, { number: 1, head: "h", texts });
    sent.length = 0;
    await log.amend(stream, [{ from: 1, to: 2, blank: { from: 10, to: 1_990 } }]);
    expect(sent).toEqual(Array(8).fill("BatchExecuteStatement"));
    const [row] = await wholeStream(stream);
    expect(row?.texts).toEqual(texts.map((text, index) => (index < 10 || index >= 1_990 ? text : "")));
  });

  test("blanks no text past the end of a row's texts", async () => {
    const stream = newStream();
    await log.insert(stream, { number: 1, head: "h", texts: ["one", "two"] });
    await log.insert(stream, { number: 2, head: "h", texts: [] });
    await log.amend(stream, [{ from: 1, to: 3, blank: { from: 1, to: 3 } }]);
    expect((await wholeStream(stream)).map(({ texts }) => texts)).toEqual([[], ["one", "two"]]);
  });

  test("makes several amendments of a row with one statement", async () => {
    const stream = newStream();
    await log.insert(stream, { number: 1, head: "h", texts: ["text"] });
    sent.length = 0;
    await log.amend(stream, [
      { from: 1, to: 2, blank: "all" },
      { from: 1, to: 2, blank: { from: 0, to: 1 } },
      { from: 1, to: 2, expiresAt: 7_000 },
    ]);
    expect(sent).toEqual(["BatchExecuteStatement"]);
    expect(await wholeStream(stream)).toEqual([{ number: 1, head: "h", texts: [], expiresAt: 7_000 }]);
  });
});
