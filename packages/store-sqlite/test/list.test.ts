import { DatabaseSync } from "node:sqlite";
import type { StoreFactory, ThreadList } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { afterEach, expect, test, vi } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { prepareStatements } from "../src/statements.ts";
import { connect } from "./harness.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

afterEach(() => {
  vi.useRealTimers();
});

const open = (options = {}): StoreFactory => createSqliteStores({ url: scratch.url, ...options });

async function idsOf(stores: StoreFactory, prefix = "", limit = 3): Promise<string[]> {
  const ids: string[] = [];
  for await (const { threadId } of stores.iterateThreads({ prefix, limit })) ids.push(threadId);
  return ids;
}

test("C20 a prefix of any characters is literal text, and pages of any size return each thread once", async () => {
  await using stores = open();
  const ids = [
    ...["a", "A", "a%", "a%b", "a_", "a_b", "ab", "a*", "a?", "a[b]", "'", "';", "é", "e\u0301", " ", "10"],
    ...["a\0", "a\0b", "a\0b\0c", "\0", "\0\0", "\ud7ff", "\uffff", "😀", "😀b", "\u{10ffff}", "\u{10ffff}x"],
    "0".repeat(1_024),
  ];
  for (const id of ids) await stores.open(id).addMessages([user(id)]);
  for (const prefix of ["", "zz", ...ids]) {
    const expected = ids.filter((id) => id.startsWith(prefix)).sort();
    for (const limit of [1, 2, 3, 1_000]) {
      expect((await idsOf(stores, prefix, limit)).sort(), JSON.stringify({ prefix, limit })).toEqual(
        expected,
      );
    }
  }
});

test("C20 existing threads are listed once while others are written and deleted, also the one in the cursor", async () => {
  await using stores = open();
  await using others = open();
  const names = Array.from({ length: 60 }, (_, index) => `${index} ${index % 3 ? "stays" : "goes"}`);
  for (const name of names) await stores.open(name).addMessages([user("a")]);
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const page: ThreadList = await stores.listThreads({ limit: 4, ...(cursor !== undefined && { cursor }) });
    listed.push(...page.threads.map(({ threadId }) => threadId));
    cursor = page.cursor;
    for (const id of listed.filter((id) => id.endsWith("goes")).slice(-2)) await others.deleteThread(id);
    await others.open(`${listed.at(-1)}, new`).addMessages([user("new")]);
    await others.open(names[1] ?? "").addMessages([user("more")]);
  } while (cursor !== undefined && listed.length < 1_000);
  const staying = names.filter((name) => name.endsWith("stays"));
  expect(listed.filter((id) => id.endsWith("stays")).sort()).toEqual(staying.sort());
});

test("C20 expired threads are not listed, also while thousands of them wait for removal", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const brief = createStores(connect(scratch.path), { ttlMs: 1_000 });
  await using lasting = open();
  for (let index = 0; index < 40; index++) await brief.open(`brief-${index}`).addMessages(users(300));
  await lasting.open("a").addMessages([user("a")]);
  await lasting.open("z").addMessages([user("z")]);
  expect(await idsOf(lasting)).toHaveLength(42);
  vi.advanceTimersByTime(1_000);
  await lasting.open("brief-3").addMessages([user("anew")]);
  // Its old rows await deletion under an id of digits.
  expect(scratch.query("SELECT id FROM scrollback_threads WHERE length(id) > 1024")).toHaveLength(1);
  expect(await idsOf(lasting)).toEqual(["a", "brief-3", "z"]);
  expect(await idsOf(lasting, "0")).toEqual([]);
  // A page reads as many rows as it may contain threads, so some pages are empty.
  const page = await lasting.listThreads({ prefix: "brief-", limit: 10 });
  expect(page).toMatchObject({ threads: [], cursor: expect.any(String) });
  await brief.close();
});

test("C20 a page returns each thread's fields, and ends early after much metadata", async () => {
  await using stores = open({ ttlMs: 60_000 });
  const metadata = "x".repeat(250_000);
  for (let index = 10; index < 50; index++)
    await stores.open(`${index}`).commit({ append: users(2), metadata });
  const first = await stores.listThreads({ limit: 1_000 });
  expect(first.threads.length).toBeGreaterThan(10);
  expect(first.threads.length).toBeLessThan(20);
  const { createdAt, updatedAt, expiresAt } = await stores.open("10").read();
  expect(first.threads[0]).toEqual({ threadId: "10", count: 2, createdAt, updatedAt, expiresAt, metadata });
  expect(await idsOf(stores, "", 1_000)).toHaveLength(40);
});

test("C20 an invalid cursor, or one of another prefix, is rejected", async () => {
  await using stores = open();
  for (const id of ["a1", "a2", "b1", "b2"]) await stores.open(id).addMessages([user(id)]);
  const { cursor = "" } = await stores.listThreads({ prefix: "a", limit: 1 });
  const invalid = ["a1", "after.", "after.*", `${cursor}=`, ` ${cursor}`, "after._w", "0", "{}"];
  for (const attempt of invalid) {
    expect(await failure(stores.listThreads({ cursor: attempt })), attempt).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  expect(await failure(stores.listThreads({ prefix: "b", cursor }))).toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect((await stores.listThreads({ prefix: "a", cursor })).threads).toMatchObject([{ threadId: "a2" }]);
});

test("C20 two table prefixes list separate threads", async () => {
  await using stores = open();
  await using others = open({ tablePrefix: "others_" });
  await stores.open("ours").addMessages([user("a")]);
  await others.open("theirs").addMessages([user("a")]);
  expect(await idsOf(stores)).toEqual(["ours"]);
  expect(await idsOf(others)).toEqual(["theirs"]);
});

test("C16 a thread with a damaged row is reported, and does not hide the others", async () => {
  await using stores = open();
  for (const id of ["a", "b", "c", "d"]) await stores.open(id).addMessages([user(id)]);
  scratch.exec(`
    UPDATE scrollback_threads SET created_at = 9223372036854775807 WHERE id = 'b';
    UPDATE scrollback_commits SET first = 9 WHERE thread = (SELECT key FROM scrollback_threads WHERE id = 'c')`);
  expect(await failure(stores.listThreads())).toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining('"b"'),
  });
  const reported: string[] = [];
  await using lenient = open({ onCorruptRecord: (error: Error) => reported.push(error.message) });
  expect(await idsOf(lenient)).toEqual(["a", "d"]);
  expect(reported).toEqual([expect.stringContaining('"b"'), expect.stringContaining('"c"')]);
});

test("a page scans the index of ids, and finds the newest commit of each thread by its key", async () => {
  await using stores = open();
  await stores.setup();
  const raw = new DatabaseSync(scratch.path);
  const { sourceSQL } = prepareStatements(raw, "scrollback_").selectThreads;
  const plan = raw.prepare(`EXPLAIN QUERY PLAN ${sourceSQL}`).all("a", "", 1);
  raw.close();
  const steps = plan.map(({ detail }) => String(detail)).join("; ");
  expect(steps).toMatch(/^SEARCH t USING INDEX sqlite_autoindex_scrollback_threads_1 \(id>\?\)/);
  expect(steps).not.toMatch(/SCAN|TEMP B-TREE/);
});
