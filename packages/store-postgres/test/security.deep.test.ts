import { startServer } from "@scrollback/conformance/servers";
import type { StoreFactory } from "@scrollback/store-core";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema } from "./schema.ts";
import { createVector } from "./vector.ts";

// The recipe of docs/reference/store-postgres.md, Row-level security.

const server = startServer("postgres");
afterAll(async () => (await server).stop());

/** The statements of the recipe: a role that owns nothing, and a policy for each table. */
const policies = (schema: string, role: string) => `
CREATE ROLE ${role} LOGIN;
GRANT USAGE ON SCHEMA ${schema} TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.threads, ${schema}.messages, ${schema}.operations, ${schema}.deletions, ${schema}.entries TO ${role};
${["threads", "messages", "operations", "deletions", "entries"]
  .map(
    (table) => `ALTER TABLE ${schema}.${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ${schema}.${table} TO ${role} USING (tenant = nullif(current_setting('scrollback.tenant', true), ''));`,
  )
  .join("\n")}`;

async function setUp() {
  const { url } = await server;
  const schema = await makeSchema(url);
  const role = `suite_${crypto.randomUUID().replaceAll("-", "")}`;
  onTestFinished(async () => {
    await schema.pool.query(`DROP OWNED BY ${role}`);
    await schema.pool.query(`DROP ROLE ${role}`);
    await schema[Symbol.asyncDispose]();
  });
  await createVector(url);
  await schema.pool.query(policies(schema.quoted, role));
  const own = new URL(url);
  own.username = role;
  const client = new Client(own.href);
  await client.connect();
  onTestFinished(() => client.end());
  const stores = createPostgresStores({ client, schema: schema.schema });
  /** Runs calls for a tenant, in a transaction. */
  const as = async <T>(tenant: string, calls: (stores: StoreFactory) => Promise<T>): Promise<T> => {
    await client.query("BEGIN");
    await client.query("SELECT set_config('scrollback.tenant', $1, true)", [tenant]);
    try {
      return await calls(stores);
    } finally {
      await client.query("COMMIT");
    }
  };
  return { schema, role, client, stores, as };
}

test("two tenants with the same ids have threads of their own, and nothing tells that the other exists", async () => {
  const { schema, client, as } = await setUp();
  const write = (tenant: string, count: number) =>
    as(tenant, (stores) =>
      stores
        .open("chat")
        .commit({ append: users(count), metadata: tenant }, { operationId: "same", expectedRevision: null }),
    );
  const revision = await write("acme", 2);
  await write("globex", 3);
  for (const [tenant, count] of [
    ["acme", 2],
    ["globex", 3],
  ] as const) {
    const page = await as(tenant, (stores) => stores.open("chat").read());
    expect(page).toMatchObject({ metadata: tenant, count });
    const { threads } = await as(tenant, (stores) => stores.listThreads());
    expect(threads.map(({ threadId, metadata }) => [threadId, metadata])).toEqual([["chat", tenant]]);
  }
  // Another tenant's revision is any other one, and its operation is none.
  const error = await rejection(
    as("globex", (stores) => stores.open("chat").addMessages([user("x")], { expectedRevision: revision })),
  );
  expect(error.code).toBe("CONFLICT");
  expect(error.message).not.toContain("acme");
  // Neither SQL nor a deletion of the other tenant reaches it.
  await as("acme", async (stores) => {
    const tables = ["threads", "messages", "operations", "deletions", "entries"];
    for (const table of tables) {
      const { rows } = await client.query(`SELECT DISTINCT tenant FROM ${schema.quoted}.${table}`);
      expect(rows.every(({ tenant }) => tenant === "acme")).toBe(true);
    }
    await stores.deleteThread("chat");
  });
  expect(await as("globex", (stores) => stores.open("chat").listMessages())).toEqual(users(3));
});

test("without a tenant the role reads nothing and writes nothing", async () => {
  const { client, stores, as, schema } = await setUp();
  await as("acme", (open) => open.open("chat").addMessages(users(1)));
  expect(await stores.open("chat").listMessages()).toEqual([]);
  const error = await rejection(stores.open("chat").addMessages([user("x")]));
  expect(error.code).toBe("UNAVAILABLE");
  expect(error.message).toContain("may not");
  expect((await client.query(`SELECT count(*)::int AS n FROM ${schema.quoted}.messages`)).rows).toEqual([
    { n: 0 },
  ]);
  // The setting ended with the transaction.
  expect(
    (await client.query("SELECT current_setting('scrollback.tenant', true) AS tenant")).rows[0].tenant,
  ).toBe("");
});

test("entries of an index belong to the tenant too", async () => {
  const { as, schema } = await setUp();
  for (const tenant of ["acme", "globex"])
    await as(tenant, (stores) =>
      stores
        .index("i")
        .insert({ key: "k", id: "e" }, { version: 1, order: 1, value: tenant, vectors: [[1]] }),
    );
  for (const tenant of ["acme", "globex"]) {
    const { entries } = await as(tenant, (stores) => stores.index("i").list());
    expect(entries.map(({ value }) => value)).toEqual([tenant]);
    const nearest = await as(tenant, (stores) => stores.index("i").nearest([1]));
    expect(nearest.map(({ value }) => value)).toEqual([tenant]);
    expect((await as(tenant, (stores) => stores.listIndexes())).names).toEqual(["i"]);
  }
  // The owner passes the policies, but not the condition of the function.
  await using owner = createPostgresStores({
    url: `${schema.url}?options=${encodeURIComponent("-c scrollback.tenant=acme")}`,
    schema: schema.schema,
  });
  expect(await owner.index("i").nearest([1])).toMatchObject([{ value: "acme" }]);
});

test("the view shows a tenant its own messages, and no tenant none, also of rows written before the policies", async () => {
  const { schema, client, as } = await setUp();
  await using outside = createPostgresStores({ url: schema.url, schema: schema.schema });
  await outside.open("chat").addMessages([user("of no tenant")]);
  await as("acme", (stores) => stores.open("chat").addMessages([user("of acme")]));
  await schema.pool.query(
    `GRANT SELECT ON ${schema.quoted}.conversation TO ${(await client.query("SELECT current_user AS name")).rows[0].name}`,
  );
  const texts = async () =>
    (await client.query(`SELECT text FROM ${schema.quoted}.conversation`)).rows.map(({ text }) => text);
  expect(await texts()).toEqual([]);
  expect(await as("acme", texts)).toEqual(["of acme"]);
  expect(await as("globex", texts)).toEqual([]);
});
