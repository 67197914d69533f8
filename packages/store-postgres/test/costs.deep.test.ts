import { setTimeout } from "node:timers/promises";
import { startServer } from "@scrollback/conformance/servers";
import type { StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";
import { user } from "./messages.ts";
import { type SentQuery, takeCalls, watchedDriver } from "./queries.ts";
import { makeSchema, type TestSchema } from "./schema.ts";
import { createVector } from "./vector.ts";

// These figures are also in docs/reference/store-postgres.md: a change of one is a change of both.

const server = startServer("postgres");
let used: TestSchema;
const drivers: PostgresDriver[] = [];

beforeAll(async () => {
  used = await makeSchema((await server).url);
  await createVector(used.url);
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
});
afterAll(async () => {
  await used[Symbol.asyncDispose]();
  await (await server).stop();
});

/** Stores of a process that knows no thread, and a record of its queries. */
function coldStores(options?: StoreOptions) {
  const { driver, sent } = watchedDriver(used);
  drivers.push(driver);
  return { stores: createStores(driver, options), sent };
}

const hello = [user("Hello")];
const sizeOf = ({ values = [] }: SentQuery) =>
  values.reduce<number>((sum, value) => sum + String(value).length, 0);

describe("a commit", () => {
  test("is one call, and after 20,000 messages the same one as after 10", async () => {
    const { stores, sent } = coldStores();
    const [short, long] = [stores.open(), stores.open()];
    for (let message = 0; message < 10; message++) await short.addMessages(hello);
    for (let batch = 0; batch < 20; batch++) await long.addMessages(Array(1_000).fill(user("Hello")));
    const sizes: number[] = [];
    for (const store of [short, long]) {
      sent.splice(0);
      await store.addMessages(hello);
      sizes.push(...sent.map(sizeOf));
      expect(takeCalls(sent)).toEqual(["commit_v1"]);
    }
    expect(sizes[1]).toBe(sizes[0]);
  });

  test("is one call to a new thread, to an unknown one, after another writer's, trimmed, and of 15 MiB", async () => {
    const { stores, sent } = coldStores({ maxMessages: 20 });
    const store = stores.open();
    await store.addMessages(hello);
    await coldStores().stores.open(store.threadId).addMessages(hello);
    for (let message = 0; message < 50; message++) await store.addMessages(hello);
    await store.addMessages(Array.from({ length: 5 }, () => user("x".repeat(3 * 1024 ** 2))));
    await store.clear();
    expect(new Set(takeCalls(sent))).toEqual(new Set(["commit_v1"]));
    expect(sent).toEqual([]);
  });

  test("takes a time that grows with its number of messages, and not with the square of it", async () => {
    const { stores } = coldStores();
    const timeOf = async (count: number) => {
      const messages = Array.from({ length: count }, (_, number) => user(`${number}`));
      const start = performance.now();
      await stores.open().addMessages(messages);
      return performance.now() - start;
    };
    const few = Math.min(await timeOf(2_000), await timeOf(2_000), await timeOf(2_000));
    expect(await timeOf(40_000)).toBeLessThan(60 * few);
  });

  test("is one call with its number of requests, also for a retry of it and for a conflict", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    const revision = await store.addMessages(hello, { operationId: "a" });
    await store.addMessages(hello, { operationId: "a" });
    await expect(store.addMessages(hello, { expectedRevision: null })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    await store.addMessages(hello, { expectedRevision: revision });
    expect(takeCalls(sent)).toEqual(Array(4).fill("commit_v1"));
  });

  test.each([
    ["", {}, 150],
    [" with trimming and expiry", { maxMessages: 20, ttlMs: 1e8 }, 155],
  ])("sends its texts and a bounded number of bytes more%s", async (_, options, bytes) => {
    const { stores, sent } = coldStores(options);
    const store = stores.open();
    for (let message = 0; message < 100; message++) await store.addMessages(hello);
    sent.splice(0);
    await store.addMessages(hello);
    const texts = String(sent[0]?.values?.[6] ?? "");
    expect(texts).toContain("Hello");
    // The thread's id has 36 bytes.
    const rest = sizeOf(sent[0] as SentQuery) - texts.length;
    expect(rest).toBeLessThanOrEqual(bytes);
    expect(rest).toBeGreaterThan(bytes - 60);
  });
});

test("reading, listing, deleting, and each verb of the index is one call", async () => {
  const { stores, sent } = coldStores();
  const prefix = `${crypto.randomUUID()}/`;
  for (let thread = 0; thread < 25; thread++)
    await stores.open(`${prefix}${thread}`).addMessages(Array(300).fill(user("Hello")));
  const { stores: cold, sent: calls } = coldStores();
  const store = cold.open(`${prefix}7`);
  for (const limit of [1, 20, 250]) expect(await store.listMessages({ limit })).toHaveLength(limit);
  expect(await store.listMessages()).toHaveLength(300);
  expect(takeCalls(calls)).toEqual(Array(4).fill("read_v1"));
  expect((await cold.listThreads({ prefix, limit: 10 })).threads).toHaveLength(10);
  expect(takeCalls(calls)).toEqual(["list_threads_v1"]);
  takeCalls(sent);
  await stores.deleteThread(store.threadId);
  expect(takeCalls(sent)).toEqual(["delete_v1"]);
  const index = cold.index("list");
  const place = { key: "a", id: "1" };
  await index.insert(place, { version: 0, order: 0, value: 1 });
  await index.update(place, { version: 1, order: 0, value: 2 });
  await index.entriesOf("a");
  await index.list({ limit: 10 });
  await index.nearest([1, 0]);
  await index.remove(place);
  expect(takeCalls(calls)).toEqual([
    "insert_entry_v1",
    "update_entry_v1",
    "entries_of_v1",
    "list_entries_v1",
    "nearest_entries_v1",
    "remove_entry_v1",
  ]);
});

test("a thread of 1,024 messages takes at most 1.3 times the bytes of a plain table with the same texts", async () => {
  const own = await makeSchema((await server).url);
  onTestFinished(() => own[Symbol.asyncDispose]());
  const { pool, quoted } = own;
  const { driver } = watchedDriver(own);
  drivers.push(driver);
  const store = createStores(driver).open(crypto.randomUUID());
  await pool.query(`CREATE TABLE ${quoted}.plain
    (thread text, sequence bigint, created_at timestamptz, role text, text text, PRIMARY KEY (thread, sequence))`);
  const append = async (numbers: readonly number[]) => {
    for (const number of numbers) {
      const message = user(`Message ${number}. `.repeat(25));
      await store.addMessages([message]);
      await pool.query(`INSERT INTO ${quoted}.plain VALUES ($1, $2, now(), 'user', $3)`, [
        store.threadId,
        number,
        JSON.stringify(message),
      ]);
    }
  };
  const numbers = Array.from({ length: 1_024 }, (_, index) => index);
  await append(numbers.slice(0, -64));
  // So that the operations before are no longer remembered.
  await setTimeout(10_500);
  await append(numbers.slice(-64));
  const bytes = async (tables: readonly string[]) => {
    let sum = 0;
    for (const table of tables) {
      await pool.query(`VACUUM FULL ${quoted}.${table}`);
      const { rows } = await pool.query("SELECT pg_total_relation_size($1::regclass)::int AS bytes", [
        `${quoted}.${table}`,
      ]);
      sum += rows[0].bytes;
    }
    return sum;
  };
  const ratio = (await bytes(["threads", "messages", "operations"])) / (await bytes(["plain"]));
  expect(ratio).toBeGreaterThan(0.8);
  expect(ratio).toBeLessThan(1.3);
}, 60_000);

describe("in tables of 20,000 rows", () => {
  /** The rows that each table's scans without an index and with one have read, on a connection that reports at once. */
  async function readRows(client: Client): Promise<{ sequential: Record<string, number>; byIndex: number }> {
    await client.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await client.query(
      "SELECT relname AS name, seq_scan::int AS scans, coalesce(idx_tup_fetch, 0)::int AS rows FROM pg_stat_user_tables WHERE schemaname = $1",
      [used.schema],
    );
    return {
      sequential: Object.fromEntries(rows.map(({ name, scans }) => [name, scans])),
      byIndex: rows.reduce((sum, { rows }) => sum + rows, 0),
    };
  }

  test("each verb uses the indexes, also with the plans that the server keeps", async () => {
    const client = new Client(used.url);
    await client.connect();
    await client.query(`INSERT INTO ${used.quoted}.threads
        (tenant, id, life, number, tag, created_at, updated_at, first, next, userless, startless, newest_compaction)
      SELECT '', 'thread ' || n, 'life ' || n, 1, 'tag', now(), now(), 1, 2, 1, 1, 0 FROM generate_series(1, 20000) AS n;
      INSERT INTO ${used.quoted}.messages SELECT '', 'life ' || n, 1, 'u', now(), '{}' FROM generate_series(1, 20000) AS n;
      INSERT INTO ${used.quoted}.operations SELECT '', 'life ' || n, sha256('x'), 1, 'tag', 'digest', now() FROM generate_series(1, 20000) AS n;
      ANALYZE`);
    const driver = new PostgresDriver(parseOptions({ client, schema: used.schema }).used);
    const stores = createStores(driver, { maxMessages: 300 });
    const store = stores.open();
    for (let batch = 0; batch < 10; batch++) await store.addMessages(Array(1_000).fill(user("Hello")));
    const index = stores.index("list");
    const entry = { version: 0, order: 0, value: 1, expiresAt: Date.now() + 3_600_000 };
    for (let id = 0; id < 300; id++)
      await index.insert({ key: `${id % 100}`, id: `${id}` }, { ...entry, order: id });
    await client.query(`INSERT INTO ${used.quoted}.entries
      SELECT '', chr(30) || 'place ' || n, 'index ' || n, 'key', 'id', 'sort', 1, 'value', now() + interval '1 h' FROM generate_series(1, 20000) AS n; ANALYZE`);
    const { cursor = "" } = await index.list({ direction: "down", limit: 100 });
    const cursorAt = (order: number) => index.cursorAfter({ key: "0", id: "0", order }, "up");
    const between = { after: cursorAt(10), before: cursorAt(20) };
    let number = 1_000;
    const verbs: Record<string, [run: () => Promise<unknown>, rows: number]> = {
      commit: [() => store.addMessages(hello), 40],
      "newest 20": [() => store.listMessages({ limit: 20 }), 60],
      listing: [() => stores.listThreads({ prefix: "thread 1", limit: 20 }), 60],
      deletion: [() => stores.deleteThread(`thread ${++number}`), 20],
      insert: [() => index.insert({ key: "new", id: `${++number}` }, entry), 20],
      update: [() => index.update({ key: "7", id: "7" }, { ...entry, version: ++number }), 20],
      "entries of a key": [() => index.entriesOf("7"), 20],
      "list of entries": [() => index.list({ direction: "down", limit: 20, cursor }), 60],
      nearest: [() => index.nearest([1, 0], between), 60],
      indexes: [() => stores.listIndexes({ prefix: "index 1", limit: 20 }), 60],
      remove: [() => index.remove({ key: "7", id: "absent" }), 20],
    };
    for (const [verb, [run, most]] of Object.entries(verbs)) {
      // From its sixth call on a connection, a statement can have a plan for all values.
      for (let call = 0; call < 12; call++) await run();
      const before = await readRows(client);
      await run();
      const after = await readRows(client);
      // Deletions are few, and have no index by time.
      const { deletions: _, ...sequential } = after.sequential;
      expect(before.sequential, verb).toMatchObject(sequential);
      expect(after.byIndex - before.byIndex, verb).toBeLessThanOrEqual(most);
    }
    await driver.close();
    await client.end();
  });
});
