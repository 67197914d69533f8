import { createMemoryStores, createStores, MemoryDriver, type StoreFactory } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { storedLeaves } from "../src/directory/tree.ts";
import { MarkedDirectories, systemDirectoryClock } from "../src/index.ts";
import { directory, leafThread, SECRET, setUp, sizes } from "./marked-scene.ts";

withoutChance();

/** The content of all threads with a prefix. */
async function contents(stores: StoreFactory, prefix: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { threadId } of stores.iterateThreads({ prefix }))
    found.set(threadId, JSON.stringify(await stores.open(threadId).read()));
  return found;
}

test("a directory is not removed while a member that was created again has two entries", async () => {
  const { directories, list, heads } = setUp();
  const create = (incarnation: string) =>
    directories.write(directory, { key: ["a"], incarnation }, async () => {
      const head = { incarnation, version: 1, order: 1, value: incarnation };
      heads.set("a", head);
      return { ...head, was: null };
    });
  await create("i");
  // The first incarnation expired.
  await create("j");
  await directories.flush();
  expect(await directories.removeDirectory(directory)).toBe(false);
  expect(await list()).toEqual(["j"]);
});

test("a directory and its leaves expire after all members, whatever their writers' ttlMs", async () => {
  let now = 1_700_000_000_000;
  const driver = new MemoryDriver({ clock: { wall: () => now } });
  const clock = { ...systemDirectoryClock, wall: () => now };
  const of = (ttlMs?: number) => {
    const stores = createStores(driver, ttlMs === undefined ? {} : { ttlMs });
    return new MarkedDirectories<string>({ stores, leafThread, clock }, { sizes });
  };
  const write = async (directories: MarkedDirectories<string>, key: string, order: number) => {
    await directories.write(directory, { key: [key], incarnation: "i" }, async () => ({
      ...{ order, version: 1, value: key },
      was: null,
    }));
    await directories.flush();
  };
  const [short, long, endless] = [of(60_000), of(3_600_000), of()];
  for (let n = 0; n < 10; n++) await write(long, `long ${n}`, n);
  for (let n = 10; n < 20; n++) await write(short, `short ${n}`, n);
  await short.compact(directory);
  const { root, expiresAt } = await short.read(directory);
  expect(expiresAt).toBe(now + 3_600_000 + 600_000);
  expect(storedLeaves(root.leaves).length).toBeGreaterThan(0);
  for (const { id } of storedLeaves(root.leaves))
    expect((await createStores(driver).open(leafThread(id)).read()).expiresAt).toBe(expiresAt);
  const threads = async () => (await createStores(driver).listThreads()).threads.length;
  now += 3_600_000;
  expect(await threads()).toBeGreaterThan(1);
  now += 600_000;
  expect(await threads()).toBe(0);

  await write(endless, "endless", 1);
  for (let n = 0; n < 20; n++) await write(short, `short ${n}`, n);
  await short.compact(directory);
  now += 365 * 86_400_000;
  const request = { limit: 100, read: async () => undefined };
  expect((await short.page(directory, request)).entries.map(({ value }) => value)).toContain("endless");
});

