import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { GzipCodecOptions } from "../src/codec/gzip-codec.ts";
import { gzipCodec } from "../src/codecs.ts";
import { type Codec, createMemoryStores, jsonCodec } from "../src/index.ts";
import { looseBase64 } from "./loose-base64.ts";

const write = { threadId: "t", kind: "u", operationId: "o", index: 0 } as const;
const codec = gzipCodec();
const prose = "The tram to the harbour goes every ten minutes, the last one at midnight. ".repeat(10);
const zipped = (bytes: string | Buffer) => `^g${gzipSync(bytes).toString("base64")}`;
/** Writes strings unchanged, so that a test determines the text before the compression. */
const plain: Codec = { encode: (value) => String(value), decode: (text) => text };

describe("gzipCodec", () => {
  test("returns the encoded value", () => {
    const value = fc.oneof(fc.jsonValue(), fc.array(fc.lorem({ maxCount: 60 }), { maxLength: 5 }));
    fc.assert(
      fc.property(value, (given) => {
        const text = codec.encode(given, write);
        expect(JSON.stringify(codec.decode(text, write))).toBe(JSON.stringify(given));
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Buffer.byteLength(jsonCodec.encode(given)));
      }),
      { numRuns: 1_000 },
    );
  });

  test("makes long text much shorter, and encodes deterministically", () => {
    const text = codec.encode(prose, write);
    expect(text).toMatch(/^\^g[\w+/]+=*$/);
    expect(text.length).toBeLessThan(prose.length / 4);
    expect(codec.encode(prose, write)).toBe(text);
  });

  test("does not compress text that would not get shorter", () => {
    for (const value of ["yes", { role: "user", content: "a".repeat(90) }, randomBytes(1_000)]) {
      expect(codec.encode(value, write)).toBe(jsonCodec.encode(value));
    }
  });

  test("distinguishes plain text that looks compressed", () => {
    const over = gzipCodec({ codec: plain });
    for (const text of ["^", "^g", "^p^", `^g${"a".repeat(500)}`, zipped("inner"), `${"^".repeat(300)}é`]) {
      expect(over.decode(over.encode(text, write), write)).toBe(text);
    }
  });

  test("reads records written without it", async () => {
    const before = createMemoryStores();
    await before.open("t").addMessages([{ role: "user", content: prose }]);
    const state = await before.open("t").serialize();
    const store = createMemoryStores({ codec }).restore(state);
    await store.addMessages([{ role: "assistant", content: prose }]);
    expect((await store.listMessages()).map(({ content }) => content)).toEqual([prose, prose]);
  });

  test("passes the location to the inner codec", () => {
    const places: unknown[] = [];
    const inner: Codec = {
      encode: (_, place) => {
        places.push(place);
        return prose;
      },
      decode: (_, place) => places.push(place),
    };
    const over = gzipCodec({ codec: inner });
    over.decode(over.encode(1, write), { threadId: "t", kind: "s" });
    expect(places).toEqual([write, { threadId: "t", kind: "s" }]);
  });

  test("stops at maxBytes, at any compression ratio", () => {
    const small = gzipCodec({ codec: plain, maxBytes: 1_000 });
    expect(small.decode(small.encode("é".repeat(500), write), write)).toBe("é".repeat(500));
    expect(() => small.encode("é".repeat(501), write)).toThrow(
      expect.objectContaining({ code: "TOO_LARGE" }),
    );
    const tooLarge = expect.objectContaining({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
    expect(() => small.decode(zipped("a".repeat(1_001)), write)).toThrow(tooLarge);
  });

  test("a compression bomb fails with CORRUPT, and is not unpacked", async () => {
    const bomb = zipped(Buffer.alloc(512 * 1024 ** 2, "a"));
    const before = process.memoryUsage.rss();
    const store = createMemoryStores({ codec: { ...codec, encode: () => bomb } }).open("t");
    await store.addMessages([{ role: "user", content: "a" }]);
    await expect(store.listMessages()).rejects.toMatchObject({ code: "CORRUPT", sequence: 1 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 ** 2);
  });

  test("a message too large before compression fails with TOO_LARGE naming the message", async () => {
    const store = createMemoryStores({ codec: gzipCodec({ maxBytes: 1_000 }) }).open("t");
    const content = "a".repeat(2_000);
    await expect(store.addMessages([{ role: "user", content }])).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: expect.stringMatching(/^messages\[0\]: 2028 bytes .* 1000 fit/),
    });
    await expect(store.commit({ metadata: content })).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  test.each(["^", "^x", "^g", "^gAAAA", `^g${gzipSync(prose).toString("base64").slice(0, 40)}`, "^p", "^p{"])(
    "%s is refused",
    (text) => {
      expect(() => codec.decode(text, write)).toThrow();
    },
  );

  test("text that decodes to the same bytes is refused unless it is the same text", () => {
    const ofPlain = gzipCodec({ codec: plain });
    expect(ofPlain.decode(zipped(prose), write)).toBe(prose);
    const changed = looseBase64(zipped(prose), 2);
    expect(changed.length).toBeGreaterThan(5);
    for (const text of changed) expect(() => ofPlain.decode(text, write)).toThrow("it is not base64");
  });

  test.each<[string, unknown]>([
    ["maxBytes", { maxBytes: 0 }],
    ["codec", { codec: {} }],
    ["level", { level: 9 }],
  ])("an invalid %s is refused when the codec is created", (name, options) => {
    expect(() => gzipCodec(options as GzipCodecOptions)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) }),
    );
  });
});
