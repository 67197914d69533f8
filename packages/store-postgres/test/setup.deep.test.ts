import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@scrollback/conformance/servers";
import { Client, type Pool } from "pg";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import type { setupScript } from "../src/migrations.ts";
import { quote } from "../src/text.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

const HOUR = 60 * 60 * 1_000;

async function ownSchema(define?: typeof setupScript): Promise<TestSchema> {
  const used = await makeSchema((await server).url, define);
  onTestFinished(() => used[Symbol.asyncDispose]());
  return used;
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

async function clientOf(url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const noScript = () => "";
const optionsOf = ({ url, schema }: TestSchema) => ({ url, schema });

/** The names of the applied migrations, and of all tables, views and functions in a schema. */
async function contentOf({
  pool,
  schema,
  quoted,
}: TestSchema): Promise<{ applied: string[]; made: string[] }> {
  const { rows } = await pool.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind IN ('r', 'v')
     UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident($1)) ORDER BY name`,
    [schema],
  );
  const made = rows.map(({ name }) => String(name));
  if (!made.includes("migrations")) return { applied: [], made };
  const { rows: applied } = await pool.query(`SELECT name FROM ${quoted}.migrations ORDER BY number`);
  return { applied: applied.map(({ name }) => String(name)), made };
}

const allMigrations = readdirSync(new URL("../sql", import.meta.url)).sort();
const page = readFileSync(new URL("../../../docs/reference/store-postgres.md", import.meta.url), "utf8");
const [, PRIVILEGES = ""] = /```sql\n(GRANT [^`]*)```/.exec(page) ?? [];

describe("setup", () => {
  test("fails on a read-only server, also where the schema exists", async () => {
    const used = await ownSchema();
    const url = new URL(used.url);
    url.searchParams.set("options", "-c default_transaction_read_only=on");
    await using stores = createPostgresStores({ ...optionsOf(used), url: url.href });
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringContaining("the server is read-only"),
    });
  });

  test("that fails half way leaves nothing of that migration, and can be repeated", async () => {
    const used = await ownSchema(noScript);
    await used.pool.query(`CREATE SCHEMA ${used.quoted}; CREATE TABLE ${used.quoted}.entries (id int)`);
    await using stores = createPostgresStores(optionsOf(used));
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("name a schema of its own"),
    });
    expect(await contentOf(used)).toEqual({ applied: [], made: ["entries"] });
    await used.pool.query(`DROP TABLE ${used.quoted}.entries`);
    // In the third migration.
    await used.pool.query(
      `CREATE FUNCTION ${used.quoted}.sweep_v1(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'`,
    );
    expect(await rejection(stores.setup())).toMatchObject({ code: "UNSUPPORTED" });
    const { applied, made } = await contentOf(used);
    expect(applied).toEqual(allMigrations.slice(0, 2));
    expect(made).not.toContain("read_v1");
    await used.pool.query(`DROP FUNCTION ${used.quoted}.sweep_v1`);
    await stores.setup();
    expect((await contentOf(used)).applied).toEqual(allMigrations);
  });

  test("refuses the layout of a newer package", async () => {
    const used = await ownSchema();
    await used.pool.query(
      `INSERT INTO ${used.quoted}.migrations (number, name) VALUES (99, '099-later.sql')`,
    );
    await using stores = createPostgresStores(optionsOf(used));
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("layout version 99"),
    });
  });

  test.each([
    ["INSERT", "threads"],
    ["UPDATE", "threads"],
    ["DELETE", "messages"],
    ["SELECT", "operations"],
    ["INSERT", "deletions"],
    ["DELETE", "entries"],
    ["SELECT", "migrations"],
  ])("names the missing privilege %s on %s", async (privilege, table) => {
    const used = await ownSchema();
    const grants = (name: string) =>
      `GRANT USAGE ON SCHEMA ${used.quoted} TO ${name}; GRANT ALL ON ALL TABLES IN SCHEMA ${used.quoted} TO ${name};
       REVOKE ${privilege} ON ${used.quoted}.${table} FROM ${name}`;
    const url = await newUser(used.pool, grants);
    await using stores = createPostgresStores({ url, schema: used.schema });
    const error = await rejection(stores.setup());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain(
      `lacks privileges in the schema ${used.quoted}: ${privilege} on ${table};`,
    );
  });

  test("and the stores need only the documented privileges: three users, each for its own work", async () => {
    const used = await ownSchema(noScript);
    const { pool, schema, quoted } = used;
    const urls = await Promise.all([1, 2, 3].map(() => newUser(pool, () => "")));
    const [owner = "", app = "", sweeper = ""] = urls.map((url) => new URL(url).username);
    await pool.query(`CREATE SCHEMA ${quoted} AUTHORIZATION ${owner}`);
    const storesOf = (index: number) =>
      createPostgresStores({ url: urls[index] ?? "", schema, maxMessages: 5, ttlMs: HOUR });
    await using owners = storesOf(0);
    // Without the privilege to create a schema.
    await owners.setup();
    const asOwner = await clientOf(urls[0] ?? "");
    await asOwner.query(
      PRIVILEGES.replaceAll(/\bscrollback\b/g, quoted)
        .replaceAll(/\bapp\b/g, app)
        .replaceAll(/\bsweeper\b/g, sweeper),
    );
    await using apps = storesOf(1);
    await apps.setup();
    const store = apps.open("a");
    for (let number = 0; number < 70; number++) await store.addMessages([user("Hello")]);
    await store.clear();
    await apps.deleteThread("b");
    const index = apps.index("list");
    const place = { key: "a", id: "1" };
    await index.insert(place, { version: 0, order: 0, value: 1, expiresAt: 1 });
    await index.insert(place, { version: 0, order: 0, value: 1 });
    await index.update(place, { version: 1, order: 0, value: 2 });
    expect(await index.remove(place)).toBe(true);
    const denied = { code: "42501" };
    const [asApp, asSweeper] = [await clientOf(urls[1] ?? ""), await clientOf(urls[2] ?? "")];
    for (const sql of [`TRUNCATE ${quoted}.threads`, `ALTER TABLE ${quoted}.threads ADD x int`])
      await expect(asApp.query(sql)).rejects.toMatchObject(denied);
    await asSweeper.query(`SELECT ${quoted}.sweep_v1()`);
    for (const column of ["messages.text", "threads.id", "threads.metadata", "entries.value"]) {
      const [table = "", name = ""] = column.split(".");
      await expect(asSweeper.query(`SELECT ${name} FROM ${quoted}.${table}`)).rejects.toMatchObject(denied);
    }
  });

  test.each(["a 'b' \\ \"c\"", "$1", "SELECT", "é💬", "a.b"])("can use the schema %s", async (name) => {
    const { pool, url } = await ownSchema(noScript);
    onTestFinished(async () => {
      await pool.query(`DROP SCHEMA ${quote(name)} CASCADE`);
    });
    const other = new URL(url);
    other.searchParams.set("options", "-c standard_conforming_strings=off");
    for (const each of [url, other.href]) {
      await using stores = createPostgresStores({ url: each, schema: name, maxMessages: 2 });
      await stores.setup();
      await stores.open("a").addMessages(users(3));
      expect(await stores.open("a").listMessages()).toEqual(users(3).slice(1));
    }
    const { rows } = await pool.query(`SELECT sequence FROM ${quote(name)}.conversation ORDER BY 1`);
    expect(rows).toHaveLength(2);
  });

  test("rejects a database that is not UTF8, and a message whose characters it supports is stored there", async () => {
    const { pool } = await ownSchema(noScript);
    const database = `latin_${crypto.randomUUID().slice(0, 8)}`;
    await pool.query(`CREATE DATABASE ${database} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0`);
    onTestFinished(async () => {
      await pool.query(`DROP DATABASE ${database} WITH (FORCE)`);
    });
    const url = new URL((await server).url);
    url.pathname = database;
    const used = await makeSchema(url.href);
    await using stores = createPostgresStores(optionsOf(used));
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("UTF8"),
    });
    const store = stores.open("a");
    await store.addMessages([user("café")]);
    expect(await rejection(store.addMessages([user("日本")]))).toMatchObject({ code: "UNSUPPORTED" });
    expect(await store.listMessages()).toEqual([user("café")]);
    await used.pool.end();
  });
});

