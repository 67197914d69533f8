import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as node from "../src/runtime/node.ts";
import * as nodeDiagnostics from "../src/runtime/node-diagnostics.ts";
import * as web from "../src/runtime/web.ts";
import * as webDiagnostics from "../src/runtime/web-diagnostics.ts";

test("the runtimes with and without Node.js have the same names", () => {
  expect(Object.keys(web).sort()).toEqual(Object.keys(node).sort());
  expect(Object.keys(webDiagnostics).sort()).toEqual(Object.keys(nodeDiagnostics).sort());
});

describe("without Node.js, as with it", () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ unit: "grapheme" }));

  test("a text has the same digest and the same size", () => {
    fc.assert(
      fc.property(text, (one) => {
        for (const encoding of ["hex", "base64url"] as const)
          expect(web.sha256(one, encoding)).toBe(node.sha256(one, encoding));
        expect(web.byteLength(one)).toBe(node.byteLength(one));
      }),
    );
    // Each place of the end of a text in a block.
    for (let length = 0; length < 200; length++)
      expect(web.sha256("a".repeat(length))).toBe(node.sha256("a".repeat(length)));
    expect(web.sha256("\ud800")).toBe(node.sha256("\ud800"));
    expect(web.sha256("ä".repeat(2 ** 20))).toBe(node.sha256("ä".repeat(2 ** 20)));
  });

  test("bytes have the same base64, and no other text is read", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.constantFrom("base64", "base64url"),
        (bytes, kind) => {
          const encoded = node.encodeBase64(bytes, kind);
          expect(web.encodeBase64(bytes, kind)).toBe(encoded);
          expect(web.decodeBase64(encoded, kind)).toEqual(bytes);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."AQ+/-_= \n!") }), (one) => {
        for (const kind of ["base64", "base64url"] as const) {
          const decoded = node.decodeBase64(one, kind);
          expect(web.decodeBase64(one, kind)).toEqual(decoded && Uint8Array.from(decoded));
        }
      }),
    );
    const many = new Uint8Array(100_000).map((_, index) => index);
    expect(web.encodeBase64(many)).toBe(node.encodeBase64(many));
  });

  test("a property of bytes is found", () => {
    for (const { hasNamedProperty } of [node, web]) {
      expect(hasNamedProperty(new Uint8Array(3))).toBe(false);
      expect(hasNamedProperty(new Float64Array([Number.NaN]))).toBe(false);
      expect(hasNamedProperty(Object.assign(new Uint8Array(3), { a: 1 }))).toBe(true);
      expect(hasNamedProperty(Object.assign(new Uint8Array(3), { [Symbol.iterator]: 1 }))).toBe(true);
    }
  });
});
