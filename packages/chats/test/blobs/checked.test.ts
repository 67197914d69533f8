import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { checkedBlobs } from "../../src/blobs/checked-blobs.ts";
import { type BlobStorage, ChatStore } from "../../src/index.ts";

const key = "Abc-_0123456";
const content = new Uint8Array([1, 2, 3]);
const url = { mediaType: "image/png", expiresInMs: 60_000 };

/** A storage of a map. */
function mapStorage(more: Partial<Record<keyof BlobStorage, unknown>> = {}): BlobStorage {
  const contents = new Map<string, Uint8Array>();
  return {
    put: async (key, content) => void contents.set(key, content),
    get: async (key, { start, end } = {}) => contents.get(key)?.slice(start, end),
    delete: async (key) => void contents.delete(key),
    url: async (key) => `https://files.test/${key}`,
    ...more,
  } as BlobStorage;
}
const methods: [keyof BlobStorage, (storage: BlobStorage, signal?: AbortSignal) => unknown][] = [
  ["put", (storage, signal) => storage.put(key, content, signal && { signal })],
  ["get", (storage, signal) => storage.get(key, signal && { signal })],
  ["delete", (storage, signal) => storage.delete(key, signal && { signal })],
  ["url", (storage) => storage.url?.(key, url)],
];
const withSignal = methods.filter(([method]) => method !== "url");

describe("a caller's storage of files", () => {
  test("gets all arguments, as a method of its object", async () => {
    const calls: unknown[][] = [];
    class Recorded {
      readonly #calls = calls;
      put(...args: unknown[]) {
        this.#calls.push(args);
      }
      get(...args: unknown[]) {
        this.#calls.push(args);
      }
      delete(...args: unknown[]) {
        this.#calls.push(args);
      }
      url(...args: unknown[]) {
        this.#calls.push(args);
      }
    }
    const storage = checkedBlobs(new Recorded() as unknown as BlobStorage);
    await storage.put(key, content);
    await storage.get(key, { start: 1, end: 2 });
    await storage.delete(key);
    await storage.url?.(key, url);
    const signal = expect.any(AbortSignal);
    expect(calls).toEqual([
      [key, content, { signal }],
      [key, { start: 1, end: 2, signal }],
      [key, { signal }],
      [key, url],
    ]);
    expect(checkedBlobs(mapStorage({ url: undefined })).url).toBeUndefined();
  });

  test.each(methods)("has retryable errors, with what %s threw as their cause", async (method, call) => {
    const cause = new Error("boom");
    for (const fail of [() => Promise.reject(cause), () => throwing(cause)]) {
      await expect(call(checkedBlobs(mapStorage({ [method]: fail })))).rejects.toMatchObject({
        ...{ code: "UNAVAILABLE", retryable: true, cause },
        message: `blobs.${method} failed; see cause`,
      });
    }
    const own = new StoreError("TOO_LARGE", "its own");
    await expect(call(checkedBlobs(mapStorage({ [method]: () => throwing(own) })))).rejects.toBe(own);
  });

  test.each(methods)("ends, when %s does not", async (method, call) => {
    const signals: AbortSignal[] = [];
    const hang = (...args: unknown[]) => {
      const { signal } = Object(args.at(-1));
      if (signal) signals.push(signal);
      return new Promise(() => undefined);
    };
    for (const own of [undefined, new AbortController().signal])
      await expect(call(checkedBlobs(mapStorage({ [method]: hang }), 20), own)).rejects.toMatchObject({
        ...{ code: "UNAVAILABLE", retryable: true, message: `blobs.${method} took longer than 20 ms` },
      });
    expect(signals).toHaveLength(method === "url" ? 0 : 2);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });

  test.each(withSignal)("is left alone after an abort, when %s ignores it", async (method, call) => {
    const controller = new AbortController();
    let begun = 0;
    const hang = () => {
      begun++;
      controller.abort();
      return new Promise(() => undefined);
    };
    const storage = checkedBlobs(mapStorage({ [method]: hang }));
    await expect(call(storage, controller.signal)).rejects.toMatchObject({ code: "ABORTED" });
    await expect(call(storage, controller.signal)).rejects.toMatchObject({ code: "ABORTED" });
    expect(begun).toBe(1);
  });

  test.each([null, "content", [1], new ArrayBuffer(1)])("must not return %o as a content", async (wrong) => {
    await expect(checkedBlobs(mapStorage({ get: () => wrong })).get(key)).rejects.toMatchObject({
      ...{ code: "INVALID_ARGUMENT", message: "blobs.get must return a Uint8Array or undefined" },
    });
  });

  test("must not return more than a range", async () => {
    const storage = checkedBlobs(mapStorage({ get: () => content }));
    await expect(storage.get(key, { start: 1, end: 3 })).rejects.toMatchObject({
      ...{ code: "INVALID_ARGUMENT", message: "blobs.get must return the bytes from start to before end" },
    });
  });

  test("must return text or undefined as a URL", async () => {
    const storage = checkedBlobs(mapStorage({ url: () => new URL("https://files.test") }));
    await expect(storage.url?.(key, url)).rejects.toMatchObject({
      ...{ code: "INVALID_ARGUMENT", message: "blobs.url must return a string or undefined" },
    });
  });

  test("may return Buffers, which messages have as bytes of any runtime", async () => {
    const storage = checkedBlobs(mapStorage({ get: () => Buffer.from("xcontent").subarray(1) }));
    const found = await storage.get(key);
    expect(found).toEqual(new TextEncoder().encode("content"));
    expect(Object.getPrototypeOf(found)).toBe(Uint8Array.prototype);
  });

  const stores = createMemoryStores();
  const needed = "must have the methods put, get, delete";
  test.each<[unknown, string]>([
    [null, "blobs must be an object with the methods put, get, delete"],
    ["./files", "blobs must be an object with the methods put, get, delete"],
    [{ put() {}, get() {} }, `blobs ${needed}`],
    [{ ...mapStorage(), get: "get" }, `blobs ${needed}`],
    [{ ...mapStorage(), url: "https://files.test" }, "blobs.url must be a function, or absent"],
  ])("is checked before any I/O: %#", (blobs, problem) => {
    expect(() => new ChatStore({ stores, blobs: blobs as BlobStorage })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: `ChatStore: ${problem}` }),
    );
  });

  test("that fails leaves a chat as it was, and its errors reach the caller", async () => {
    let fails = true;
    const working = mapStorage();
    const put: BlobStorage["put"] = async (...args) =>
      fails ? throwing(new Error("boom")) : await working.put(...args);
    const blobs = { ...working, put };
    await using chats = new ChatStore<never>({ stores: createMemoryStores(), blobs });
    const mine = chats.of("ada");
    const chat = await mine.create();
    const data = Buffer.alloc(100_000).toString("base64");
    const message = { id: "m", role: "user", parts: [{ type: "file", data }] } as unknown as never;
    await expect(mine.append(chat.id, [message])).rejects.toMatchObject({
      ...{ code: "UNAVAILABLE", message: "blobs.put failed; see cause" },
    });
    expect((await mine.read(chat.id))?.entries).toEqual([]);
    fails = false;
    await mine.append(chat.id, [message]);
    expect((await mine.read(chat.id))?.entries[0]?.message).toEqual(message);
  });
});

function throwing(error: Error): never {
  throw error;
}
