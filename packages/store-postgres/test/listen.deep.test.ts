import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { startServer } from "@scrollback/conformance/servers";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores, type PostgresStoreOptions } from "../src/index.ts";
import { users } from "./messages.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

async function setUp() {
  const schema = await makeSchema((await server).url);
  onTestFinished(() => schema[Symbol.asyncDispose]());
  const { url } = schema;
  const open = (options: Partial<PostgresStoreOptions> = {}) => {
    const stores = createPostgresStores({ url, schema: schema.schema, ...options });
    onTestFinished(() => stores.close());
    return stores;
  };
  return { ...schema, open };
}

/** A client that notes the payloads of all notifications. */
async function eavesdrop(url: string) {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  const heard: string[] = [];
  client.on("notification", ({ payload }) => heard.push(payload ?? ""));
  await client.query("LISTEN scrollback");
  /** A notification of its own comes after those that were sent before. */
  const all = async () => {
    const end = crypto.randomUUID();
    await client.query("SELECT pg_notify('scrollback', $1)", [end]);
    await expect.poll(() => heard.at(-1)).toBe(end);
    return heard.slice(0, -1);
  };
  return { client, all };
}

/** The connections of the database that listen. */
async function listening({ pool }: Pick<TestSchema, "pool">, name: string): Promise<number[]> {
  const text = "SELECT pid FROM pg_stat_activity WHERE query ~ '^LISTEN|watch_v1' AND application_name = $1";
  return (await pool.query<{ pid: number }>(text, [name])).rows.map(({ pid }) => pid);
}

function count(stores: ReturnType<typeof createPostgresStores>, threadId: string) {
  const counted = { hints: 0, watch: stores.watch(threadId, () => counted.hints++) };
  return counted;
}

test("a watch is hinted at commits and the deletion by other connections, with digests that show no id", async () => {
  const { open, url } = await setUp();
  const { all } = await eavesdrop(url);
  const [stores, other] = [open({ listen: true }), open()];
  await other.open("secret id").addMessages(users(1));
  const watched = count(stores, "secret id");
  await expect.poll(() => watched.hints).toBe(1);
  await other.open("secret id").addMessages(users(1));
  await expect.poll(() => watched.hints).toBe(2);
  await other.deleteThread("secret id");
  await expect.poll(() => watched.hints).toBe(3);
  const heard = await all();
  expect(heard).toEqual([heard[0], heard[0]]);
  expect(heard[0]).toMatch(/^[0-9a-f]{32}$/);
});

test("what is not watched, refused, repeated or rolled back sends no notification", async () => {
  const { open, url, schema } = await setUp();
  const { client, all } = await eavesdrop(url);
  const [stores, other] = [open({ listen: true }), open()];
  const store = other.open("a");
  await store.addMessages(users(1), { operationId: "same" });
  for (let commit = 0; commit < 2; commit++) await other.open("b").addMessages(users(1));
  await other.deleteThread("b");
  const watched = count(stores, "a");
  await expect.poll(() => watched.hints).toBe(1);
  await expect(store.addMessages(users(1), { expectedRevision: null })).rejects.toThrow();
  await store.addMessages(users(1), { operationId: "same" });
  await client.query("BEGIN");
  await createPostgresStores({ client, schema }).open("a").addMessages(users(1));
  await client.query("ROLLBACK");
  expect(await all()).toEqual([]);
  await store.addMessages(users(1));
  expect(await all()).toHaveLength(2);
});

test("a thread that a transaction has locked is watched once that ends, and others at once", async () => {
  const { open, url, schema } = await setUp();
  const [stores, other] = [open({ listen: true }), open()];
  for (const id of ["locked", "free"]) await other.open(id).addMessages(users(1));
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await createPostgresStores({ client, schema }).open("locked").addMessages(users(1));
  const [locked, free] = [count(stores, "locked"), count(stores, "free")];
  await expect.poll(() => free.hints).toBe(1);
  expect(locked.hints).toBe(0);
  await client.query("COMMIT");
  await expect.poll(() => locked.hints).toBe(1);
  await other.open("locked").addMessages(users(1));
  await expect.poll(() => locked.hints).toBe(2);
});

test("two schemas, and two tenants, with the same ids do not hear each other", async () => {
  const one = await setUp();
  const other = await setUp();
  const tenant = (name: string) => {
    const url = new URL(one.url);
    url.searchParams.set("options", `-c scrollback.tenant=${name}`);
    return one.open({ url: url.href, listen: true });
  };
  const all = [one.open({ listen: true }), other.open({ listen: true }), tenant("acme"), tenant("globex")];
  for (const stores of all) await stores.open("chat").addMessages(users(1));
  const watches = all.map((stores) => count(stores, "chat"));
  const hints = () => watches.map((watched) => watched.hints);
  await expect.poll(hints).toEqual([1, 1, 1, 1]);
  for (const [index, stores] of all.entries()) {
    await stores.open("chat").addMessages(users(1));
    await expect.poll(hints).toEqual(all.map((_, at) => (at <= index ? 2 : 1)));
  }
});

test("a connection that is ended is hinted, opened again and hinted; close leaves none", async () => {
  const one = await setUp();
  const url = new URL(one.url);
  url.searchParams.set("application_name", `suite ${crypto.randomUUID()}`);
  const name = url.searchParams.get("application_name") ?? "";
  const [stores, other] = [one.open({ url: url.href, listen: true }), one.open()];
  await other.open("a").addMessages(users(1));
  const watched = count(stores, "a");
  await expect.poll(() => watched.hints).toBe(1);
  const [pid] = await listening(one, name);
  await one.pool.query("SELECT pg_terminate_backend($1)", [pid]);
  await expect.poll(() => watched.hints).toBe(3);
  expect(await listening(one, name)).not.toContain(pid);
  await other.open("a").addMessages(users(1));
  await expect.poll(() => watched.hints).toBe(4);
  watched.watch?.[Symbol.dispose]();
  await expect.poll(() => listening(one, name)).toEqual([]);
  const again = count(stores, "a");
  await expect.poll(() => again.hints).toBe(1);
  await stores.close();
  await expect
    .poll(
      async () =>
        (await one.pool.query("SELECT FROM pg_stat_activity WHERE application_name = $1", [name])).rowCount,
    )
    .toBe(0);
});

test("a watch does not keep the process running", async () => {
  const { open, url, schema } = await setUp();
  await open().open("a").addMessages(users(1));
  const program = new URL("./watching-child.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [program, url, schema], { timeout: 50_000 });
  expect(stdout).toBe("hinted\n");
});
