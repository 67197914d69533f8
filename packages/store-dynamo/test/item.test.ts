import { describe, expect, test } from "vitest";
import { headOf, itemOfHead } from "../src/head.ts";
import {
  itemOfRow,
  itemsOfBatch,
  keysOfPage,
  MAX_TEXT_BYTES,
  partsOf,
  rowOf,
  toSeconds,
} from "../src/item.ts";
import { NO_OPERATIONS, Operations } from "../src/operations.ts";
import { headOfThread } from "./head.ts";

const written = { incarnation: "abc", n: 7 };
const message = { kind: "u", createdAt: 1_795_348_800_000, text: '{"role":"user"}' } as const;

describe("an item", () => {
  test("of a message is readable, and sorts by its number", () => {
    const row = { ...written, sequence: 12, message };
    const item = itemOfRow("chat-1", row, 1_700_000_000_001);
    expect(item).toEqual({
      ...{ thread: { S: "chat-1" }, item: { S: "m#000000000012" } },
      ...{ kind: { S: "u" }, at: { N: "1795348800000" }, text: { S: '{"role":"user"}' } },
      ...{ inc: { S: "abc" }, n: { N: "7" }, x: { N: "1700000001" } },
    });
    expect(rowOf(item)).toEqual(row);
  });

  test("of a page names its batch, whose items have the messages and their parts", () => {
    const page = { ...written, from: 5, last: 8, batch: "B", parts: new Map([[2, 3]]) };
    expect(rowOf(itemOfRow("a", page, undefined))).toEqual(page);
    expect(keysOfPage(page, 6, 100)).toEqual([
      "batch#B#000001#0000",
      ...["batch#B#000002#0000", "batch#B#000002#0001", "batch#B#000002#0002"],
      "batch#B#000003#0000",
    ]);
    const large = { ...message, text: "é".repeat(MAX_TEXT_BYTES) };
    const items = itemsOfBatch("a", "B", 2, large, undefined);
    expect(items.map((item) => item.item?.S)).toEqual(keysOfPage(page, 7, 8).slice(0, items.length));
    expect(items.map((item) => item.text?.S).join("")).toBe(large.text);
  });

  test("a text is cut between characters", () => {
    const text = `a${"💬".repeat(MAX_TEXT_BYTES / 4)}`;
    const parts = partsOf(text);
    expect(parts.map((part) => Buffer.byteLength(part))).toEqual([MAX_TEXT_BYTES - 3, 4]);
    expect(parts.join("")).toBe(text);
    expect(partsOf("")).toEqual([""]);
  });

  test.each([
    [1_000, "1"],
    [1_001, "2"],
  ])("that expires %d ms after 1970 began is kept until second %s", (milliseconds, seconds) => {
    expect(toSeconds(milliseconds)).toEqual({ N: seconds });
  });
});

describe("a head", () => {
  test("is the same after it was stored, with every field", () => {
    for (const head of [
      headOfThread({}),
      headOfThread({
        ...{ bounds: { pinned: 1, compaction: 4, first: 7, next: 9 }, kinds: "uo", metadata: 3, paged: 5 },
        ...{ search: { userless: 8, startless: 7, newestCompaction: 4 }, dropped: { n: 2, from: 8 } },
        ...{ expiresAt: 5_000, until: 9_000, isLowering: true, isDead: true },
        leaving: [{ from: 1, to: 3, n: 9, isReused: true }],
        operations: {
          packed: new Uint8Array([1]),
          mark: { n: 1, at: 2 },
          past: [{ incarnation: "x", began: 0, n: 1, until: 2 }],
        },
      }),
    ]) {
      expect(headOf(itemOfHead("a", head).item)).toEqual(head);
    }
  });

  test.each(["inc", "n", "v", "first", "next", "ops", "kinds", "leaving"])(
    "with a damaged %s is CORRUPT",
    (name) => {
      const { item } = itemOfHead("a", headOfThread({}));
      expect(() => headOf({ ...item, [name]: { BOOL: true } })).toThrow(
        expect.objectContaining({ code: "CORRUPT" }),
      );
    },
  );
});

describe("the operations of a thread", () => {
  const add = (operations: Operations, n: number, at: number) =>
    Operations.add(operations, n, { operationId: `${n}`, digest: `change ${n}` }, at);

  test("are the newest 64, with their commits, and whether the change is the same", () => {
    let operations: Operations = NO_OPERATIONS;
    for (let n = 1; n <= 100; n++) operations = add(operations, n, n * 60_000);
    expect(operations.packed).toHaveLength(640);
    const find = (id: string, digest: string) =>
      Operations.find(operations, 100, { operationId: id, digest }, 0);
    expect(find("36", "change 36")).toBeUndefined();
    expect(find("37", "change 37")).toEqual({ earlier: undefined, n: 37, isSame: true });
    expect(find("100", "another")).toEqual({ earlier: undefined, n: 100, isSame: false });
  });

  test("are more while they are young, and no more than twice as long", () => {
    let operations: Operations = NO_OPERATIONS;
    let most = 0;
    for (let n = 1; n <= 2_000; n++) {
      // 20 commits a second.
      operations = add(operations, n, 1_000_000 + n * 50);
      most = Math.max(most, operations.packed.length / 10);
      const young = Math.max(1, n - 200);
      expect(Operations.find(operations, n, { operationId: `${young}`, digest: "" }, 0)).toMatchObject({
        n: young,
      });
    }
    expect(most).toBeLessThanOrEqual(64 + 2 * 300 + 2);
  });

  test("of an earlier incarnation are known for a while", () => {
    let operations = add(add(NO_OPERATIONS, 1, 1_000), 2, 2_000);
    operations = Operations.end(operations, { incarnation: "old", began: 0 }, 2, 17_000);
    operations = add(operations, 3, 3_000);
    const find = (id: number, now: number) =>
      Operations.find(operations, 3, { operationId: `${id}`, digest: `change ${id}` }, now);
    expect(find(1, 12_000)).toMatchObject({ earlier: { incarnation: "old" }, n: 1, isSame: true });
    expect(find(3, 12_000)).toMatchObject({ earlier: undefined, n: 3 });
    expect(find(1, 20_000)).toBeUndefined();
    expect(add(operations, 4, 20_000)).toMatchObject({ past: [] });
    expect(add(operations, 4, 20_000).packed).toHaveLength(20);
  });
});
