import { startServer } from "@scrollback/conformance/servers";
import type { StoreFactory } from "@scrollback/store-core";
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { Kysely, PostgresDialect } from "kysely";
import { Client, type ClientBase } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

/** A schema, stores on a pool, and a function that opens a connection with stores on it. */
async function setUp() {
  const schema = await makeSchema((await server).url);
  onTestFinished(() => schema[Symbol.asyncDispose]());
  const outside = createPostgresStores({ url: schema.url, schema: schema.schema });
  onTestFinished(() => outside.close());
  return { schema, outside, inside: () => openInside(schema) };
}

async function openInside({ url, schema }: TestSchema): Promise<{ client: Client; stores: StoreFactory }> {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return { client, stores: createPostgresStores({ client, schema }) };
}

/** The statements that a client sent. */
function watch(client: Client): unknown[] {
  const sent: unknown[] = [];
  const { query } = client;
  Reflect.set(client, "query", (...asked: unknown[]) => {
    sent.push(asked[0]);
    return Reflect.apply(query, client, asked);
  });
  return sent;
}

test("conflicts, repeats and refusals leave the caller's transaction usable", async () => {
  const { outside, inside } = await setUp();
  const { client, stores } = await inside();
  await outside.open("a").addMessages([user("1")], { operationId: "first" });
  const { revision } = await outside.open("a").read();
  await client.query("BEGIN");
  const store = stores.open("a");
  expect((await rejection(store.addMessages([user("x")], { expectedRevision: null }))).code).toBe("CONFLICT");
  expect((await rejection(store.addMessages([user("x")], { operationId: "first" }))).code).toBe("CONFLICT");
  await store.addMessages([user("1")], { operationId: "first" });
  expect((await rejection(stores.deleteThread("a", { expectedRevision: "other.1" }))).code).toBe("CONFLICT");
  await store.addMessages([user("2")], { expectedRevision: revision });
  expect((await rejection(store.addMessages([user("x")], { expectedRevision: revision }))).code).toBe(
    "CONFLICT",
  );
  await client.query("COMMIT");
  expect(await outside.open("a").listMessages()).toEqual(users(2));
});

test("after a rollback nothing is there, operation ids are free, and no revision is given again", async () => {
  const { schema, outside, inside } = await setUp();
  const { client, stores } = await inside();
  const store = stores.open("a");
  const given: (string | null)[] = [];
  for (let round = 0; round < 3; round++) {
    await client.query("BEGIN");
    given.push(await store.commit({ append: [user("lost")] }, { operationId: "same" }));
    await client.query("SAVEPOINT here");
    given.push(await store.commit({ append: [user("lost")] }));
    await client.query("ROLLBACK TO here");
    given.push(await store.commit({ append: [user("lost")] }));
    await client.query("ROLLBACK");
  }
  expect(await outside.open("a").read()).toMatchObject({ revision: null, entries: [] });
  expect(await schema.raw.dump("a")).toBe("");
  given.push(await outside.open("a").commit({ append: [user("1")] }, { operationId: "same" }));
  await client.query("BEGIN");
  given.push(await store.commit({ append: [user("lost")] }));
  await client.query("ROLLBACK");
  given.push(await outside.open("a").commit({ append: [user("2")] }));
  expect(new Set(given).size).toBe(given.length);
  expect(await outside.open("a").listMessages()).toEqual(users(2));
  // The undone revision is none that the thread has.
  expect(
    (await rejection(outside.open("a").addMessages([user("x")], { expectedRevision: given.at(-2) ?? null })))
      .code,
  ).toBe("CONFLICT");
});

test("nothing is repeated in the caller's transaction, and no statement is prepared", async () => {
  const { outside, inside } = await setUp();
  await outside.open("a").addMessages(users(1));
  const { client, stores } = await inside();
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  expect(await stores.open("a").listMessages()).toEqual(users(1));
  await outside.open("a").addMessages([user("2")]);
  const sent = watch(client);
  const error = await rejection(stores.open("a").addMessages([user("x")]));
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect(error.message).toContain("repeat all of it");
  const second = await rejection(stores.open("a").listMessages());
  expect(second).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  expect(second.message).toContain("roll back");
  expect(sent).toHaveLength(2);
  expect(sent.every((query) => typeof query === "object" && query !== null && !("name" in query))).toBe(true);
  await client.query("ROLLBACK");
  await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
  await stores.open("a").addMessages([user("3")]);
  await client.query("COMMIT");
  expect(await outside.open("a").listMessages()).toEqual(users(3));
});

test("a deadlock of two transactions is a retryable error of one of them", async () => {
  const { outside, inside } = await setUp();
  for (const id of ["a", "b"]) await outside.open(id).addMessages(users(1));
  const [one, other] = [await inside(), await inside()];
  for (const { client } of [one, other]) await client.query("BEGIN");
  await one.stores.open("a").addMessages([user("2")]);
  await other.stores.open("b").addMessages([user("2")]);
  const results = await Promise.allSettled([
    one.stores.open("b").addMessages([user("3")]),
    other.stores.open("a").addMessages([user("3")]),
  ]);
  const failed = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  expect(failed).toHaveLength(1);
  expect(failed[0]).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  for (const { client } of [one, other]) await client.query("ROLLBACK");
  expect(await outside.open("a").listMessages()).toEqual(users(1));
});

test("setup in the caller's transaction is undone by its rollback", async () => {
  const { schema, inside } = await setUp();
  const { client } = await inside();
  const stores = createPostgresStores({ client, schema: `${schema.schema} 2` });
  await client.query("BEGIN");
  await stores.setup();
  await stores.open("a").addMessages(users(1));
  await client.query("ROLLBACK");
  const error = await rejection(stores.open("a").listMessages());
  expect(error.message).toContain("run setup()");
});

/** The application's own table, on the connection of its transaction. */
const orders = pgTable("suite_orders", { id: text().primaryKey() });

test.each([
  [
    "Drizzle",
    async (client: ClientBase, id: string) => {
      await drizzle(client as Client)
        .insert(orders)
        .values({ id });
    },
  ],
  [
    "Kysely",
    async (client: ClientBase, id: string) => {
      const pool = {
        connect: async () => Object.assign(client, { release: () => undefined }),
        end: async () => {},
      };
      const db = new Kysely<{ suite_orders: { id: string } }>({
        dialect: new PostgresDialect({ pool: pool as never }),
      });
      await db.insertInto("suite_orders").values({ id }).execute();
    },
  ],
])("a row that %s writes and messages are committed or undone together", async (_, insert) => {
  const { schema, outside, inside } = await setUp();
  const { client, stores } = await inside();
  await schema.pool.query("CREATE TABLE IF NOT EXISTS suite_orders (id text PRIMARY KEY)");
  const rows = async (id: string) =>
    await drizzle(schema.pool).select().from(orders).where(eq(orders.id, id));
  for (const [id, end] of [
    [crypto.randomUUID(), "ROLLBACK"],
    [crypto.randomUUID(), "COMMIT"],
  ] as const) {
    await client.query("BEGIN");
    await insert(client, id);
    await stores.open(id).addMessages(users(1));
    await client.query(end);
    const isThere = end === "COMMIT";
    expect(await rows(id)).toEqual(isThere ? [{ id }] : []);
    expect(await outside.open(id).listMessages()).toEqual(isThere ? users(1) : []);
  }
});
