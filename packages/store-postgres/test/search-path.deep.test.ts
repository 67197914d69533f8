import { startServer } from "@scrollback/conformance/servers";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";
import { makeSchema } from "./schema.ts";
import { createVector } from "./vector.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

/**
 * Has a schema contain a namesake of each function and operator of PostgreSQL and pgvector that the files of SQL may use, for each type of
 * arguments that fits a call better than PostgreSQL's own. Each fails when it is called.
 */
const NAMESAKES = `
CREATE FUNCTION public.trap() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'a namesake was called'; END $$;
DO $$
DECLARE
  f record;
  t text;
  u text;
BEGIN
  EXECUTE 'CREATE FUNCTION public.concat_ws(text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint) RETURNS text LANGUAGE sql VOLATILE AS ''SELECT public.trap()::text''';
  EXECUTE 'CREATE FUNCTION public.to_timestamp(numeric) RETURNS timestamptz LANGUAGE sql VOLATILE AS ''SELECT public.trap()::text::timestamptz''';
  EXECUTE 'CREATE FUNCTION public.convert_to(text, text) RETURNS bytea LANGUAGE sql VOLATILE AS ''SELECT public.trap()::text::bytea''';
  EXECUTE 'CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE sql VOLATILE AS ''SELECT public.trap()::text''';
  EXECUTE 'CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint LANGUAGE sql VOLATILE AS ''SELECT public.trap()::bigint''';
  FOR f IN SELECT DISTINCT proname, pronargs, proargtypes::oid[] AS types, provariadic, prorettype, proretset FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a') AND proname IN (
      'to_timestamp', 'concat_ws', 'round', 'date_part', 'left', 'substr', 'strpos', 'sha256', 'convert_to', 'encode', 'length', 'reverse',
      'string_to_array', 'chr', 'repeat', 'octet_length', 'cardinality', 'generate_series', 'pg_notify', 'current_setting', 'clock_timestamp',
      'date_trunc', 'jsonb_typeof', 'jsonb_array_elements', 'format', 'hashtextextended', 'pg_advisory_xact_lock', 'to_regnamespace',
      'quote_ident', 'starts_with', 'now')
  LOOP
    FOREACH t IN ARRAY ARRAY['int4', 'int8', 'numeric', 'text', 'name', 'varchar', 'bytea', 'jsonb', 'timestamptz', 'regclass'] LOOP
      BEGIN
        EXECUTE pg_catalog.format('CREATE FUNCTION public.%I(%s) RETURNS int LANGUAGE sql VOLATILE AS ''SELECT public.trap()''', f.proname, (
          SELECT pg_catalog.string_agg(CASE WHEN x.type IN (23, 20, 1700, 701, 700, 19, 2276, 2283, 2277) THEN t ELSE pg_catalog.format_type(x.type, NULL) END, ', ')
          FROM pg_catalog.unnest(f.types) AS x (type)));
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END LOOP;
  FOREACH t IN ARRAY ARRAY['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'text', 'name', '"char"', 'varchar', 'jsonb', 'timestamptz', 'interval', 'oid', 'regnamespace', 'text[]', 'real[]'] LOOP
    FOREACH u IN ARRAY ARRAY['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'text', 'name', '"char"', 'varchar', 'jsonb', 'timestamptz', 'interval', 'oid', 'regnamespace', 'text[]', 'real[]'] LOOP
      FOR f IN SELECT * FROM (VALUES ('bool', ARRAY['=', '<>', '<', '<=', '>', '>=']), ('text', ARRAY['||', '->>', '#>>']), ('numeric', ARRAY['+', '-', '*', '/', '%']), ('jsonb', ARRAY['->', '#>']), ('float8', ARRAY['<#>'])) AS o (result, names) LOOP
        EXECUTE pg_catalog.format('CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE sql VOLATILE AS ''SELECT public.trap()::text::%4$s''', 'trap_' || f.result, t, u, f.result);
        DECLARE
          n text;
        BEGIN
          FOREACH n IN ARRAY f.names LOOP
            EXECUTE pg_catalog.format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)', n, t, u, 'trap_' || f.result);
          END LOOP;
        END;
      END LOOP;
    END LOOP;
  END LOOP;
END
$$;
`;

