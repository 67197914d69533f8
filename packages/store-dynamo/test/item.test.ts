import { describe, expect, test } from "vitest";
import { RowChange } from "../src/amend.ts";
import { toItem, toRow, toSeconds } from "../src/item.ts";

describe("an item", () => {
  test("holds a row under names of one letter, its texts as bytes", () => {
    const row = { number: 12, head: '{"v":1}', texts: ["1u{}", "", "ü"], expiresAt: 1_700_000_000_001 };
    expect(toItem("tchat-1", row)).toEqual({
      s: { S: "tchat-1" },
      n: { N: "12" },
      h: { S: '{"v":1}' },
      c: { L: [{ B: Buffer.from("1u{}") }, { B: Buffer.alloc(0) }, { B: Buffer.from("ü") }] },
      x: { N: "1700000001" },
    });
  });

  test("leaves out what is empty", () => {
    const item = toItem("p", { number: 1, head: "", texts: [] });
    expect(Object.keys(item)).toEqual(["s", "n"]);
    expect(toRow(item)).toEqual({ number: 1, head: "", texts: [], expiresAt: undefined });
  });

  test("gives the row back, from bytes that are part of others too", () => {
    const row = { number: 2 ** 53 - 1, head: "h", texts: ["text", "", "💬"], expiresAt: 5_000 };
    const item = toItem("t", row);
    expect(toRow(item)).toEqual(row);
    const bytes = new Uint8Array(Buffer.from("before text after")).subarray(7, 11);
    expect(toRow({ ...item, c: { L: [{ B: bytes }] } }).texts).toEqual(["text"]);
  });

  test("of another kind of value has a blank text in its place", () => {
    expect(toRow({ n: { N: "1" }, c: { L: [{ S: "text" }, { NULL: true }] } }).texts).toEqual(["", ""]);
  });

  test.each([
    [0, "0"],
    [1, "1"],
    [999, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [Number.MAX_SAFE_INTEGER, "9007199254741"],
  ])("expires %d ms after the epoch in second %s", (milliseconds, seconds) => {
    expect(toSeconds(milliseconds)).toEqual({ N: seconds });
  });
});

describe("a row's amendments", () => {
  const updatesOf = (...amendments: Parameters<RowChange["add"]>[0][]) => {
    const change = new RowChange();
    for (const amendment of amendments) change.add(amendment);
    return [...change.updates()];
  };
  const row = { from: 1, to: 1 };

  test("come to one update where they can", () => {
    expect(
      updatesOf({ ...row, blank: "all" }, { ...row, blank: { from: 0, to: 9 } }, { ...row, expiresAt: 1 }),
    ).toEqual([
      {
        UpdateExpression: "SET x = :x REMOVE c",
        ConditionExpression: "attribute_exists(s)",
        ExpressionAttributeValues: { ":x": { N: "1" } },
      },
    ]);
    expect(updatesOf(row)).toEqual([]);
  });

  test("keep within what DynamoDB takes an expression", () => {
    const updates = updatesOf({ ...row, blank: { from: 18_000, to: 19_000 } });
    expect(updates).toHaveLength(4);
    for (const { UpdateExpression = "" } of updates) expect(UpdateExpression.length).toBeLessThan(4_096);
  });
});
