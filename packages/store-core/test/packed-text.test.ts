import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { packText, unpackText } from "../src/codec/packed-text.ts";

const base64 = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const text = fc
  .array(fc.oneof(fc.string({ unit: "binary" }), base64, base64, fc.constantFrom("A", "/", "=", '"')), {
    maxLength: 8,
  })
  .map((pieces) => pieces.join(""))
  .filter((pieces) => pieces.isWellFormed());

test("any text is unpacked unchanged", () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(unpackText(packText(given))).toBe(given);
    }),
    { numRuns: 5_000 },
  );
});

test("runs of base64 take the size of their bytes", () => {
  const bytes = randomBytes(30_000);
  const other = randomBytes(10_000);
  const json = JSON.stringify({ a: bytes.toString("base64"), b: other.toString("base64") });
  expect(packText(json).length).toBeLessThan(40_000 + 100);
});

test("a run of 30 million characters is packed and unpacked without a stack overflow", () => {
  const given = `"${"A".repeat(30_000_000)}"`;
  expect(unpackText(packText(given)) === given).toBe(true);
});

test("bytes that end within a length or a piece are refused", () => {
  const packed = packText(`text ${randomBytes(60).toString("base64")} text`);
  for (const length of [1, 4, 8, 11, 30, packed.length - 1]) {
    expect(() => unpackText(packed.subarray(0, length))).toThrow(RangeError);
  }
});