describe("a list", () => {
  test("shows each write at once, from any process and independent of its note", async () => {
    const { stores, write, read, list } = setUp();
    const other = new MarkedDirectories<string>({ stores, leafThread });
    await write("a", 1);
    await write("b", 2);
    await write("a", 3);
    expect((await other.page(directory, { limit: 10, read })).entries.map(({ value }) => value)).toEqual([
      "a",
      "b",
    ]);
    expect(await list({ direction: "asc" })).toEqual(["b", "a"]);
  });

  test("pages with a filter, and rejects tokens of another direction or filter", async () => {
    const { directories, write, read } = setUp({ sizes });
    for (let n = 0; n < 40; n++) await write(`m${String(n).padStart(2, "0")}`, n % 5);
    await directories.flush();
    await directories.compact(directory);
    const request = {
      limit: 3,
      read,
      filterName: "even",
      filter: ({ value }: { value: string }) => Number(value.slice(1)) % 2 === 0,
    };
    const found: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await directories.page(directory, { ...request, pageToken });
      found.push(...page.entries.map(({ value }) => value));
      pageToken ??= page.nextPageToken;
      for (const invalid of [{ direction: "asc" as const }, { filterName: "odd" }]) {
        const again = directories.page(directory, {
          ...request,
          pageToken: page.nextPageToken ?? "x",
          ...invalid,
        });
        await expect(again).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    expect(found).toHaveLength(20);
    expect(new Set(found).size).toBe(20);
  });

  test("omits expired members", async () => {
    const { directories, read } = setUp();
    for (const [key, expiresAt] of [
      ["gone", 1_000],
      ["there", Date.now() + 60_000],
    ] as const) {
      const written = { order: 1, version: 1, value: key, expiresAt };
      await directories.write(directory, { key: [key], incarnation: "i" }, async () => written);
    }
    await directories.flush();
    const page = await directories.page(directory, { limit: 9, read });
    expect(page.entries.map(({ value }) => value)).toEqual(["there"]);
    await directories.flush();
    expect(JSON.stringify(await directories.read(directory))).not.toContain("gone");
  });

  test("shows a member again whose expiry was moved without a note", async () => {
    const { directories, heads, read } = setUp();
    const head = { incarnation: "i", order: 1, version: 1, value: "a" };
    await directories.write(directory, { key: ["a"], incarnation: "i" }, async () => ({
      ...head,
      expiresAt: 1_000,
    }));
    heads.set("a", head);
    await directories.flush();
    const list = async () => (await directories.page(directory, { limit: 9, read })).entries.length;
    expect(await list()).toBe(0);
    await directories.flush();
    expect(await list()).toBe(1);
  });

  test("and a compaction do not extend the expiry of a directory", async () => {
    const driver = new MemoryDriver();
    const of = (options: object) =>
      new MarkedDirectories<string>({ stores: createStores(driver, options), leafThread }, { sizes });
    const [brief, endless] = [of({ ttlMs: 60_000 }), of({})];
    for (let n = 0; n < 20; n++)
      await brief.write(directory, { key: [`m${n}`], incarnation: "i" }, async () => ({
        ...{ order: n, version: 1, value: "x", was: null },
        ...(n < 5 && { expiresAt: 1_000 }),
      }));
    await brief.flush();
    const { expiresAt } = await brief.read(directory);
    expect((await endless.page(directory, { limit: 100, read: async () => undefined })).entries).toHaveLength(
      15,
    );
    await endless.flush();
    await endless.compact(directory);
    const { root, notes, ...after } = await endless.read(directory);
    expect(notes).toEqual([]);
    expect(after.expiresAt).toBe(expiresAt);
    const stored = storedLeaves(root.leaves);
    expect(stored.length).toBeGreaterThan(0);
    for (const { id } of stored) {
      const leaf = await createStores(driver).open(leafThread(id)).read();
      expect(Math.abs((leaf.expiresAt ?? 0) - (expiresAt ?? 0))).toBeLessThan(1_000);
    }
  });
});

describe("a failed write", () => {
  test("that wrote nothing does not change the entry; one with an unknown outcome makes lists read the member", async () => {
    const { directories, write, list, reads } = setUp();
    await write("a", 1);
    await directories.flush();
    const failing = (code: string) =>
      directories.write(directory, { key: ["a"], incarnation: "i" }, () =>
        Promise.reject(Object.assign(new Error("failed"), { code })),
      );
    const { StoreError } = await import("@scrollback/store-core");
    const conflict = directories.write(directory, { key: ["a"], incarnation: "i" }, () =>
      Promise.reject(new StoreError("CONFLICT", "no")),
    );
    await expect(conflict).rejects.toMatchObject({ code: "CONFLICT" });
    await directories.flush();
    await list();
    expect(reads).toEqual([]);
    await expect(failing("ECONNRESET")).rejects.toThrow("failed");
    await directories.flush();
    await list();
    expect(reads).toEqual(["a"]);
  });
});

test("a late note of a removed member leaves no value, even if another mark is written with it", async () => {
  const { stores, directories, heads } = setUp();
  const late = new MarkedDirectories<string>({ stores, leafThread });
  const member = { key: ["a"], incarnation: "i" };
  await late.write(directory, member, async () => ({ order: 1, version: 1, value: SECRET, was: null }));
  await directories.remove(directory, { ...member, order: 1 }, async () => undefined);
  heads.delete("a");
  const other = { order: 2, version: 1, value: "b", was: null };
  await late.write(directory, { key: ["b"], incarnation: "j" }, async () => other);
  await late.flush();
  expect(JSON.stringify(await stores.open(directory).read())).not.toContain(SECRET);
});

describe("remove and purge", () => {
  test("leave no data of the member at rest, neither in notes nor in any leaf", async () => {
    const { directories, driver, stores, write, remove, list } = setUp({ sizes });
    for (let n = 0; n < 20; n++) await write(`m${n}`, n);
    await write("victim", 7.5, SECRET);
    await directories.flush();
    await directories.compact(directory);
    await write("victim", 3.5, SECRET);
    for (let n = 0; n < 8; n++) await write(`m${n}`, n + 0.1);
    await directories.flush();
    // A process dies before it has replaced the root. Its leaves contain the member too.
    const dying = new WatchedDriver(driver);
    dying.writesLeft = 4;
    const other = new MarkedDirectories<string>({ stores: createStores(dying), leafThread }, { sizes });
    await Promise.race([other.compact(directory), dying.death]);
    const leaves = [...(await contents(stores, leafThread(""))).values()];
    expect(leaves.filter((content) => content.includes(SECRET))).toHaveLength(2);
    await directories.compact(directory);
    await write("victim", 12.5, SECRET);
    expect(await list()).toContain(SECRET);
    await remove("victim");
    await directories.flush();
    expect(await list()).toHaveLength(20);
    const { root } = await directories.read(directory);
    const stored = await contents(stores, leafThread(""));
    expect([...stored.keys()].sort()).toEqual(
      storedLeaves(root.leaves)
        .map(({ id }) => leafThread(id))
        .sort(),
    );
    expect([...stored.values()].join()).not.toContain(SECRET);
    expect(JSON.stringify(await stores.open(directory).read())).not.toMatch(/victim|nobody/);
    expect(driver.requests.some((request) => request === "delete leaf")).toBe(true);
    // All members are still at their positions.
    expect(await list({ direction: "asc" })).toHaveLength(20);
  });

  test("allow a removed member to be created again, and ignore late notes of the old one", async () => {
    const { stores, directories, heads, read } = setUp();
    const slow = new MarkedDirectories<string>({ stores, leafThread });
    const head = { incarnation: "first", version: 1, order: 1, value: "first" };
    await slow.write(directory, { key: ["a"], incarnation: "first" }, async () => head);
    await directories.remove(
      directory,
      { key: ["a"], incarnation: "first", order: 1 },
      async () => undefined,
    );
    const again = { incarnation: "second", version: 1, order: 2, value: "second" };
    heads.set("a", again);
    await directories.write(directory, { key: ["a"], incarnation: "second" }, async () => again);
    await directories.flush();
    await slow.flush();
    const values = async () =>
      (await directories.page(directory, { limit: 9, read })).entries.map(({ value }) => value);
    expect(await values()).toEqual(["second"]);
  });

  test("find a member that another process moved without a note so far", async () => {
    const { stores, directories, heads, write, remove, list } = setUp({ sizes });
    for (let n = 0; n < 40; n++) await write(`m${n}`, n);
    await directories.flush();
    await directories.compact(directory);
    // This process knows the current position of the member. The leaf has the position before both moves.
    const slow = new MarkedDirectories<string>({ stores, leafThread });
    const moved = { incarnation: "i", version: 2, order: 20.5, value: "m3", was: 3 };
    await slow.write(directory, { key: ["m3"], incarnation: "i" }, async () => moved);
    heads.set("m3", moved);
    await write("m3", 35.5);
    await remove("m3");
    expect(await list()).toHaveLength(39);
    await slow.flush();
    await directories.compact(directory);
    expect(await list()).not.toContain("m3");
  });

  test("are batched if concurrent", async () => {
    const { driver, directories, write, remove, list } = setUp({ sizes });
    for (let n = 0; n < 60; n++) await write(`m${n}`, n);
    await directories.flush();
    await directories.compact(directory);
    driver.take();
    await Promise.all(Array.from({ length: 40 }, (_, n) => remove(`m${n}`)));
    // The marks, the first purge, one more purge for all deletions in the meantime, and compactions that lost against them.
    expect(driver.take().filter((request) => request === "commit d").length).toBeLessThan(12);
    expect(await list()).toHaveLength(20);
  });

  test("delete a directory without members, but not one with members or open marks", async () => {
    const { directories, stores, write, remove } = setUp({ sizes });
    expect(await directories.removeDirectory(directory)).toBe(true);
    for (let n = 0; n < 9; n++) await write(`m${n}`, n);
    expect(await directories.removeDirectory(directory)).toBe(false);
    await directories.flush();
    await directories.compact(directory);
    expect(await directories.removeDirectory(directory)).toBe(false);
    for (let n = 0; n < 9; n++) await remove(`m${n}`);
    expect(await directories.removeDirectory(directory)).toBe(true);
    expect((await stores.open(directory).read()).revision).toBeNull();
  });
});

describe("a directory that is removed and created again during a compaction", () => {
  /** Two processes, of which the slow one does something else before its next commit. */
  async function racing(meanwhile: (scene: Scene) => Promise<void>) {
    const scene = setUp({ sizes });
    const slow = new WatchedDriver(scene.driver);
    const other = new MarkedDirectories<string>({ stores: createStores(slow), leafThread }, { sizes });
    const { heads, remove, directories } = scene;
    const start = () => {
      slow.beforeCommit = async () => {
        for (const key of [...heads.keys()]) await remove(key);
        await directories.flush();
        expect(await directories.removeDirectory(directory)).toBe(true);
        await meanwhile(scene);
      };
    };
    return { ...scene, other, start };
  }
  type Scene = ReturnType<typeof setUp>;
  const write = async ({ directories, write }: Scene, keys: string) => {
    for (const [order, key] of [...keys].entries()) await write(key, order);
    await directories.flush();
  };

  test("has only the new members, if it had no leaves before", async () => {
    const scene = await racing((scene) => write(scene, "c"));
    await write(scene, "ab");
    await write(scene, "ab");
    scene.start();
    await scene.other.compact(directory);
    expect(await scene.list()).toEqual(["c"]);
  });

  test("has only the new members, if it was compacted as often as before", async () => {
    const compacted = async (scene: Scene, keys: string) => {
      await write(scene, keys);
      await write(scene, keys);
      await scene.directories.compact(directory);
      expect(await scene.directories.read(directory)).toMatchObject({ notes: [], root: { compactions: 1 } });
    };
    const scene = await racing((scene) => compacted(scene, "cd"));
    await compacted(scene, "ab");
    scene.start();
    await scene.other.purge(directory, { key: ["a"], incarnation: "i", order: 0 });
    expect(await scene.list()).toEqual(["d", "c"]);
  });
});

test("a compaction during which values that JSON lacks are noted succeeds", async () => {
  const driver = new WatchedDriver(new MemoryDriver());
  const stores = createStores(driver);
  // The root holds all entries, so the first commit is that of the root.
  const internals = { sizes: { ...sizes, maxInline: 8 } };
  const directories = new MarkedDirectories<bigint>({ stores, leafThread }, internals);
  const note = (n: number) => directories.note(directory, [`m${n}`], { order: n, value: BigInt(n), was: n });
  for (let n = 0; n < 4; n++) await note(n);
  driver.beforeCommit = () => note(4);
  await directories.compact(directory);
  expect((await directories.read(directory)).root.compactions).toBe(1);
  const { entries } = await directories.page(directory, { limit: 9, read: async () => undefined });
  expect(entries.map(({ value }) => value)).toEqual([4n, 3n, 2n, 1n, 0n]);
});

test("a member that was moved without its previous order number is listed once, after a compaction", async () => {
  const { directories, heads, write, list } = setUp({ sizes });
  for (let n = 0; n < 40; n++) await write(`m${n}`, n);
  await directories.flush();
  await directories.compact(directory);
  const moved = { incarnation: "i", version: 2, order: 30.5, value: "m3" };
  heads.set("m3", moved);
  await directories.write(directory, { key: ["m3"], incarnation: "i" }, async () => moved);
  await write("m30", 30, "m30");
  await write("m31", 31, "m31");
  await directories.flush();
  await directories.compact(directory);
  expect((await directories.read(directory)).root.compactions).toBe(2);
  expect((await list()).filter((value) => value === "m3")).toHaveLength(1);
  expect(await list()).toHaveLength(40);
});

test("a page includes expired members on request", async () => {
  const { directories, read } = setUp();
  const written = { order: 1, version: 1, value: "gone", expiresAt: 1_000, was: null };
  await directories.write(directory, { key: ["a"], incarnation: "i" }, async () => written);
  await directories.flush();
  const values = async (includesExpired: boolean) =>
    (await directories.page(directory, { limit: 9, read, includesExpired })).entries.map(
      ({ value }) => value,
    );
  expect(await values(false)).toEqual([]);
  expect(await values(true)).toEqual(["gone"]);
});

test("a directory of expired members is removed with their leaves", async () => {
  const { stores, directories } = setUp({ sizes });
  for (let n = 0; n < 20; n++) {
    const written = { order: n, version: 1, value: "", expiresAt: Date.now() - 60_000 };
    await directories.write(directory, { key: [`m${n}`], incarnation: "i" }, async () => written);
  }
  await directories.flush();
  await directories.compact(directory);
  expect((await contents(stores, leafThread(""))).size).toBeGreaterThan(0);
  expect(await directories.removeDirectory(directory)).toBe(true);
  expect((await contents(stores, "")).size).toBe(0);
});

test("members without a thread are noted, moved and purged", async () => {
  const { directories, list } = setUp({ sizes });
  for (let n = 0; n < 20; n++)
    await directories.note(directory, [`m${n}`], { order: n, value: `m${n}`, was: n });
  await directories.compact(directory);
  await directories.note(directory, ["m3"], { order: 50, value: "moved", was: 3 });
  await directories.note(directory, ["m4"], { order: 51, value: "moved too" });
  expect((await list()).slice(0, 3)).toEqual(["moved too", "moved", "m19"]);
  await directories.note(directory, ["m5"], { order: 5, value: "m5", was: 5 });
  await directories.note(directory, ["m6"], { order: 6, value: "m6", was: 6 });
  await directories.compact(directory);
  expect(await list()).toHaveLength(20);
  await directories.purge(directory, { key: ["m3"] });
  await directories.purge(directory, { key: ["m3"] });
  expect(await list()).toHaveLength(19);
  expect(await list()).not.toContain("moved");
});

test("invalid input is refused before any I/O", async () => {
  const stores = createMemoryStores();
  const make = (options: object) => () => new MarkedDirectories(options as never);
  expect(make({ stores: createMemoryStores({ maxMessages: 9 }), leafThread })).toThrow(/maxMessages/);
  expect(make({ stores: {}, leafThread })).toThrow(/stores/);
  expect(make({ stores })).toThrow(/leafThread/);
  expect(make({ stores, leafThread, holdMs: -1 })).toThrow(/holdMs/);
  const directories = new MarkedDirectories<string>({ stores, leafThread });
  const member = { key: ["a"], incarnation: "i" };
  const never = () => Promise.reject(new Error("was called"));
  await stores.close();
  const calls = [
    directories.write("", member, never),
    directories.write(directory, { ...member, key: [] }, never),
    directories.write(directory, { ...member, incarnation: "x".repeat(65) }, never),
    directories.remove(directory, { ...member, order: Number.NaN }, never),
    directories.note(directory, ["a"], { order: Number.POSITIVE_INFINITY, value: "" }),
    directories.purge(directory, { key: [""] }),
    directories.page(directory, { limit: 0, read: never }),
    directories.page(directory, { limit: 1_001, read: never }),
    directories.page(directory, { limit: 1 } as never),
    directories.page(directory, { limit: 1, read: never, pageToken: "x" }),
    directories.removeDirectory(""),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const large = { order: 1, value: "x".repeat(9_000) };
  await expect(directories.note(directory, ["a"], large)).rejects.toMatchObject({ code: "TOO_LARGE" });
});
