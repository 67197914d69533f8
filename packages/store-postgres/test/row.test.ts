import type { LogRow } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromText, type StoredRow, toContent, toRow, toText, toValues } from "../src/row.ts";

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\0", "\x1a", "\x1e", "0", "1", "2", "a", "💬") }),
);
const row: fc.Arbitrary<LogRow> = fc.record(
  {
    number: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    head: text,
    texts: fc.array(text),
    expiresAt: fc.integer({ min: 0, max: 8.64e15 }),
  },
  { requiredKeys: ["number", "head", "texts"] },
);

/** A row in pg's result format: every value as text. */
function stored([_stream, ...columns]: unknown[]): StoredRow {
  return columns.map((value) => (value === null ? null : String(value))) as unknown as StoredRow;
}

test("a row is read as it was written", () => {
  fc.assert(
    fc.property(row, (one) => {
      expect(toRow(stored(toValues("s", one)))).toEqual({ ...one, expiresAt: one.expiresAt });
    }),
  );
});

test("stored text has no NUL, and different texts are stored differently", () => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(toText(one)).not.toContain("\0");
      expect(toText(one)).not.toContain("\x1e");
      expect(fromText(toText(one))).toBe(one);
      expect(toText(one) === toText(other)).toBe(one === other);
    }),
  );
});

test("ordinary text is stored unchanged", () => {
  const json = JSON.stringify({ content: 'a "quoted" \u0000 line\nü💬' });
  expect(toText(json)).toBe(json);
  expect(toContent(["1u{}", json])).toBe(`1u{}\x1e${json}`);
});

test("no texts, one blank text and two blank texts differ", () => {
  expect([[], [""], ["", ""]].map(toContent)).toEqual([null, "", "\x1e"]);
});

test.each([
  [["7", "h", "a\x1a", null], { number: 7, head: "h", texts: ["a\x1a"], expiresAt: undefined }],
  [["7", "\x1ax", null, "12"], { number: 7, head: "\x1ax", texts: [], expiresAt: 12 }],
  [[7n, null, "", 12n], { number: 7, head: "", texts: [""], expiresAt: 12 }],
])("a damaged row or one from other parsers is read: %o", (columns, expected) => {
  expect(toRow(columns as unknown as StoredRow)).toEqual(expected);
});

test("times and numbers out of range become the nearest exact ones", () => {
  const values = toValues("s", { number: 1, head: "", texts: [], expiresAt: Number.POSITIVE_INFINITY });
  expect(values.at(-1)).toBe(2 ** 53);
  expect(toValues("s", { number: 1, head: "", texts: [], expiresAt: 1.7 }).at(-1)).toBe(1);
});
