import { describe, expect, test } from "vitest";
import { type Head, headOf, itemOfHead } from "../src/head.ts";
import { MAX_TEXT_BYTES, partsOf, toSeconds } from "../src/item.ts";
import { NO_OPERATIONS, Operations } from "../src/operations.ts";

test("a head is the same after it was stored, with every field", () => {
  const head: Head = {
    ...{ incarnation: "abc", n: 7, version: 3, isDead: true, offset: 2, began: 4 },
    ...{ bounds: { pinned: 1, compaction: 4, first: 7, next: 9 }, kinds: "uo", metadata: 3, paged: 5 },
    ...{ search: { userless: 8, startless: 7, newestCompaction: 4 }, dropped: { n: 2, from: 8 } },
    ...{ createdAt: 1, updatedAt: 2, expiresAt: 5_000, until: 9_000, isLowering: true },
    leaving: [{ from: 1, to: 3, n: 9, isReused: true }],
    operations: {
      packed: new Uint8Array([1]),
      mark: { n: 1, at: 2 },
      past: [{ incarnation: "x", began: 0, n: 1, until: 2 }],
    },
  };
  expect(headOf(itemOfHead("a", head).item)).toEqual(head);
});

test("a text is cut between characters", () => {
  const text = `a${"💬".repeat(MAX_TEXT_BYTES / 4)}`;
  const parts = partsOf(text);
  expect(parts.map((part) => Buffer.byteLength(part))).toEqual([MAX_TEXT_BYTES - 3, 4]);
  expect(parts.join("")).toBe(text);
});

test("what expires within a second is kept until its end", () => {
  expect([1_000, 1_001].map(toSeconds)).toEqual([{ N: "1" }, { N: "2" }]);
});

describe("the operations of a thread", () => {
  const add = (operations: Operations, n: number, at: number) =>
    Operations.add(operations, n, { operationId: `${n}`, digest: `change ${n}` }, at);

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
