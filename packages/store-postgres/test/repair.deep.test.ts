import { readdirSync } from "node:fs";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { quote } from "../src/text.ts";
import { users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

const allMigrations = readdirSync(new URL("../sql", import.meta.url)).sort();

async function ownSchema(): Promise<TestSchema> {
  const used = await makeSchema((await server).url);
  onTestFinished(() => used[Symbol.asyncDispose]());
  return used;
}

const optionsOf = ({ url, schema }: TestSchema) => ({ url, schema });

describe("setup of a schema that was set up", () => {
  /** What the schema has: columns of relations, sources of functions. */
  const objectsOf = async ({ pool, schema }: TestSchema) => {
    const { rows } = await pool.query(
      `SELECT c.relname AS name, (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) AS content
       FROM pg_class c WHERE relnamespace = to_regnamespace(quote_ident($1))
       UNION ALL SELECT proname, prosrc FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident($1)) ORDER BY 1, 2`,
      [schema],
    );
    return rows;
  };

  test("makes each table, index, view and function that was dropped", async () => {
    const used = await ownSchema();
    const whole = await objectsOf(used);
    await using stores = createPostgresStores(optionsOf(used));
    const dropped = [
      ...["threads", "messages", "operations", "deletions", "entries", "migrations"].map(
        (name) => `TABLE ${used.quoted}.${name}`,
      ),
      ...["entries_sort", "entries_expiry"].map((name) => `INDEX ${used.quoted}.${name}`),
      `VIEW ${used.quoted}.conversation`,
      ...(
        await used.pool.query(
          "SELECT proname FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident($1))",
          [used.schema],
        )
      ).rows.map(({ proname }) => `FUNCTION ${used.quoted}.${proname}`),
    ];
    expect(dropped.length).toBeGreaterThan(30);
    for (const object of dropped) {
      await used.pool.query(`DROP ${object} CASCADE`);
      await stores.setup();
      expect(await objectsOf(used), object).toEqual(whole);
      const { rows } = await used.pool.query(`SELECT name FROM ${used.quoted}.migrations ORDER BY number`);
      expect(
        rows.map(({ name }) => name),
        object,
      ).toEqual(allMigrations);
    }
    for (const object of dropped) await used.pool.query(`DROP ${object.replace(" ", " IF EXISTS ")} CASCADE`);
    await Promise.all(Array.from({ length: 4 }, () => stores.setup()));
    expect(await objectsOf(used)).toEqual(whole);
    await stores.open("a").addMessages(users(1));
  });

  test("has a renamed schema read its own tables, though another one has its old name", async () => {
    const used = await ownSchema();
    await using before = createPostgresStores(optionsOf(used));
    await before.open("a").addMessages(users(2));
    const renamed = `${used.schema.slice(0, 50)} renamed`;
    await used.pool.query(`ALTER SCHEMA ${used.quoted} RENAME TO ${quote(renamed)}`);
    onTestFinished(async () => void (await used.pool.query(`DROP SCHEMA ${quote(renamed)} CASCADE`)));
    await before.setup();
    await before.open("a").addMessages(users(1));
    await using stores = createPostgresStores({ url: used.url, schema: renamed });
    await stores.setup();
    expect(await stores.open("a").listMessages()).toEqual(users(2));
    await stores.deleteThread("a");
    expect(await before.open("a").listMessages()).toEqual(users(1));
  });

  test("refuses a table without a column", async () => {
    const used = await ownSchema();
    await used.pool.query(`ALTER TABLE ${used.quoted}.entries DROP COLUMN vectors`);
    await using stores = createPostgresStores(optionsOf(used));
    expect(await rejection(stores.setup())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("other tables"),
    });
  });

  test("changes nothing of a complete one, and needs no privilege to create", async () => {
    const used = await ownSchema();
    const role = `suite_${crypto.randomUUID().slice(0, 8)}`;
    await used.pool.query(
      `CREATE USER ${role}; GRANT USAGE ON SCHEMA ${used.quoted} TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA ${used.quoted} TO ${role}`,
    );
    onTestFinished(async () => void (await used.pool.query(`DROP OWNED BY ${role}; DROP USER ${role}`)));
    const url = new URL(used.url);
    url.username = role;
    await using stores = createPostgresStores({ url: url.href, schema: used.schema });
    const versions = async () =>
      (
        await used.pool.query(
          "SELECT oid, xmin FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident($1)) ORDER BY 1",
          [used.schema],
        )
      ).rows;
    const before = await versions();
    await stores.setup();
    expect(await versions()).toEqual(before);
  });
});
