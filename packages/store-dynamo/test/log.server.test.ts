import { startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
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

describe("a log", () => {
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
});
