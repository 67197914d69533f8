import { readFileSync } from "node:fs";
import { startServer } from "@scrollback/conformance/servers";
import { type Clock, createStores, RecordLogDriver } from "@scrollback/store-core";
import { Client, type Pool } from "pg";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { entriesDefinition, entriesName, qualified, sweepStatement, tableDefinition } from "../src/setup.ts";
import { openLog } from "./client.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeTable, newTableName, type TestTable } from "./table.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

const HOUR = 60 * 60 * 1_000;

async function ownTable(define?: (tableName: string) => string): Promise<TestTable> {
  const table = await makeTable((await server).url, define);
  onTestFinished(() => table[Symbol.asyncDispose]());
  return table;
}

/** Creates a user, and returns the URL with its credentials. */
async function newUser(pool: Pool, grants: (user: string) => string): Promise<string> {
  const name = `suite_${crypto.randomUUID().slice(0, 8)}`;
  await pool.query(`CREATE USER ${name}; ${grants(name)}`);
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${name}; DROP USER ${name}`);
  });
  const url = new URL((await server).url);
  url.username = name;
  return url.href;
}

const optionsOf = ({ url, tableName }: TestTable) => ({ url, tableName });

describe("setup", () => {
  test("creates the tables and their indexes, and can run twice", async () => {
    const table = await ownTable(() => "");
    await using stores = createPostgresStores(optionsOf(table));
    await stores.setup();
    await stores.setup();
    const { rows } = await table.pool.query(
      "SELECT indexname FROM pg_indexes WHERE tablename IN ($1, $2) ORDER BY indexname",
      [table.tableName, entriesName(table.tableName)],
    );
    expect(rows.map(({ indexname }) => indexname.slice(table.tableName.length))).toEqual([
      "_entries_expiry",
      "_entries_order",
      "_entries_pkey",
      "_expiry",
      "_pkey",
      "_roots",
    ]);
    await stores.open("a").addMessages(users(3));
    expect(await stores.open("a").listMessages()).toEqual(users(3));
  });

  test("fails on a read-only server, also where the table exists", async () => {
    const table = await ownTable();
    const url = new URL(table.url);
    url.searchParams.set("options", "-c default_transaction_read_only=on");
    await using stores = createPostgresStores({ ...optionsOf(table), url: url.href });
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringContaining("the server is read-only"),
    });
  });

  test("can run concurrently from several clients", async () => {
    const table = await ownTable(() => "");
    const all = Array.from({ length: 6 }, () => createPostgresStores(optionsOf(table)));
    await Promise.all(all.map((stores) => stores.setup()));
    await all[0]?.open("a").addMessages(users(1));
    for (const stores of all) {
      expect(await stores.open("a").listMessages()).toEqual(users(1));
      await stores.close();
    }
  });

  test("is reported by the error of a call that needs it", async () => {
    const table = await ownTable(() => "");
    await using stores = createPostgresStores(optionsOf(table));
    const error = await rejection(stores.open("a").listMessages());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("setup()");
  });

  test("needs no right to create if the table exists, and the stores need only the documented privileges", async () => {
    const table = await ownTable();
    const grant = (name: string) =>
      `GRANT SELECT, INSERT, UPDATE ON ${table.quoted}, ${table.entries} TO ${name}; GRANT DELETE ON ${table.entries} TO ${name}`;
    const url = await newUser(table.pool, grant);
    await using stores = createPostgresStores({
      url,
      tableName: table.tableName,
      maxMessages: 5,
      ttlMs: HOUR,
    });
    await stores.setup();
    const store = stores.open("a");
    for (let number = 0; number < 70; number++) await store.addMessages([user("Hello")]);
    await store.clear();
    expect(await store.listMessages()).toEqual([]);
  });

  test.each(["SELECT", "INSERT", "UPDATE", "DELETE"])("fails without the privilege %s", async (missing) => {
    const table = await ownTable();
    const of = missing === "DELETE" ? table.entries : table.quoted;
    const all = `ALL ON ${table.quoted}, ${table.entries}`;
    const grants = (name: string) => `GRANT ${all} TO ${name}; REVOKE ${missing} ON ${of} FROM ${name}`;
    const url = await newUser(table.pool, grants);
    await using stores = createPostgresStores({ url, tableName: table.tableName });
    const error = await rejection(stores.setup());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toMatch(new RegExp(`privileges .*${missing}.* on the table ${of}`));
  });

  test("the documented privileges are enough for three users, each for its own work", async () => {
    const { pool } = await ownTable(() => "");
    const schema = `suite_${crypto.randomUUID().slice(0, 8)}`;
    const urls = await Promise.all([1, 2, 3].map(() => newUser(pool, () => "")));
    const [owner = "", app = "", sweeper = ""] = urls.map((url) => new URL(url).username);
    const documented = (sql: string) =>
      sql
        .replaceAll(/\bchat\b/g, schema)
        .replaceAll(/\bowner\b/g, owner)
        .replaceAll(/\bapp\b/g, app)
        .replaceAll(/\bsweeper\b/g, sweeper);
    const [before = "", after = ""] = documented(PRIVILEGES).split("-- After the table was made:");
    await pool.query(before);
    onTestFinished(async () => {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    const storesOf = (index: number) =>
      createPostgresStores({ url: urls[index] ?? "", schema, maxMessages: 5, ttlMs: HOUR });
    await using owners = storesOf(0);
    await owners.setup();
    await pool.query(after);
    await using apps = storesOf(1);
    await apps.setup();
    const store = apps.open("a");
    for (let number = 0; number < 70; number++) await store.addMessages([user("Hello")]);
    await store.clear();
    const index = apps.index("list");
    const place = { key: "a", id: "1" };
    await index.insert(place, { version: 0, order: 0, value: 1, expiresAt: 1 });
    await index.insert(place, { version: 0, order: 0, value: 1 });
    await index.update(place, { version: 1, order: 0, value: 2 });
    expect(await index.remove(place)).toBe(true);
    const clientOf = async (index: number) => {
      const client = new Client(urls[index]);
      await client.connect();
      onTestFinished(() => client.end());
      return client;
    };
    const table = qualified(schema, "scrollback_messages");
    const denied = { code: "42501" };
    const [asApp, asSweeper] = [await clientOf(1), await clientOf(2)];
    for (const sql of [`DELETE FROM ${table}`, `TRUNCATE ${table}`, `ALTER TABLE ${table} ADD x int`])
      await expect(asApp.query(sql)).rejects.toMatchObject(denied);
    await asSweeper.query(sweepStatement(schema, "scrollback_messages"));
    await asSweeper.query(sweepStatement(schema, entriesName("scrollback_messages")));
    await expect(asSweeper.query(`SELECT content FROM ${table}`)).rejects.toMatchObject(denied);
    await expect(asSweeper.query(`UPDATE ${table} SET content = ''`)).rejects.toMatchObject(denied);
  });

  test("the table accepts the documented vacuum setting", async () => {
    const table = await ownTable();
    await table.pool.query(VACUUM.replace('"scrollback_messages"', table.quoted));
    const { rows } = await table.pool.query(
      "SELECT reloptions FROM pg_class WHERE relname = $1 AND reloptions IS NOT NULL",
      [table.tableName],
    );
    expect(rows).toEqual([{ reloptions: ["autovacuum_vacuum_scale_factor=0.02"] }]);
  });

  test("fails if the table is missing and the user cannot create it", async () => {
    const { pool } = await ownTable(() => "");
    const url = await newUser(pool, () => "");
    await using stores = createPostgresStores({ url, tableName: newTableName() });
    expect(await rejection(stores.setup())).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  });

  test("rejects a table with other columns or without the primary key", async () => {
    for (const define of [
      (name: string) => `CREATE TABLE "${name}" (id int)`,
      (name: string) =>
        `CREATE TABLE "${name}" (stream text, number bigint, head text, content text, expires_at bigint)`,
    ]) {
      const table = await ownTable(define);
      await using stores = createPostgresStores(optionsOf(table));
      const error = await rejection(stores.setup().then(() => stores.open("a").addMessages(users(1))));
      expect(error).toMatchObject({ code: "UNSUPPORTED" });
      expect(error.message).toContain("primary key");
    }
  });

  test("accepts a table in another schema", async () => {
    const { pool } = await ownTable(() => "");
    const schema = `suite ${crypto.randomUUID()}`;
    await pool.query(`CREATE SCHEMA "${schema}"`);
    onTestFinished(async () => {
      await pool.query(`DROP SCHEMA "${schema}" CASCADE`);
    });
    await using stores = createPostgresStores({ url: (await server).url, schema, tableName: 'a "b"' });
    await stores.setup();
    await stores.open("a").addMessages(users(1));
    const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${qualified(schema, 'a "b"')}`);
    expect(rows).toEqual([{ count: 2 }]);
    const absent = createPostgresStores({ url: (await server).url, schema: "absent" });
    expect((await rejection(absent.setup())).message).toContain("schema");
    await absent.close();
  });

  test("rejects a database that is not UTF8, and a message whose characters it supports is stored there", async () => {
    const { pool } = await ownTable(() => "");
    const database = `latin_${crypto.randomUUID().slice(0, 8)}`;
    await pool.query(`CREATE DATABASE ${database} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0`);
    onTestFinished(async () => {
      await pool.query(`DROP DATABASE ${database} WITH (FORCE)`);
    });
    const url = new URL((await server).url);
    url.pathname = database;
    const table = await makeTable(url.href);
    await using stores = createPostgresStores(optionsOf(table));
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("UTF8"),
    });
    const store = stores.open("a");
    await store.addMessages([user("café")]);
    expect(await rejection(store.addMessages([user("日本")]))).toMatchObject({ code: "UNSUPPORTED" });
    expect(await store.listMessages()).toEqual([user("café")]);
    await table.pool.end();
  });

  test("supports a table partitioned by stream", async () => {
    const table = await ownTable((name) => partitioned(name));
    await using stores = createPostgresStores({ ...optionsOf(table), maxMessages: 5 });
    await stores.setup();
    for (const id of ["a", "b", "c", "d", "e", "f"]) {
      for (let number = 1; number <= 40; number++) await stores.open(id).addMessages([user(`${number}`)]);
      expect(await stores.open(id).listMessages()).toEqual(["36", "37", "38", "39", "40"].map(user));
    }
    const { rows } = await table.pool.query(
      `SELECT count(DISTINCT tableoid)::int AS used FROM ${table.quoted}`,
    );
    expect(rows[0].used).toBeGreaterThan(1);
  });
});