describe("the option setup", () => {
  const child = fileURLToPath(new URL("setup-child.ts", import.meta.url));

  test("makes the schema at the first calls of several processes at once, and says it", async () => {
    const used = await ownSchema(noScript);
    const ids = ["a", "b", "c", "d"];
    const run = (id: string) => promisify(execFile)(process.execPath, [child, used.url, used.schema, id]);
    const outputs = await Promise.all(ids.map(run));
    expect((await contentOf(used)).applied).toEqual(allMigrations);
    await using stores = createPostgresStores(optionsOf(used));
    for (const id of ids) expect(await stores.open(id).listMessages()).toEqual(users(1));
    const notices = outputs.flatMap(({ stderr }) => stderr.match(/setup: postgres: made .*/g) ?? []);
    expect(new Set(notices)).toEqual(
      new Set([`setup: postgres: made the tables and functions in the schema ${used.quoted}`]),
    );
  });

  test("makes what calls at once need, and what was dropped later", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const used = await ownSchema(noScript);
    await using stores = createPostgresStores({ ...optionsOf(used), setup: true });
    const place = { key: "k", id: "1" };
    await Promise.all([
      ...["a", "b", "c"].map((id) => stores.open(id).addMessages(users(2))),
      stores.index("i").insert(place, { version: 0, order: 0, value: 1 }),
      stores.listThreads(),
    ]);
    expect((await stores.listThreads()).threads).toHaveLength(3);
    expect((await stores.index("i").list()).entries).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(1);
    await used.pool.query(`DROP SCHEMA ${used.quoted} CASCADE`);
    expect(await stores.open("a").listMessages()).toEqual([]);
    expect((await contentOf(used)).applied).toEqual(allMigrations);
  });

  test("needs no privilege to create where all is there, and names it where it is missing", async () => {
    const there = await ownSchema();
    const grants = (name: string) =>
      `GRANT USAGE ON SCHEMA ${there.quoted} TO ${name}; GRANT ALL ON ALL TABLES IN SCHEMA ${there.quoted} TO ${name}`;
    const url = await newUser(there.pool, grants);
    await using stores = createPostgresStores({ url, schema: there.schema, setup: true });
    await stores.open("a").addMessages(users(1));
    expect(await stores.open("a").listMessages()).toEqual(users(1));
    const missing = await ownSchema(noScript);
    await using others = createPostgresStores({ url, schema: missing.schema, setup: true });
    expect(await rejection(others.open("a").addMessages(users(1)))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("privileges"),
    });
    expect((await contentOf(missing)).made).toEqual([]);
  });

  test("makes nothing in a transaction of the caller, which the missing table has ended", async () => {
    const used = await ownSchema(noScript);
    const client = await clientOf(used.url);
    await using stores = createPostgresStores({ client, schema: used.schema, setup: true });
    await client.query("BEGIN");
    const error = await rejection(stores.open("a").addMessages(users(1)));
    expect(error.message).toContain("the schema lacks tables");
    await client.query("ROLLBACK");
    await stores.open("a").addMessages(users(1));
    expect(await stores.open("a").listMessages()).toEqual(users(1));
  });

  test("a factory that is closed during the setup fails with CLOSED, and the next one goes on", async () => {
    const used = await ownSchema(noScript);
    const stores = createPostgresStores({ ...optionsOf(used), setup: true });
    const refused = rejection(stores.open("a").addMessages(users(1)));
    await stores.close();
    expect(await refused).toMatchObject({ code: "CLOSED" });
    await using others = createPostgresStores({ ...optionsOf(used), setup: true });
    await others.open("b").addMessages(users(1));
    expect(await others.open("b").listMessages()).toEqual(users(1));
  });
});
