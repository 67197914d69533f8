import { FIRST_ROW } from "@scrollback/record-log";
import { describe, expect, test } from "vitest";
import { RowChange, statementOf } from "../src/amend.ts";
import { toItem, toRow, toSeconds } from "../src/item.ts";
import { shardOf } from "../src/roots.ts";

describe("an item", () => {
  test("stores a row under names of one letter, its texts as bytes", () => {
    const row = { number: 12, head: '{"v":1}', texts: ["1u{}", "", "ü"], expiresAt: 1_700_000_000_001 };
    expect(toItem("chat-1", row)).toEqual({
      s: { S: "chat-1" },
      n: { N: "12" },
      h: { S: '{"v":1}' },
      c: { L: [{ B: Buffer.from("1u{}") }, { B: Buffer.alloc(0) }, { B: Buffer.from("ü") }] },
      x: { N: "1700000001" },
      r: { S: shardOf("chat-1") },
    });
  });

  test("is in the index of roots only if it is a root", () => {
    expect(toItem("a", { number: FIRST_ROW - 1, head: "h", texts: [] })).toMatchObject({
      r: { S: shardOf("a") },
    });
    expect(toItem("a", { number: FIRST_ROW, head: "h", texts: [] })).not.toHaveProperty("r");
  });

  test("omits empty fields", () => {
    const item = toItem("p", { number: 1, head: "", texts: [] });
    expect(Object.keys(item)).toEqual(["s", "n", "r"]);
    expect(toRow(item)).toEqual({ number: 1, head: "", texts: [], expiresAt: undefined });
  });

  test("returns the row, also from bytes that are part of others", () => {
    const row = { number: 2 ** 53 - 1, head: "h", texts: ["text", "", "💬"], expiresAt: 5_000 };
    const item = toItem("t", row);
    expect(toRow(item)).toEqual(row);
    const bytes = new Uint8Array(Buffer.from("before text after")).subarray(7, 11);
    expect(toRow({ ...item, c: { L: [{ B: bytes }] } }).texts).toEqual(["text"]);
  });

  test("with a text of another type has a blank text in its place", () => {
    expect(toRow({ n: { N: "1" }, c: { L: [{ S: "text" }, { NULL: true }] } }).texts).toEqual(["", ""]);
  });

  test.each([
    [0, "0"],
    [1, "1"],
    [999, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [Number.MAX_SAFE_INTEGER, "9007199254741"],
  ])("that expires %d ms after 1970 began is kept until second %s", (milliseconds, seconds) => {
    expect(toSeconds(milliseconds)).toEqual({ N: seconds });
  });
});

describe("the amendments of a row", () => {
  const updatesOf = (...amendments: Parameters<RowChange["add"]>[0][]) => {
    const change = new RowChange();
    for (const amendment of amendments) change.add(amendment);
    return [...change.updates()].map((update) => statementOf("chats", "chat-1", 7, update));
  };
  const key = [{ S: "chat-1" }, { N: "7" }];

  test("are one update if possible", () => {
    expect(updatesOf({ blank: "all" }, { blank: { from: 0, to: 9 } }, { expiresAt: 1 })).toEqual([
      { Statement: 'UPDATE "chats" SET x=? REMOVE c WHERE s=? AND n=?', Parameters: [{ N: "1" }, ...key] },
    ]);
    expect(updatesOf({})).toEqual([]);
  });

  test("extend it on the condition that it expires, and late enough", () => {
    expect(
      updatesOf({ extend: { to: 9_001, atLeast: 5_001 } }, { extend: { to: null, atLeast: 0 } }),
    ).toEqual([
      {
        Statement: 'UPDATE "chats" SET x=? WHERE s=? AND n=? AND x >= ? AND x < ?',
        Parameters: [{ N: "10" }, ...key, { N: "6" }, { N: "10" }],
      },
      { Statement: 'UPDATE "chats" REMOVE x WHERE s=? AND n=? AND x >= ?', Parameters: [...key, { N: "0" }] },
    ]);
  });

  test("fit DynamoDB's maximum statement size, also for the longest table name", () => {
    const change = new RowChange();
    change.add({ blank: { from: 9_000, to: 10_000 } });
    const statements = [...change.updates()].map((update) => statementOf("x".repeat(255), "a", 7, update));
    expect(statements).toHaveLength(4);
    for (const { Statement = "" } of statements) expect(Statement.length).toBeLessThan(8_192);
  });
});
