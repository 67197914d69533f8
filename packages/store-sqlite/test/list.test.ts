import { DatabaseSync } from "node:sqlite";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { afterEach, expect, test, vi } from "vitest";
import { connectionOf } from "../src/clients/index.ts";
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

test("C16 a thread with a damaged row is reported, and does not hide the others", async () => {
  await using stores = open();
  for (const id of ["a", "b", "c", "d"]) await stores.open(id).addMessages([user(id)]);
  scratch.exec(`
    DELETE FROM scrollback_commits WHERE thread = (SELECT key FROM scrollback_threads WHERE id = 'b');
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
  const connection = connectionOf(raw);
  const all = vi.spyOn(connection, "all");
  prepareStatements(connection, "scrollback_");
  const [sql] = all.mock.calls.find(([text]) => text.includes("FROM scrollback_threads")) ?? [];
  const plan = raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all("a", "", 1);
  raw.close();
  const steps = plan.map(({ detail }) => String(detail)).join("; ");
  expect(steps).toMatch(/^SEARCH t USING INDEX sqlite_autoindex_scrollback_threads_1 \(id>\?\)/);
  expect(steps).not.toMatch(/SCAN|TEMP B-TREE/);
});
