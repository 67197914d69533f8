import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AesGcmCodecOptions } from "../src/codec/aes-gcm-codec.ts";
import { aesGcmCodec, gzipCodec } from "../src/codecs.ts";
import { createStores, MemoryDriver } from "../src/driver.ts";
import { type Codec, jsonCodec, type StoreError } from "../src/index.ts";
import { looseBase64 } from "./loose-base64.ts";

const write = { threadId: "t", kind: "u", operationId: "o", index: 0 } as const;
const oldKey = { id: "2025", key: randomBytes(32) };
const newKey = { id: "2026", key: randomBytes(32) };
const codec = aesGcmCodec({ keys: [oldKey] });
const secret = "the harbour at midnight";
const message = { role: "user", content: secret } as const;

/** The complete text of an error, with its causes and its stack. */
const shown = (error: unknown) => inspect(error, { depth: 10, showHidden: true });

function refusal(decode: () => unknown): StoreError {
  try {
    decode();
  } catch (error) {
    expect(error).toMatchObject({ code: "CORRUPT" });
    return error as StoreError;
  }
  throw new Error("it was read");
}

describe("aesGcmCodec", () => {
  const codecs: [string, Codec][] = [
    ["alone", codec],
    ["over gzip", aesGcmCodec({ keys: [oldKey], codec: gzipCodec() })],
    ["under gzip", gzipCodec({ codec })],
  ];
  test.each(codecs)("%s returns the encoded value, for any write", (_, one) => {
    const place = fc.record({
      threadId: fc.string({ minLength: 1, unit: "grapheme" }),
      kind: fc.constantFrom("s", "u", "o", "t", "m"),
      operationId: fc.string({ minLength: 1, unit: "grapheme" }),
      index: fc.nat(),
    });
    const value = fc.oneof(
      fc.jsonValue(),
      fc.lorem({ maxCount: 100 }),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    );
    fc.assert(
      fc.property(value, place, (given, { operationId, index, ...where }) => {
        const text = one.encode(given, { operationId, index, ...where });
        expect(JSON.stringify(one.decode(text, where))).toBe(JSON.stringify(given));
        expect(text).toMatch(/^(?:#2025:[\w+/]+=*|\^.*)$/);
      }),
      { numRuns: 500 },
    );
  });

  test("encodes the same write identically, and different writes differently", () => {
    const text = codec.encode(message, write);
    expect(codec.encode(message, write)).toBe(text);
    const others = [
      { ...write, operationId: "p" },
      { ...write, index: 1 },
      { ...write, threadId: "u" },
      { ...write, kind: "s" as const },
    ].map((other) => codec.encode(message, other));
    const nonces = [text, ...others, codec.encode({ ...message, content: "x" }, write)].map((one) =>
      one.slice("#2025:".length).slice(0, 16),
    );
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  test("bytes take 4/3 of their size, with or without compression below", () => {
    const bytes = randomBytes(300_000);
    for (const [what, one] of codecs.slice(0, 2)) {
      expect(one.encode({ data: bytes }, write).length, what).toBeLessThan(400_000 + 1_000);
    }
    const text = "The last tram goes at midnight. ".repeat(1_000);
    expect(aesGcmCodec({ keys: [oldKey], codec: gzipCodec() }).encode(text, write).length).toBeLessThan(
      1_000,
    );
  });

  test("3 MiB of text or bytes fit the limit of every backend", () => {
    const size = 3 * 1024 ** 2;
    for (const content of ["é ".repeat(size / 3), [{ type: "file", data: randomBytes(size) }]]) {
      expect(codec.encode({ role: "user", content }, write).length).toBeLessThan(4 * 1024 ** 2 + 1_000);
    }
  });

  test("old records stay readable after a rotation, and new ones use the newest key", async () => {
    const driver = new MemoryDriver();
    const open = (...keys: AesGcmCodecOptions["keys"]) =>
      createStores(driver, { codec: aesGcmCodec({ keys }) }).open("t");
    await open(oldKey).commit({ append: [message], metadata: { title: "old" } });
    const rotated = open(newKey, oldKey);
    await rotated.addMessages([{ role: "assistant", content: "new" }]);
    expect(await rotated.listMessages()).toEqual([message, { role: "assistant", content: "new" }]);
    expect((await rotated.read()).metadata).toEqual({ title: "old" });
    expect(driver.exportThread("t")?.messages.map(({ text }) => text.slice(0, 5))).toEqual([
      "#2025",
      "#2026",
    ]);

    const onlyNew = open(newKey);
    expect(await onlyNew.listMessages({ limit: 1 })).toEqual([{ role: "assistant", content: "new" }]);
    await expect(onlyNew.listMessages()).rejects.toMatchObject({
      code: "CORRUPT",
      sequence: 1,
      message: expect.stringContaining('the key "2025", which is not in keys'),
    });
    await expect(onlyNew.read({ limit: 1 })).rejects.toMatchObject({ code: "CORRUPT", sequence: undefined });
    await rotated.replaceMessages(await rotated.listMessages());
    await rotated.commit({ metadata: (await rotated.read()).metadata });
    expect((await onlyNew.read()).entries).toHaveLength(2);
  });

  test("a repeated write is recognised, and fails with CONFLICT after a key rotation", async () => {
    const driver = new MemoryDriver();
    const open = (...keys: AesGcmCodecOptions["keys"]) =>
      createStores(driver, { codec: aesGcmCodec({ keys }) }).open("t");
    const options = { operationId: "job 7" };
    const first = await open(oldKey).addMessages([message, message], options);
    expect(await open(oldKey).addMessages([message, message], options)).toBe(first);
    await expect(open(newKey, oldKey).addMessages([message, message], options)).rejects.toMatchObject({
      code: "CONFLICT",
    });
    expect(await open(oldKey).listMessages()).toHaveLength(2);
  });

  test("a record with another key, thread or kind, or with any change, is refused and not shown", () => {
    const text = codec.encode(message, write);
    const impostor = aesGcmCodec({ keys: [{ id: oldKey.id, key: newKey.key }] });
    const refusals = [
      refusal(() => impostor.decode(text, write)),
      refusal(() => codec.decode(text, { threadId: "u", kind: "u" })),
      refusal(() => codec.decode(text, { threadId: "t", kind: "s" })),
      refusal(() => codec.decode(text, { threadId: "ut", kind: "s" })),
      refusal(() => aesGcmCodec({ keys: [newKey] }).decode(text, write)),
    ];
    for (const error of refusals) {
      for (const hidden of [secret, oldKey.key, newKey.key]) {
        for (const encoding of ["utf8", "hex", "base64"] as const) {
          const part = Buffer.from(hidden).toString(encoding).slice(0, 12);
          expect(shown(error)).not.toContain(part);
        }
      }
    }
  });

  test("a message with another time is refused, and a repeated write at another time is recognised", async () => {
    const driver = new MemoryDriver();
    const store = createStores(driver, { codec }).open("t");
    const add = (createdAt: number) => store.addMessages([message], { operationId: "op", createdAt });
    const revision = await add(1_000);
    expect(await add(2_000)).toBe(revision);
    const snapshot = driver.exportThread("t");
    for (const [createdAt, isSound] of [
      [1_000, true],
      [1_001, false],
    ] as const) {
      const changed = new MemoryDriver();
      const messages = snapshot?.messages.map((one) => ({ ...one, createdAt })) ?? [];
      changed.importThread("t", { messages, createdAt: 0, updatedAt: 0 });
      const read = createStores(changed, { codec }).open("t").listMessages();
      if (isSound) expect(await read).toEqual([message]);
      else
        await expect(read).rejects.toMatchObject({
          code: "CORRUPT",
          message: expect.stringContaining("another thread or time"),
        });
    }
    const at = (createdAt: number) => codec.encode(message, { ...write, createdAt });
    // The nonces differ, too.
    expect(at(1).slice(0, 20)).not.toBe(at(2).slice(0, 20));
  });

  test("every changed bit and every cut is refused", () => {
    const sealed = Buffer.from(codec.encode(message, write).slice("#2025:".length), "base64");
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      refusal(() => codec.decode(`#2025:${changed.toString("base64")}`, write));
    }
    for (let length = 0; length < sealed.length; length++) {
      refusal(() => codec.decode(`#2025:${sealed.toString("base64", 0, length)}`, write));
    }
  });

  test("text that decodes to the same bytes is refused unless it is the same text", () => {
    for (const content of ["", "1", "12", "123", secret.repeat(50)]) {
      const text = codec.encode(content, write);
      expect(codec.decode(text, write)).toBe(content);
      for (const changed of looseBase64(text, "#2025:".length)) refusal(() => codec.decode(changed, write));
    }
  });

  test("unencrypted text is refused", () => {
    for (const text of [
      jsonCodec.encode(message),
      "#",
      "#2025",
      "#2025:",
      "#:AAAA",
      "",
      gzipCodec().encode(secret.repeat(20), write),
    ]) {
      refusal(() => codec.decode(text, write));
    }
  });

  test("errors of the inner codec are not shown", () => {
    const odd: Codec = { encode: () => `{"${secret}`, decode: (text) => JSON.parse(text) };
    const text = aesGcmCodec({ keys: [oldKey], codec: odd }).encode(1, write);
    const error = refusal(() => codec.decode(text, write));
    expect(shown(error)).not.toContain(secret);
    expect(() => odd.decode(`{"${secret}`, write)).toThrow();
  });

  test("a key can be changed or cleared after the codec is created, and the codec shows no key", () => {
    const key = randomBytes(32);
    const copy = Buffer.from(key);
    const one = aesGcmCodec({ keys: [{ id: "a", key }] });
    key.fill(0);
    const text = one.encode(message, write);
    expect(aesGcmCodec({ keys: [{ id: "a", key: copy }] }).decode(text, write)).toEqual(message);
    expect(shown(one)).not.toContain(copy.toString("hex").slice(0, 8));
  });

  const invalid: [string, unknown, string][] = [
    ["no options", undefined, "keys"],
    ["null", null, "options"],
    ["keys left out", {}, "keys"],
    ["no keys", { keys: [] }, "keys must"],
    ["a key without id", { keys: [{ key: oldKey.key }] }, "keys[0].id"],
    ["an id with a colon", { keys: [{ id: "a:b", key: oldKey.key }] }, "keys[0].id"],
    ["the same id twice", { keys: [oldKey, { ...newKey, id: oldKey.id }] }, "keys[1].id"],
    ["a key of 16 bytes", { keys: [oldKey, { id: "a", key: randomBytes(16) }] }, "keys[1].key"],
    ["a key as text", { keys: [{ id: "a", key: secret.padEnd(32) }] }, "keys[0].key"],
    ["a key that is not an object", { keys: [null] }, "keys[0].id"],
    ["an unknown option", { keys: [oldKey], key: 1 }, "key"],
    ["an invalid codec", { keys: [oldKey], codec: {} }, "codec"],
  ];
  test.each(invalid)("%s is refused when the codec is created", (_, options, named) => {
    const make = () => aesGcmCodec(options as AesGcmCodecOptions);
    expect(make).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(named) }),
    );
    expect(make).not.toThrow(expect.objectContaining({ message: expect.stringContaining(secret) }));
  });
});
