import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, expect, test } from "vitest";
import { blobsIn } from "../../../../conformance-tests/test/fixtures/blobs-in.ts";
import { removeAnyThread } from "../../src/index.ts";
import type { BlobStorage } from "../../src/lists/blob-storage.ts";
import { CONTENT_PREFIX } from "../../src/lists/blob-threads.ts";
import { Blobs, newUse } from "../../src/lists/blobs.ts";

const photo = new Uint8Array(100).fill(7);
const content = { scope: "ada", digest: "photo" };
let stores: StoreFactory;
let contents: Map<string, Uint8Array>;
let storage: BlobStorage;

/** A message of a thread that uses a content. */
async function add(blobs: Blobs, threadId: string) {
  const { revision } = await stores.open(threadId).read();
  const use = newUse(content);
  await blobs.use(threadId, { revision, writes: 0 }, use, async () => photo);
  await stores.open(threadId).addMessages([{ role: "user", content: "with a photo" }]);
  await blobs.settle(threadId, { writes: 1, incarnation: "first" }, [use]);
}

beforeEach(() => {
  stores = createMemoryStores();
  contents = new Map();
  storage = blobsIn(contents);
});

const unknown = { code: "UNSUPPORTED", threadId: "a", message: expect.stringContaining("option blobs") };

test("a thread with a content in an unknown storage is not removed, and nothing of it", async () => {
  const known = new Blobs(stores, { elsewhere: storage });
  await add(known, "a");
  await expect(removeAnyThread(stores, "a")).rejects.toMatchObject(unknown);
  expect(await stores.open("a").listMessages()).toHaveLength(1);
  expect((await known.read(content))?.content).toEqual(photo);
  // A deletion of a program that knows it, which died after the thread.
  await stores.deleteThread("a");
  await expect(removeAnyThread(stores, "a")).rejects.toMatchObject(unknown);
  await known.releaseAll("a", undefined);
  expect(contents.size).toBe(0);
  await removeAnyThread(stores, "a");
});

test("a copy of a thread with a content in an unknown storage does not begin", async () => {
  await add(new Blobs(stores, { elsewhere: storage }), "a");
  await expect(new Blobs(stores).knownUses("a")).rejects.toMatchObject(unknown);
});

test("a content is checked: whether it is there, as a whole, and in a known storage", async () => {
  const blobs = new Blobs(stores);
  expect(await blobs.check(content)).toBe("missing");
  await add(blobs, "a");
  expect(await blobs.check(content)).toBe("readable");
  for await (const { threadId } of stores.iterateThreads({ prefix: CONTENT_PREFIX })) {
    await stores.open(threadId).clear();
    expect(await blobs.check(content)).toBe("missing");
    await stores.deleteThread(threadId);
    expect(await blobs.check(content)).toBe("missing");
  }
  const known = new Blobs(stores, { elsewhere: storage });
  const other = { scope: "bob", digest: "photo" };
  await known.use("b", { revision: null, writes: 0 }, newUse(other), async () => photo);
  expect(await blobs.check(other)).toBe("elsewhere");
  expect(await known.check(other)).toBe("readable");
  for (const key of contents.keys()) contents.set(key, photo.subarray(1));
  await expect(known.check(other)).rejects.toMatchObject({ code: "CORRUPT" });
});

test("a content whose deletion has failed is not read, and is still in its storage", async () => {
  const fails = async () => {
    throw new Error("the storage is down");
  };
  const url = async (key: string) => `https://files.example/${key}`;
  const known = new Blobs(stores, { elsewhere: { ...storage, delete: fails, url } });
  await add(known, "a");
  await stores.deleteThread("a");
  await expect(known.releaseAll("a", undefined)).rejects.toThrow("the storage is down");
  expect(contents.size).toBe(1);
  expect(await known.read(content)).toBeUndefined();
  expect(await known.check(content)).toBe("missing");
  expect(await known.url(content, { mediaType: "image/png", expiresInMs: 1_000 })).toBeUndefined();
  await expect(new Blobs(stores).knownUses("a")).rejects.toMatchObject(unknown);
  await new Blobs(stores, { elsewhere: storage }).releaseAll("a", undefined);
  expect(contents.size).toBe(0);
});
