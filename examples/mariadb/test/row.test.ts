import type { LogRow } from "@scrollback/record-log";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type StoredRow, toContent, toRow, toValues } from "../src/row.ts";

const text = fc.string({ unit: "binary" }).filter((one) => one.isWellFormed());
const row: fc.Arbitrary<LogRow> = fc.record(
  {
    number: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    head: text,
    texts: fc.array(text),
    expiresAt: fc.integer({ min: 0, max: 8.64e15 }),
  },
  { requiredKeys: ["number", "head", "texts"] },
);
const stored = ([_stream, ...columns]: unknown[]) => columns as unknown as StoredRow;

test("a row is read as it was written", () => {
  fc.assert(
    fc.property(row, (one) => {
      expect(toRow(stored(toValues("s", one)))).toEqual({ ...one, expiresAt: one.expiresAt });
    }),
  );
});

test("no texts, one blank text and two blank texts differ", () => {
  const contents = [[], [""], ["", ""], ["a", "", "b"]].map((texts) => toContent(texts)?.toString("hex"));
  expect(contents).toEqual([undefined, "", "ff", "61ffff62"]);
});

test.each([
  [["7", null, null, null], { number: 7, head: "", texts: [], expiresAt: undefined }],
  [[7n, "h", "text", "12"], { number: 7, head: "", texts: [], expiresAt: 12 }],
  [[7, Buffer.from("h"), Buffer.alloc(0), 12n], { number: 7, head: "h", texts: [""], expiresAt: 12 }],
])("a damaged row or one of other types is read: %o", (columns, expected) => {
  expect(toRow(columns as unknown as StoredRow)).toEqual(expected);
});

test("times out of range become the nearest exact ones", () => {
  const values = toValues("s", { number: 1, head: "", texts: [], expiresAt: Number.POSITIVE_INFINITY });
  expect(values.at(-1)).toBe(2 ** 53);
  expect(toValues("s", { number: 1, head: "", texts: [], expiresAt: 1.7 }).at(-1)).toBe(1);
});
