import { randomBytes } from "node:crypto";
import { createMemoryStores } from "@scrollback/store-core";
import { randomText } from "@scrollback/store-core/internal";
import { beforeAll, describe, expect, test } from "vitest";
import { type BlobStorage, ChatStore, type ChatStoreOptions } from "../../src/index.ts";

/** A storage under test. */
export interface BlobHarness {
  readonly storage: BlobStorage;
  /** Of a chat store on this storage. */
  readonly options?: Partial<ChatStoreOptions<never>>;
  /** The number of contents that the storage has. */
  count(): Promise<number>;
}

const newKey = () => randomText(9);
const aborted = { code: "ABORTED" };
const bytes = (size: number) => new Uint8Array(randomBytes(size));

/** Tests what each storage of files promises. */
export function runBlobContract(name: string, open: () => Promise<BlobHarness>): void {
  describe(`a storage of files: ${name}`, () => {
    let harness: BlobHarness;
    let storage: BlobStorage;
    beforeAll(async () => {
      harness = await open();
      storage = harness.storage;
    });

    test("returns what was put, until it is deleted", async () => {
      const key = newKey();
      const content = bytes(1_000);
      expect(await storage.get(key)).toBeUndefined();
      await storage.put(key, content);
      expect(await storage.get(key)).toEqual(content);
      await storage.delete(key);
      expect(await storage.get(key)).toBeUndefined();
      expect(await storage.get(key, { start: 0, end: 1 })).toBeUndefined();
    });

    test("deletes what is missing without an error", async () => {
      const key = newKey();
      await storage.delete(key);
      await storage.delete(key);
      expect(await storage.get(key)).toBeUndefined();
    });

    test.each([
      [{}, 0, 1_000],
      [{ start: 0, end: 1 }, 0, 1],
      [{ start: 10 }, 10, 1_000],
      [{ end: 10 }, 0, 10],
      [{ start: 10, end: 20 }, 10, 20],
      [{ start: 990, end: 2_000 }, 990, 1_000],
      [{ start: 999 }, 999, 1_000],
      [{ start: 1_000 }, 1_000, 1_000],
      [{ start: 2_000, end: 3_000 }, 1_000, 1_000],
      [{ start: 5, end: 5 }, 5, 5],
    ])("returns the range %o", async (range, start, end) => {
      const key = newKey();
      const content = bytes(1_000);
      await storage.put(key, content);
      expect(await storage.get(key, range)).toEqual(content.slice(start, end));
      await storage.delete(key);
    });

    test("stores an empty content", async () => {
      const key = newKey();
      await storage.put(key, new Uint8Array());
      expect(await storage.get(key)).toEqual(new Uint8Array());
      expect(await storage.get(key, { start: 0, end: 10 })).toEqual(new Uint8Array());
      await storage.delete(key);
      expect(await storage.get(key)).toBeUndefined();
    });

    test("stores 16 MiB, and returns a range of it", async () => {
      const key = newKey();
      const content = bytes(16 * 1_048_576);
      await storage.put(key, content);
      const found = await storage.get(key);
      expect(Buffer.compare(found ?? new Uint8Array(), content)).toBe(0);
      const range = { start: 9_000_000, end: 9_000_100 };
      expect(await storage.get(key, range)).toEqual(content.slice(range.start, range.end));
      await storage.delete(key);
    }, 60_000);

    test("stores only the bytes of a view", async () => {
      const key = newKey();
      const content = bytes(100);
      await storage.put(key, content.subarray(10, 20));
      expect(await storage.get(key)).toEqual(content.slice(10, 20));
      await storage.delete(key);
    });

    test("keeps keys apart that differ in case alone", async () => {
      const keys = ["Abc-_0123456", "abc-_0123456", "ABC-_0123456"];
      for (const key of keys) await storage.put(key, new TextEncoder().encode(key));
      for (const key of keys) expect(await storage.get(key)).toEqual(new TextEncoder().encode(key));
      for (const [index, key] of keys.entries()) {
        await storage.delete(key);
        const found = await Promise.all(keys.map(async (one) => (await storage.get(one)) !== undefined));
        expect(found).toEqual(keys.map((_, at) => at > index));
      }
    });

    test("does nothing when the signal is aborted", async () => {
      const key = newKey();
      const { signal } = new AbortController();
      const stopped = AbortSignal.abort();
      await expect(storage.put(key, bytes(10), { signal: stopped })).rejects.toMatchObject(aborted);
      expect(await storage.get(key, { signal })).toBeUndefined();
      await storage.put(key, bytes(10), { signal });
      await expect(storage.get(key, { signal: stopped })).rejects.toMatchObject(aborted);
      await expect(storage.delete(key, { signal: stopped })).rejects.toMatchObject(aborted);
      expect(await storage.get(key)).toHaveLength(10);
      await storage.delete(key, { signal });
    });

    test("puts contents at the same time", async () => {
      const contents = Array.from({ length: 20 }, (_, index) => [newKey(), bytes(1_000 * index)] as const);
      await Promise.all(contents.map(([key, content]) => storage.put(key, content)));
      const found = await Promise.all(contents.map(([key]) => storage.get(key)));
      expect(found).toEqual(contents.map(([, content]) => content));
      await Promise.all(contents.map(([key]) => storage.delete(key)));
    });

    test("keeps the photo of a chat as long as a chat has it", async () => {
      const stores = createMemoryStores();
      await using chats = new ChatStore<never>({ stores, ...harness.options });
      const mine = chats.of("ada");
      const url = `data:image/png;base64,${randomBytes(100_000).toString("base64")}`;
      const message = {
        id: "m",
        role: "user",
        parts: [{ type: "file", mediaType: "image/png", url }],
      } as unknown as never;
      const before = await harness.count();
      await mine.create({ id: "c", messages: [message] });
      expect(await harness.count()).toBe(before + 1);
      expect((await mine.read("c"))?.entries[0]?.message).toEqual(message);
      const fork = await mine.fork("c");
      await mine.delete("c");
      await chats.flush();
      expect((await mine.read(fork.id))?.entries[0]?.message).toEqual(message);
      expect(await harness.count()).toBe(before + 1);
      await mine.delete(fork.id);
      await chats.flush();
      expect(await harness.count()).toBe(before);
    });
  });
}