const PARTITIONED = /```sql\n(CREATE TABLE chats \([^`]*PARTITION BY HASH[^`]*)```/;
const page = readFileSync(new URL("../../../docs/reference/store-postgres.md", import.meta.url), "utf8");
const PRIVILEGES = blockThatBegins("CREATE SCHEMA chat");
const VACUUM = blockThatBegins("ALTER TABLE");

function blockThatBegins(words: string): string {
  const [, block = ""] = page.split(`\`\`\`sql\n${words}`);
  return `${words}${block.split("```")[0]}`;
}

/** The partitioned table of the documentation, with another name. */
function partitioned(name: string): string {
  const [, definition = ""] = PARTITIONED.exec(page) ?? [];
  return definition.replace(/\bchats(_\d)?\b/g, (_, part = "") => `"${name}${part}"`);
}

test("the documentation has the tables and the statements that delete", () => {
  expect(page).toContain(tableDefinition(undefined, "scrollback_messages"));
  expect(page).toContain(entriesDefinition(undefined, "scrollback_messages"));
  expect(page).toContain(sweepStatement(undefined, entriesName("scrollback_messages")));
  expect(page).toContain(sweepStatement(undefined, "scrollback_messages"));
});

describe("expiry", () => {
  test("the documented statement deletes only expired rows", async () => {
    const table = await ownTable();
    let now = Date.now();
    const clock: Clock = { wall: () => now, monotonic: () => now, sleep: async () => {} };
    const log = openLog(table);
    const driver = new RecordLogDriver(log, { clock });
    onTestFinished(() => driver.close());
    // In the past, so that it has expired by the server's clock.
    now -= 365 * 24 * HOUR;
    await createStores(driver, { ttlMs: HOUR }).open("old").addMessages(users(3));
    now += 365 * 24 * HOUR;
    await createStores(driver, { ttlMs: HOUR }).open("new").addMessages(users(3));
    await createStores(driver).open("lasting").addMessages(users(3));
    await table.pool.query(sweepStatement(undefined, table.tableName));
    expect(await table.rows("old")).toEqual([]);
    expect(await createStores(driver).open("new").listMessages()).toEqual(users(3));
    expect(await createStores(driver).open("lasting").listMessages()).toEqual(users(3));
  });
});
