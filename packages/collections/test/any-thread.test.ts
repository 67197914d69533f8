import { createMemoryStores, StoreError, type StoreFactory, type StoreIndex } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { iterateEntries, removeAnyThread } from "../src/index.ts";
import { isLost, type ListedEntry, listAgain, missingEntries } from "../src/lists/any-thread.ts";

const listedIn = (places: Record<string, string>, left?: Record<string, string>) => ({
  ...{ key: "k", order: 1, in: places },
  ...(left && { left }),
});

/** A thread "t" that is listed in "i" by the entry "e". */
async function fill(): Promise<{ stores: StoreFactory; revision: string }> {
  const stores = createMemoryStores();
  const listed = listedIn({ i: "e" });
  const value = { threadId: "t", listed, told: "its title" };
  await stores.index("i").insert({ key: "k", id: "e" }, { version: 1, order: 1, value });
  const revision = await stores.open("t").commit({ metadata: { listed } });
  return { stores, revision: String(revision) };
}

/** The same stores, but for some methods. */
function withMethods(stores: StoreFactory, methods: Partial<StoreFactory>): StoreFactory {
  const made: StoreFactory = { ...stores, ...methods, withTraits: () => made as StoreFactory<never> };
  return made;
}

async function entriesIn(stores: StoreFactory) {
  const found: ListedEntry[] = [];
  for await (const one of iterateEntries(stores)) found.push(one);
  return found;
}

async function metadataIn(stores: StoreFactory) {
  return (await stores.open("t").read()).metadata as { listed: ReturnType<typeof listedIn> };
}

test("a thread that changed before its deletion stays listed", async () => {
  const { stores, revision } = await fill();
  await stores.open("t").addMessages([{ role: "user", content: "more" }]);
  const at = { expectedRevision: revision };
  await expect(removeAnyThread(stores, "t", at)).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await entriesIn(stores)).toMatchObject([{ entry: { id: "e", version: 1 } }]);
});

test("a thread that changed while it was deleted is listed again", async () => {
  const { stores, revision } = await fill();
  const racing = withMethods(stores, {
    async deleteThread(threadId, options) {
      await stores.open(threadId).addMessages([{ role: "user", content: "more" }]);
      await stores.deleteThread(threadId, options);
    },
  });
  const at = { expectedRevision: revision };
  await expect(removeAnyThread(racing, "t", at)).rejects.toMatchObject({ code: "CONFLICT" });
  const { listed } = await metadataIn(stores);
  expect(await missingEntries(stores, "t", listed)).toEqual([]);
  expect(await entriesIn(stores)).toMatchObject([{ threadId: "t", entry: { id: listed.in.i } }]);
});

test("a thread that changes while it is listed again keeps no entry that it does not name", async () => {
  const { stores } = await fill();
  await stores.index("i").remove({ key: "k", id: "e" });
  const racing = withMethods(stores, {
    index(name) {
      const index = stores.index(name);
      const insert: StoreIndex["insert"] = async (...call) => {
        await stores.open("t").addMessages([{ role: "user", content: "more" }]);
        return await index.insert(...call);
      };
      return { ...index, insert };
    },
  });
  expect(await listAgain(racing, "t")).toBe(true);
  expect(await entriesIn(stores)).toEqual([]);
  expect(await listAgain(stores, "t")).toBe(true);
  expect(await listAgain(stores, "t")).toBe(false);
  expect(await entriesIn(stores)).toHaveLength(1);
});

test("an entry is lost only if it is there and no readable thread names it", async () => {
  const { stores } = await fill();
  const [found] = await entriesIn(stores);
  if (!found) throw new Error("there is no entry");
  const isNow = async (metadata: object) => {
    await stores.open("t").commit({ metadata });
    return await isLost(stores, found);
  };
  expect(await isLost(stores, found)).toBe(false);
  expect(await isNow({ listed: listedIn({ other: "f" }, { i: "e" }) })).toBe(false);
  expect(await isNow({ listed: listedIn({ i: "f" }) })).toBe(true);
  expect(await isNow({ listed: { ...listedIn({ i: "e" }), key: "of another" } })).toBe(true);
  expect(await isNow({ another: "program's" })).toBe(false);
  expect(await isLost(unreadable(stores), found)).toBe(false);
  await stores.index("i").remove({ key: "k", id: "e" });
  expect(await isLost(stores, found)).toBe(false);
});

/** Stores whose threads cannot be read. */
function unreadable(stores: StoreFactory): StoreFactory {
  return withMethods(stores, {
    open: (threadId) =>
      Object.assign(Object.create(stores.open(threadId)), {
        read: async () => {
          throw new StoreError("CORRUPT", "unreadable");
        },
      }),
  });
}

test("an index that has lost a part has no entry of a thread", async () => {
  const { stores } = await fill();
  const evicted = withMethods(stores, {
    index: (name) => ({
      ...stores.index(name),
      entriesOf: async () => {
        throw new StoreError("CORRUPT", "lost a part");
      },
    }),
  });
  expect(await missingEntries(evicted, "t", listedIn({ i: "e" }))).toEqual(["i"]);
});
