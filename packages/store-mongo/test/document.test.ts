import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyOf, keysFrom, toDocument, toRow } from "../src/document.ts";

/** Streams that are made to collide: short, of the characters that mean something in a key, and digits. */
const stream = fc.string({
  unit: fc.constantFrom("a", ":", "%", "3", "A", "2", "5", "0", "/", "\0", "$", ".", "é", "😀"),
  minLength: 1,
  maxLength: 20,
});
const number = fc.oneof(fc.integer({ min: 1, max: 120 }), fc.maxSafeNat());

/** Strings in the order of the server: by the bytes of their UTF-8. */
const order = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe("keys", () => {
  test("of a stream are in the order of the numbers", () => {
    fc.assert(
      fc.property(stream, number, number, (name, a, b) => {
        expect(order(keyOf(name, a), keyOf(name, b))).toBe(Math.sign(a - b));
      }),
    );
  });

  test("of no other stream lie in the range of a stream", () => {
    const range = keysFrom;
    fc.assert(
      fc.property(stream, stream, number, (name, other, at) => {
        fc.pre(name !== other);
        const { $gte, $lte } = range(name, 0, Number.POSITIVE_INFINITY);
        const key = keyOf(other, at);
        expect(order($gte, key) <= 0 && order(key, $lte) <= 0).toBe(false);
      }),
      { numRuns: 20_000 },
    );
    // A stream that goes on as the keys of another one do.
    const { $gte, $lte } = range("a", 0, Number.POSITIVE_INFINITY);
    const key = keyOf("a:5", 1);
    expect(order($gte, key) <= 0 && order(key, $lte) <= 0).toBe(false);
  });

  test("show an ordinary stream as it is", () => {
    expect(keyOf("tchat-1", 42)).toBe("tchat-1:0000000000000042");
    expect(keyOf("t50%:a", Number.MAX_SAFE_INTEGER)).toBe("t50%25%3Aa:9007199254740991");
  });
});

describe("a document", () => {
  test("gives back its row", () => {
    const row = { number: 7, head: "{}", texts: ["1u{}", ""], expiresAt: 1_700_000_000_123 };
    expect(toDocument("t:a", row)).toEqual({
      _id: "t%3Aa:0000000000000007",
      head: "{}",
      texts: ["1u{}", ""],
      expiresAt: new Date(1_700_000_000_123),
    });
    expect(toRow(toDocument("t:a", row))).toEqual(row);
    expect(toRow(toDocument("a", { number: 1, head: "", texts: [] }))).toEqual({
      number: 1,
      head: "",
      texts: [],
    });
  });

  test("holds an expiry past all dates as the last one", () => {
    const { expiresAt } = toRow(toDocument("a", { number: 1, head: "", texts: [], expiresAt: 2 ** 54 }));
    expect(expiresAt).toBe(8.64e15);
  });

  test("that was asked for without its texts is a row without any", () => {
    expect(toRow({ _id: "a:0000000000000001", head: "h" }).texts).toEqual([]);
  });

  test("of another kind of value is a row without it", () => {
    const damaged = { _id: "a:0000000000000001", head: 1, texts: ["1u", null, ["text"]], expiresAt: "soon" };
    expect(toRow(damaged)).toEqual({ number: 1, head: "", texts: ["1u", "", ""] });
    expect(toRow({ ...damaged, texts: { 0: "1u" } }).texts).toEqual([]);
  });
});
