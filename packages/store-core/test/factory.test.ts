import { expect, test } from "vitest";
import { gzipCodec } from "../src/codecs.ts";
import { createStores, MemoryDriver } from "../src/driver.ts";
import { type Codec, createMemoryStores, type MessageTraits, type StoreOptions } from "../src/index.ts";

const invalid: [string, unknown, string][] = [
  ["maxMessages of 0", { maxMessages: 0 }, "maxMessages"],
  ["an unknown trimming", { trimming: "smart" }, "trimming"],
  ["ttlMs of 0", { ttlMs: 0 }, "ttlMs"],
  ["a codec without decode", { codec: { encode: () => "" } }, "codec"],
  ["traits without role", { traits: {} }, "traits"],
  ["onCorruptRecord that is not a function", { onCorruptRecord: true }, "onCorruptRecord"],
  ["setup that is not a boolean", { setup: "yes" }, "setup"],
  ["an unknown option", { maxMessage: 3 }, "maxMessage"],
  ["options that are not an object", 3, "options"],
];

test.each(invalid)("%s is refused when the store is created", (_, options, name) => {
  expect(() => createMemoryStores(options as StoreOptions)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) }),
  );
});

test("an undefined option counts as omitted", () => {
  const options = { maxMessages: undefined } as unknown as StoreOptions;
  expect(createMemoryStores(options).settings).toEqual({ backend: "memory" });
});

test("settings are the given ones, frozen", () => {
  const { settings } = createMemoryStores({ maxMessages: 5, ttlMs: 1_000 });
  expect(settings).toEqual({ backend: "memory", maxMessages: 5, ttlMs: 1_000 });
  expect(Object.isFrozen(settings)).toBe(true);
});

test.each([1, 2])("metadataSize is the exact size of encoded metadata (%i times its JSON)", async (times) => {
  const codec: Codec = {
    encode: (value) => JSON.stringify(value).repeat(times),
    decode: (text) => JSON.parse(text.slice(0, text.length / times)),
  };
  const stores = createMemoryStores({ codec });
  const largest = "x".repeat((256 * 1024 - stores.metadataSize("")) / times);
  expect(stores.metadataSize(largest)).toBe(256 * 1024);
  await stores.open("t").commit({ metadata: largest });
  await expect(stores.open("t").commit({ metadata: `${largest}x` })).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
});

test("withTraits returns a factory of the same threads for another message type, and closes with the first", async () => {
  const stores = createMemoryStores({ ttlMs: 5_000, codec: gzipCodec() });
  const traits: MessageTraits<{ by: "user" | "assistant" }> = {
    role: (message) => message.by,
    toolCalls: () => [],
    toolResults: () => [],
  };
  const other = stores.withTraits(traits);
  expect(other.settings).toEqual(stores.settings);
  await other.open("t").addMessages([{ by: "user" }]);
  await expect(stores.open("t").addMessages([{ by: "user" } as never])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(await stores.open("t").listMessages()).toEqual([{ by: "user" }]);
  expect(() => stores.withTraits({} as never)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("traits") }),
  );
  const store = stores.open("t");
  await other.close();
  await expect(store.listMessages()).rejects.toMatchObject({ code: "CLOSED" });
  expect(() => stores.withTraits(traits)).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("metadataSize refuses values that cannot be stored", () => {
  expect(() => createMemoryStores().metadataSize(() => 1)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});

test("an omitted thread id becomes a UUID of version 7, increasing with time", async () => {
  const stores = createMemoryStores();
  const first = stores.open().threadId;
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  await new Promise((resolve) => setTimeout(resolve, 3));
  expect(stores.open().threadId > first).toBe(true);
});

test("a ttlMs that the driver does not support is refused before any I/O", async () => {
  const driver = new MemoryDriver();
  Object.defineProperty(driver, "capabilities", { value: { ...driver.capabilities, expiry: false } });
  expect(() => createStores(driver, { ttlMs: 5 })).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
  const stores = createStores(driver);
  expect(() => stores.open("t", { ttlMs: 5 })).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
  await expect(stores.open("t").expire(5)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  const saved = { type: "scrollback.store", version: 1, backend: "memory", threadId: "t", ttlMs: 5 };
  expect(() => createStores(driver).restore(saved)).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
});
