import { startServer } from "@scrollback/conformance/servers";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";

// Of its own, because replication is a setting of the server.
const server = startServer("postgres", { args: ["-c", "wal_level=logical"] });
afterAll(async () => (await server).stop());

async function database(name: string): Promise<{ url: string; client: Client }> {
  const { url } = await server;
  const admin = new Client(url);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const own = new URL(url);
  own.pathname = name;
  const client = new Client(own.href);
  await client.connect();
  onTestFinished(() => client.end());
  return { url: own.href, client };
}

test("a publication of the schema replicates every call to a second database, which stores can use", async () => {
  const from = await database("source");
  const to = await database("target");
  await using stores = createPostgresStores({ url: from.url, maxMessages: 3, ttlMs: 1e8 });
  await using copies = createPostgresStores({ url: to.url });
  await stores.setup();
  await copies.setup();
  await from.client.query(
    "CREATE PUBLICATION p FOR TABLE scrollback.threads, scrollback.messages, scrollback.operations, scrollback.deletions, scrollback.entries",
  );
  await from.client.query("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  const { hostname: host } = new URL(from.url);
  const inside = `host=127.0.0.1 port=5432 user=postgres dbname=source`;
  expect(host).not.toBe("");
  await to.client.query(
    `CREATE SUBSCRIPTION s CONNECTION '${inside}' PUBLICATION p WITH (create_slot = false, slot_name = s, copy_data = false)`,
  );
  const store = stores.open("kept");
  for (let round = 0; round < 70; round++) await store.addMessages(users(2));
  await store.clear();
  await store.addMessages(users(2));
  for (const id of ["gone", "gone", "absent"]) {
    if (id === "gone") await stores.open(id).addMessages(users(1));
    await stores.deleteThread(id);
  }
  const index = stores.index("i");
  const content = { version: 1, order: 0, value: 1 };
  for (const id of ["1", "2"]) await index.insert({ key: "k", id }, content);
  await index.update({ key: "k", id: "1" }, { ...content, version: 2 });
  await index.remove({ key: "k", id: "2" });
  await from.client.query("UPDATE scrollback.deletions SET at = at - interval '1 h'");
  await from.client.query("SELECT scrollback.sweep_v1()");
  await stores.open("last").addMessages(users(1));
  const last = copies.open("last");
  await expect.poll(() => last.listMessages()).toEqual(users(1));
  expect(await copies.open("kept").read()).toEqual(await store.read());
  for (const table of ["threads", "messages", "operations", "deletions", "entries"]) {
    const count = async ({ client }: { client: Client }) =>
      (await client.query(`SELECT t::text FROM scrollback.${table} t ORDER BY 1`)).rows;
    expect(await count(to), table).toEqual(await count(from));
  }
  // After a switch the copy accepts writes.
  await to.client.query("ALTER SUBSCRIPTION s DISABLE");
  await copies.deleteThread("kept");
  await copies.open("kept").addMessages(users(1));
  await to.client.query("ALTER SUBSCRIPTION s SET (slot_name = NONE)");
  await to.client.query("DROP SUBSCRIPTION s");
});
