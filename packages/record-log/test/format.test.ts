import { StoreError } from "@scrollback/store-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FIRST_ROW } from "../src/record-log.ts";
import {
  decodeHead,
  decodePlainContents,
  decodeRowContents,
  encodeHead,
  type Head,
} from "../src/rows/format.ts";

const NUMBER = FIRST_ROW + 10_000;

const below = fc.nat(1_000).map((distance) => NUMBER - 1 - distance);
/** Ids that look like the fields of a head. */
const operationId = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.constantFrom('","s":9,"k":"uu","x":[1,2],"U":[', '"s":9', '\\",\\"s\\":9,\\"x\\":', ',"x":', "\\"),
);

const head: fc.Arbitrary<Head> = fc
  .record({
    operationId: fc.option(operationId, { nil: undefined }),
    start: fc.integer({ min: 1, max: 9_999 }),
    kinds: fc.string({ unit: fc.constantFrom("s", "u", "o", "t"), maxLength: 5 }),
    setsMetadata: fc.constantFrom(undefined, 1 as const),
    back: fc.option(below, { nil: undefined }),
    isLarge: fc.boolean(),
    fragment: below,
    uploads: fc.array(fc.tuple(operationId, fc.nat(9), fc.constant([[NUMBER - 9, NUMBER - 7] as const])), {
      maxLength: 2,
    }),
  })
  .map(({ operationId, start, kinds, setsMetadata, back, isLarge, fragment, uploads }) => {
    const count = kinds.length + (setsMetadata ?? 0);
    const commit = {
      ...{ operationId, digest: "d", start, kinds, setsMetadata, back },
      fragments: isLarge && count > 0 ? [[fragment, 0, count] as const] : undefined,
    };
    return {
      ...{
        number: NUMBER,
        token: "t",
        predecessor: "p",
        root: 1,
        incarnation: "i",
        n: 3,
        at: 5,
        createdAt: 4,
        updatedAt: 5,
      },
      ...{ bounds: [1, start + kinds.length] as const, edge: NUMBER, bottom: NUMBER, uploads },
      ...(operationId !== undefined && commit),
    };
  });

describe("a head's description of the messages in its row", () => {
  test("is the same if the whole head is read or only its part", () => {
    fc.assert(
      fc.property(head, (written) => {
        const text = encodeHead(written);
        const whole = decodeHead(NUMBER, text);
        const { number, incarnation, start, kinds, setsMetadata, back, fragments, uploads } = whole;
        const contents = { number, incarnation, start, kinds, setsMetadata, back, fragments, uploads };
        expect(decodeRowContents(NUMBER, text)).toEqual(contents);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is looked for in linear time, also in a damaged head of 2 MB", () => {
    const pieces = ['"i":"a",', '"s":1,"k":"', '"i":"a","s":1,'];
    for (const piece of pieces) {
      const text = `{"v":1,"t":"t",${piece.repeat(2_000_000 / piece.length)}`;
      const start = performance.now();
      expect(() => decodeRowContents(NUMBER, text)).toThrow("not JSON");
      expect(decodePlainContents(NUMBER, text)).toBeUndefined();
      expect(performance.now() - start).toBeLessThan(2_000);
    }
  });

  test.each([
    ["of a newer version", '{"v":2,"s":1,"k":"u","x":[1,2]}'],
    ["with the start damaged", '{"v":1,"t":"t","s":"1","k":"u","x":[1,2]}'],
    ["with the part damaged that is read", '{"v":1,"t":"t","s":1,"k":,"x":[1,2]}'],
    ["that is cut off", '{"v":1,"t":"t","s":1,"k":"u"'],
  ])("is not read from a head %s", (_, text) => {
    expect(() => decodeRowContents(NUMBER, text)).toThrow(
      expect.objectContaining({ name: StoreError.name, code: "CORRUPT" }),
    );
  });
});
