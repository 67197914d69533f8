import { FIRST_ROW } from "@scrollback/record-log";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyOf, keysFrom, namesIn, toDocument, toRow } from "../src/document.ts";

/** Streams that may collide: short, with digits and with the characters that have a meaning in a key. */
const stream = fc.string({
  unit: fc.constantFrom("a", ":", "%", "3", "A", "2", "5", "0", "/", "\0", "$", ".", "é", "😀"),
  minLength: 1,
  maxLength: 20,
});
const number = fc.oneof(fc.integer({ min: 1, max: 120 }), fc.maxSafeNat());

/** The server's order of strings: by their UTF-8 bytes. */
const order = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe("keys", () => {
  test("of a stream are in the order of the numbers", () => {
    fc.assert(
      fc.property(stream, number, number, (name, a, b) => {
        expect(order(keyOf(name, a), keyOf(name, b))).toBe(Math.sign(a - b));
      }),
    );
  });

  /** Whether a key is in a range, by the server's order. */
  const isIn = ({ $gte, $lt }: ReturnType<typeof keysFrom>, key: string) =>
    order($gte, key) <= 0 && order(key, $lt) < 0;

  test("of a range are those from its first number up to the one before its end", () => {
    fc.assert(
      fc.property(stream, number, number, number, (name, from, to, at) => {
        expect(isIn(keysFrom(name, from, to), keyOf(name, at))).toBe(from <= at && at < to);
      }),
    );
    const last = keyOf("a", Number.MAX_SAFE_INTEGER);
    expect(isIn(keysFrom("a", 1, Number.POSITIVE_INFINITY), last)).toBe(true);
    expect(isIn(keysFrom("a", 1, Number.MAX_SAFE_INTEGER + 1), last)).toBe(true);
    expect(isIn(keysFrom("a", 1, Number.MAX_SAFE_INTEGER), last)).toBe(false);
  });

  test("of no other stream are in the range of a stream", () => {
    fc.assert(
      fc.property(stream, stream, number, (name, other, at) => {
        fc.pre(name !== other);
        expect(isIn(keysFrom(name, 0, Number.POSITIVE_INFINITY), keyOf(other, at))).toBe(false);
      }),
      { numRuns: 20_000 },
    );
    // A stream whose name looks like a key of another stream.
    expect(isIn(keysFrom("a", 0, Number.POSITIVE_INFINITY), keyOf("a:5", 1))).toBe(false);
  });

  test("show an ordinary stream unchanged", () => {
    expect(keyOf("chat-1", 42)).toBe("chat-1:0000000000000042");
    expect(keyOf("50%:a", Number.MAX_SAFE_INTEGER)).toBe("50%25%3Aa:9007199254740991");
  });
});

test("the roots of a prefix are those of the names that begin with it", () => {
  const last = fc.constantFrom("\u{10ffff}", "\u{10ffff}".repeat(255), "\ud7ff", "\ue000");
  const name = fc.oneof(
    stream,
    last,
    fc.tuple(stream, last).map(([a, b]) => a + b),
  );
  const prefix = fc.oneof(name, fc.constant(""));
  const isIn = ({ $gte = "", $gt = "", $lt }: ReturnType<typeof namesIn>, one: string) =>
    order($gte, one) <= 0 && order($gt, one) < 0 && order(one, $lt) < 0;
  fc.assert(
    fc.property(prefix, name, name, (begin, end, other) => {
      for (const one of [other, begin + end]) {
        if (Buffer.byteLength(one) > 1_024) continue;
        const isFirstPage = isIn(namesIn({ prefix: begin, after: undefined }), one);
        expect(isFirstPage).toBe(one.startsWith(begin));
        // A page ends with a name that begins with the prefix.
        const isLater = isIn(namesIn({ prefix: begin, after: begin + other }), one);
        expect(isLater).toBe(one.startsWith(begin) && order(one, begin + other) > 0);
      }
    }),
  );
});

describe("a document", () => {
  test("returns its row", () => {
    const row = { number: 7, head: "{}", texts: ["1u{}", ""], expiresAt: 1_700_000_000_123 };
    expect(toDocument("b:a", row)).toEqual({
      _id: "b%3Aa:0000000000000007",
      head: "{}",
      texts: ["1u{}", ""],
      expiresAt: new Date(1_700_000_000_123),
      root: "b:a",
    });
    expect(toRow(toDocument("b:a", row))).toEqual(row);
    const root = { number: FIRST_ROW - 1, head: "", texts: [] };
    expect(toDocument("b:%a", root), "a root").toMatchObject({ root: "b:%a" });
    expect(toDocument("b:%a", { ...root, number: FIRST_ROW }), "a row").not.toHaveProperty("root");
    expect(toRow(toDocument("a", { number: 1, head: "", texts: [] }))).toEqual({
      number: 1,
      head: "",
      texts: [],
    });
  });

  test("stores an expiry after the last date as the last one, and one before the first date as the first", () => {
    const kept = (expiresAt: number) =>
      toRow(toDocument("a", { number: 1, head: "", texts: [], expiresAt })).expiresAt;
    expect(kept(2 ** 54)).toBe(8.64e15);
    expect(kept(-(2 ** 54))).toBe(-8.64e15);
  });

  test("that was read without its texts is a row without texts", () => {
    expect(toRow({ _id: "a:0000000000000001", head: "h" }).texts).toEqual([]);
  });

  test("with a field of another type is a row without it", () => {
    const damaged = { _id: "a:0000000000000001", head: 1, texts: ["1u", null, ["text"]], expiresAt: "soon" };
    expect(toRow(damaged)).toEqual({ number: 1, head: "", texts: ["1u", "", ""] });
    expect(toRow({ ...damaged, texts: { 0: "1u" } }).texts).toEqual([]);
  });
});
