import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { storedLeaves } from "../src/directory/tree.ts";
import { directory, leafThread, SECRET, setUp, sizes } from "./marked-scene.ts";

type Scene = ReturnType<typeof setUp>;

const HOUR_MS = 3_600_000;

/** A directory with several leaves, some of which were replaced. */
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

/** Sets the expiry of all leaves. */
async function withExpiry(scene: Scene): Promise<Scene> {
  const { root } = await scene.directories.read(directory);
  for (const { id } of storedLeaves(root.leaves))
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

  test("is written and compacted, and has no other leaves", async () => {
    const scene = await change(await filled());
    const { root: before } = await scene.directories.read(directory);
    for (let n = 20; n < 40; n++) await scene.write(`m${n}`, n - 30.5);
    await sort(scene);
    const { root } = await scene.directories.read(directory);
    expect(root.compactions).toBe(before.compactions + 1);
    expect(await scene.list()).toEqual(expected(scene));
    const stored: string[] = [];
    for await (const { threadId } of scene.stores.iterateThreads({ prefix: leafThread("") }))
      stored.push(threadId);
    expect(stored.sort()).toEqual(
      storedLeaves(root.leaves)
        .map(({ id }) => leafThread(id))
        .sort(),
    );
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

test("a list of a directory without a leaf skips the leaf, after it has read the root again", async () => {
  const scene = await filled();
  const { root } = await scene.directories.read(directory);
  const [, missing] = storedLeaves(root.leaves);
  if (!missing) throw new Error("the directory has too few leaves");
  await scene.stores.deleteThread(leafThread(missing.id));
  scene.driver.take();
  expect(await scene.list()).toHaveLength(scene.heads.size - missing.count);
  expect(scene.driver.take().filter((request) => request === "read d")).toHaveLength(2);
});
