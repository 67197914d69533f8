import { createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { markedLayout } from "../src/directory/marked-notes.ts";
import { storedLeaves, Tree } from "../src/directory/tree.ts";
import { envelope } from "../src/envelope.ts";
import { directory, leafThread, SECRET, setUp, sizes } from "./marked-scene.ts";

type Scene = ReturnType<typeof setUp>;

/** The content of a leaf that another compaction has written. */
const overwriting = envelope("user", { token: "another", entries: [] });
const HOUR_MS = 3_600_000;

/** A directory with several leaves, retired leaves, and a member whose entries are in leaves of both kinds. */
async function filled(): Promise<Scene> {
  const scene = setUp({ sizes });
  const { directories, write } = scene;
  for (let n = 0; n < 40; n++) await write(`m${n}`, n);
  await write("victim", 7.5, SECRET);
  await sort(scene);
  await write("victim", 3.5, SECRET);
  for (let n = 0; n < 8; n++) await write(`m${n}`, n + 0.1);
  await sort(scene);
  const { root } = await directories.read(directory);
  expect(storedLeaves(root.leaves).length).toBeGreaterThan(3);
  expect(root.retired.length).toBeGreaterThan(0);
  return scene;
}

async function sort({ directories }: Scene): Promise<void> {
  await directories.flush();
  await directories.compact(directory);
  expect((await directories.read(directory)).notes).toEqual([]);
}

async function copied({ stores, heads, directories }: Scene, target: StoreFactory): Promise<Scene> {
  await directories.flush();
  for await (const { threadId } of stores.iterateThreads())
    await stores.copyThread(threadId, threadId, { target });
  return setUp({ sizes, stores: target, heads: new Map(heads) });
}

/** Sets the expiry of all leaves, which changes their revisions. */
async function withExpiry(scene: Scene): Promise<Scene> {
  const { root } = await scene.directories.read(directory);
  for (const { id } of [...storedLeaves(root.leaves), ...root.retired])
    expect(await scene.stores.open(leafThread(id)).expire(HOUR_MS)).not.toBeNull();
  return scene;
}

async function contentOf(stores: StoreFactory): Promise<string> {
  const pages: unknown[] = [];
  for await (const { threadId } of stores.iterateThreads()) pages.push(await stores.open(threadId).read());
  return JSON.stringify(pages);
}

const expected = ({ heads }: Scene) =>
  [...heads].sort(([, a], [, b]) => b.order - a.order).map(([, { value }]) => value);

function sqliteStores(): StoreFactory {
  const stores = createSqliteStores({ url: scratchUrl() });
  onTestFinished(() => stores.close());
  return stores;
}

const changes: Record<string, (scene: Scene) => Promise<Scene>> = {
  "copied to memory stores": (scene) => copied(scene, createMemoryStores()),
  "copied to SQLite": (scene) => copied(scene, sqliteStores()),
  "copied to SQLite and back to other memory stores": async (scene) => {
    const middle = await copied(scene, sqliteStores());
    return await copied(middle, createMemoryStores());
  },
  "whose leaves were given an expiry": withExpiry,
};

describe.each(Object.entries(changes))("a directory %s", (_name, change) => {
  withoutChance();

  test("lists the same", async () => {
    const scene = await change(await filled());
    const values = expected(scene);
    expect(await scene.list()).toEqual(values);
    expect(await scene.list({ direction: "asc" })).toEqual(values.toReversed());
    expect(scene.reads).toEqual([]);
  });

  test("is written and compacted, over its retired leaves", async () => {
    const scene = await change(await filled());
    const { root: before } = await scene.directories.read(directory);
    for (let n = 20; n < 40; n++) await scene.write(`m${n}`, n - 30.5);
    await sort(scene);
    const { root } = await scene.directories.read(directory);
    expect(root.compactions).toBe(before.compactions + 1);
    const used = storedLeaves(root.leaves).map(({ id }) => id);
    expect(used).toEqual(expect.arrayContaining(before.retired.map(({ id }) => id)));
    expect(await scene.list()).toEqual(expected(scene));
  });

  test("has no data of a purged member", async () => {
    const scene = await change(await filled());
    expect(await contentOf(scene.stores)).toContain(SECRET);
    await scene.remove("victim");
    await scene.directories.flush();
    expect(await contentOf(scene.stores)).not.toContain(SECRET);
    expect(await scene.list()).toEqual(expected(scene));
  });

  test("is removed with all of its leaves", async () => {
    const scene = await change(await filled());
    for (const key of [...scene.heads.keys()]) await scene.remove(key);
    await scene.directories.flush();
    expect(await scene.directories.removeDirectory(directory)).toBe(true);
    expect(await contentOf(scene.stores)).toBe("[]");
  });
});

describe("a change of a copied leaf", () => {
  withoutChance();

  /** A tree of a copied directory, and one of its leaves. */
  async function treeAndLeaf() {
    const { stores, directories } = await copied(await filled(), createMemoryStores());
    const [leaf] = storedLeaves((await directories.read(directory)).root.leaves);
    if (!leaf) throw new Error("the directory has no leaf");
    return {
      tree: new Tree(stores, markedLayout<string>(leafThread)),
      leaf,
      thread: stores.open(leafThread(leaf.id)),
    };
  }

  test("does not happen if the leaf is overwritten after its revision was read", async () => {
    const { tree, leaf, thread } = await treeAndLeaf();
    const tried: unknown[] = [];
    const result = await tree.changeLeaf(leaf, async (threadId, expectedRevision) => {
      tried.push(expectedRevision);
      if (tried.length === 2) await thread.replaceMessages([overwriting]);
      return await tree.stores.deleteThread(threadId, { expectedRevision });
    });
    expect(result).toBeUndefined();
    expect(tried).toHaveLength(2);
    expect(await thread.listMessages()).toEqual([overwriting]);
  });

  test("is repeated if only the revision has changed, up to 10 times", async () => {
    const { tree, leaf, thread } = await treeAndLeaf();
    let attempts = 0;
    const change = (changes: number) =>
      tree.changeLeaf(leaf, async (threadId, expectedRevision) => {
        attempts += 1;
        if (attempts <= changes) await thread.expire(attempts * HOUR_MS);
        await tree.stores.deleteThread(threadId, { expectedRevision });
        return "deleted";
      });
    await expect(change(Number.POSITIVE_INFINITY)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(attempts).toBe(10);
    attempts = 0;
    expect(await change(8)).toBe("deleted");
    expect(attempts).toBe(9);
  });
});

test("a list of a directory without a leaf of the same writing fails after some attempts, as retryable", async () => {
  const scene = await filled();
  const { root } = await scene.directories.read(directory);
  for (const { id } of storedLeaves(root.leaves))
    await scene.stores.open(leafThread(id)).replaceMessages([overwriting]);
  await expect(scene.list()).rejects.toSatisfy(
    (error) => StoreError.is(error, "UNAVAILABLE") && error.retryable,
  );
});
