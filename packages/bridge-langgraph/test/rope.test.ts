import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { concat, piecesOf, type Rope, ropeOf, stretch } from "../src/log/rope.ts";

const textOf = (rope: Rope | undefined) => [...piecesOf(rope)].join("");

test("a rope that is cut and joined has the text that was cut and joined", () => {
  const edit = fc.tuple(fc.nat(200), fc.nat(200), fc.string({ maxLength: 20 }));
  fc.assert(
    fc.property(fc.string(), fc.array(edit, { maxLength: 60 }), (begin, edits) => {
      let text = begin;
      let rope = concat(undefined, ropeOf(begin));
      for (const [at, drop, added] of edits) {
        const start = Math.min(at, text.length);
        const end = Math.min(start + drop, text.length);
        const [head, tail] = rope ? [stretch(rope, 0, start), stretch(rope, end, text.length)] : [];
        rope = concat(concat(head, ropeOf(added)), tail);
        text = text.slice(0, start) + added + text.slice(end);
        expect(textOf(rope)).toBe(text);
        expect(rope?.length ?? 0).toBe(text.length);
      }
      if (rope)
        for (const [start, length] of edits)
          expect(textOf(stretch(rope, start, Math.min(start + length, text.length)))).toBe(
            text.slice(start, start + length),
          );
    }),
    { numRuns: rounds(300, 10_000) },
  );
});

test.each([
  ["its end", (size: number) => size],
  ["its beginning", () => 0],
  ["its middle", (size: number) => size >> 1],
  ["a place that moves", (size: number, n: number) => (n * 7_919) % size],
])("a rope that is edited 10,000 times at %s stays shallow", (_, placeAt) => {
  let rope = ropeOf("x".repeat(100));
  for (let n = 0; n < 10_000; n++) {
    const at = placeAt(rope.length, n);
    const edited = concat(concat(stretch(rope, 0, at), ropeOf("edited")), stretch(rope, at, rope.length));
    rope = edited ?? rope;
  }
  const depthOf = (one: Rope): number =>
    "left" in one ? 1 + Math.max(depthOf(one.left), depthOf(one.right)) : 0;
  // A random tree of 10,000 leaves is about 30 deep.
  expect(depthOf(rope)).toBeLessThan(80);
});