/** A database of its own, in which everyone may create functions in \`public\`. */
async function ownDatabase(): Promise<string> {
  const { url } = await server;
  const database = `hostile_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new Client(url);
  await admin.connect();
  onTestFinished(async () => {
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await admin.end();
  });
  await admin.query(`CREATE DATABASE ${database}`);
  const own = new URL(url);
  own.pathname = database;
  return own.href;
}

async function connected(url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("every function fixes its search_path", async () => {
  await using used = await makeSchema((await server).url);
  const { rows } = await used.pool.query(
    `SELECT proname AS name, array_to_string(proconfig, ';') AS settings FROM pg_proc
     WHERE pronamespace = to_regnamespace(quote_ident($1))`,
    [used.schema],
  );
  expect(rows.length).toBeGreaterThan(20);
  for (const { name, settings } of rows)
    expect(settings, name).toMatch(/(^|;)search_path=pg_catalog, pg_temp(;|$)/);
});

test.each(["public", "public, pg_catalog"])(
  "no call runs a namesake of another role, with the search_path %s",
  async (path) => {
    const url = await ownDatabase();
    await createVector(url);
    const hostile = await connected(url);
    await hostile.query(NAMESAKES);
    // They would be called.
    await hostile.query(`SET search_path = ${path}`);
    await expect(hostile.query("SELECT 'a'::text || 1::bigint")).rejects.toThrow("namesake");
    await expect(
      hostile.query(
        "SELECT concat_ws(' ', 'a'::text, 1::bigint, 1::bigint, 1::bigint, 1::bigint, 1::bigint, 1::bigint, 1::bigint, 1::bigint)",
      ),
    ).rejects.toThrow("namesake");

    const withPath = new URL(url);
    withPath.searchParams.set("options", `-c search_path=${path.replace(" ", "\\ ")}`);
    await using stores = createPostgresStores({
      url: withPath.href,
      maxMessages: 4,
      ttlMs: 1e8,
      listen: true,
    });
    await stores.setup();
    await stores.setup();
    const store = stores.open("a");
    await store.addMessages(users(2));
    let hints = 0;
    using _watch = stores.watch("a", () => hints++);
    await expect.poll(() => hints).toBe(1);
    await store.commit({ append: users(1), metadata: { a: 1 } }, { operationId: "x" });
    await store.commit({ append: users(1), metadata: { a: 1 } }, { operationId: "x" });
    await store.addMessages([{ role: "assistant", content: "a" }, ...users(6)]);
    await store.addMessages(Array.from({ length: 6 }, () => ({ role: "assistant" as const, content: "a" })));
    await store.popMessage();
    await store.read({ before: "0" }).catch(() => undefined);
    expect((await store.read()).count).toBeGreaterThan(0);
    await expect.poll(() => hints).toBeGreaterThan(1);
    expect((await stores.listThreads()).threads).toHaveLength(1);
    const index = stores.index("i");
    const content = { version: 1, order: 1, value: 1, vectors: [[1, 0]], expiresAt: Date.now() + 1e8 };
    expect(await index.insert({ key: "k", id: "1" }, content)).toBe(true);
    expect(await index.update({ key: "k", id: "1" }, { ...content, version: 2 })).toBe(1);
    expect((await index.list()).entries).toHaveLength(1);
    expect((await index.list({ direction: "down" })).entries).toHaveLength(1);
    expect(await index.entriesOf("k")).toHaveLength(1);
    expect(await index.nearest([1, 0])).toHaveLength(1);
    expect((await stores.listIndexes()).names).toEqual(["i"]);
    expect(await index.remove({ key: "k", id: "1" })).toBe(true);
    const person = await connected(withPath.href);
    expect((await person.query("SELECT * FROM scrollback.conversation")).rows.length).toBeGreaterThan(0);
    await stores.deleteThread("a");
    await person.query("SELECT scrollback.sweep_v1(10), scrollback.forget_v1(10)");
    // setup() mends under the same path.
    await person.query("DROP FUNCTION scrollback.hint_v1");
    await stores.setup();
    expect((await person.query("SHOW search_path")).rows).toEqual([{ search_path: path }]);
  },
);

test("setup in the caller's transaction leaves its search_path", async () => {
  const client = await connected(await ownDatabase());
  await client.query("CREATE SCHEMA own; BEGIN; SET LOCAL search_path = own, public");
  await createPostgresStores({ client }).setup();
  expect((await client.query("SHOW search_path")).rows).toEqual([{ search_path: "own, public" }]);
  await client.query("COMMIT");
});
