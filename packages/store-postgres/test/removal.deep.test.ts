import { sharedServer } from "@scrollback/conformance/servers";
import type { StoreFactory, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "./client.ts";
import { user, users } from "./messages.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

let used: TestSchema;
const factories: StoreFactory[] = [];
beforeAll(async () => {
  used = await makeSchema((await sharedServer("postgres")).url);
});
afterAll(async () => {
  for (const stores of factories) await stores.close();
  await used[Symbol.asyncDispose]();
});

function open(options?: StoreOptions): StoreFactory {
  const stores = createStores(connect(used), options);
  factories.push(stores);
  return stores;
}

const TABLES = ["threads", "messages", "operations", "deletions", "entries"];

/** The number of rows of each table, in their order. */
async function rowCounts(): Promise<number[]> {
  const counts = TABLES.map((table) => `(SELECT count(*)::int FROM ${used.quoted}.${table})`);
  const { rows } = await used.pool.query({ text: `SELECT ${counts.join()}`, rowMode: "array" });
  return rows[0] ?? [];
}

/** All rows of all tables and of the view, as text, with binary values in hexadecimal digits. */
async function allText(): Promise<string> {
  const texts: string[] = [];
  for (const table of [...TABLES, "conversation"]) {
    const { rows } = await used.pool.query(`SELECT t::text AS row FROM ${used.quoted}.${table} t`);
    texts.push(...rows.map(({ row }) => String(row)));
  }
  return texts.join("\n");
}

const sweep = async (limit?: number) => {
  const argument = limit === undefined ? "" : String(limit);
  const { rows } = await used.pool.query(`SELECT ${used.quoted}.sweep_v1(${argument})::int AS count`);
  return rows[0].count;
};
/** Makes something as old as if this many seconds had passed. */
const age = (table: string, column: string, where: string, seconds: number) =>
  used.pool.query(
    `UPDATE ${used.quoted}.${table} SET ${column} = ${column} - interval '${seconds} s' WHERE ${where}`,
  );

describe("a sweep", () => {
  test("removes expired threads, expired entries and old deletions, and nothing else", async () => {
    const stores = open();
    const mortal = open({ ttlMs: 3_600_000 });
    for (const id of ["old 1", "old 2", "old 3", "living"]) {
      await mortal.open(id).addMessages(users(3));
      await mortal.open(id).commit({ metadata: { title: id } });
    }
    await stores.open("lasting").addMessages(users(3));
    await stores.open("deleted").addMessages(users(3));
    await stores.deleteThread("deleted");
    await stores.deleteThread("never there");
    await stores.open("deleted now").addMessages(users(1));
    const index = stores.index("list");
    const expiresAt = Date.now() + 3_600_000;
    for (const key of ["old", "living"])
      await index.insert({ key, id: "1" }, { version: 0, order: 0, value: key, expiresAt });
    await index.insert({ key: "lasting", id: "1" }, { version: 0, order: 0, value: "lasting" });
    expect(await sweep()).toBe(0);
    const before = await rowCounts();

    await age("threads", "expires_at", "id LIKE 'old%'", 7_200);
    await age("entries", "expires_at", "key = 'old'", 7_200);
    await age("deletions", "at", "true", 11);
    await stores.deleteThread("deleted now");
    // That deletion has removed up to ten older ones.
    await used.pool.query(`INSERT INTO ${used.quoted}.deletions
      SELECT '', sha256(n::text::bytea), sha256('o'), '', now() - interval '11 s' FROM generate_series(1, 5) AS n`);
    expect(await sweep(2)).toBe(2 + 1 + 2);
    expect(await sweep(2)).toBe(1 + 0 + 2);
    expect(await sweep(2)).toBe(1);
    expect(await sweep()).toBe(0);

    const after = await rowCounts();
    expect(after.map((count, table) => count - (before[table] ?? 0))).toEqual([
      ...[-4, -3 * 3 - 1],
      // Two of each expired thread, one of the first deleted one; that of the last one is still remembered.
      -3 * 2 - 1,
      // That of the last one came, those of "deleted" and "never there" went.
      ...[1 - 2, -1],
    ]);
    for (const id of ["old 1", "old 2", "old 3", "deleted"])
      expect(await stores.open(id).listMessages()).toEqual([]);
    for (const id of ["living", "lasting"]) expect(await stores.open(id).listMessages()).toEqual(users(3));
    expect((await stores.open("living").read()).metadata).toEqual({ title: "living" });
    const { entries } = await index.list();
    expect(entries.map(({ value }) => value)).toEqual(["lasting", "living"]);
  });

  test("leaves a thread that begins anew, and one that another transaction has locked", async () => {
    const stores = open({ ttlMs: 3_600_000 });
    for (const id of ["anew", "locked"]) await stores.open(id).addMessages(users(2));
    await age("threads", "expires_at", "id IN ('anew', 'locked')", 7_200);
    await stores.open("anew").addMessages([user("new")]);
    const locker = await used.pool.connect();
    try {
      await locker.query(`BEGIN; SELECT FROM ${used.quoted}.threads WHERE id = 'locked' FOR UPDATE`);
      expect(await sweep()).toBe(0);
    } finally {
      await locker.query("ROLLBACK");
      locker.release();
    }
    expect(await stores.open("anew").listMessages()).toEqual([user("new")]);
    expect(await sweep()).toBe(1);
    expect(await stores.open("anew").listMessages()).toEqual([user("new")]);
  });
});

describe("no SQL finds", () => {
  test("text, title or ids of a deleted thread, only hashes, and after a sweep not even these", async () => {
    const stores = open();
    const id = "secret-thread";
    const store = stores.open(id);
    await store.addMessages([user("secret-text")], { operationId: "secret-operation" });
    await store.commit({ metadata: { title: "secret-title" } });
    const index = stores.index("list");
    const place = { key: id, id: "secret-entry" };
    await index.insert(place, { version: 0, order: 0, value: "secret-value" });
    const { rows } = await used.pool.query(`SELECT life FROM ${used.quoted}.threads WHERE id = $1`, [id]);
    const { life } = rows[0];
    const stored = await allText();
    for (const text of ["thread", "text", "title", "entry", "value"])
      expect(stored).toContain(`secret-${text}`);
    expect(stored).toContain(life);

    await stores.deleteThread(id);
    await index.remove(place);
    const left = await allText();
    expect(left).not.toContain("secret");
    expect(left).toContain(life);
    const { rows: hashes } = await used.pool.query("SELECT encode(sha256($1), 'hex') AS hash", [id]);
    expect(left).toContain(hashes[0].hash);

    await age("deletions", "at", "true", 11);
    await sweep();
    const nothing = await allText();
    for (const text of [life, hashes[0].hash, "secret"]) expect(nothing).not.toContain(text);
  });
});
