import { Pool } from "@neondatabase/serverless";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import type { PostgresClient } from "../src/options.ts";
import { users } from "./messages.ts";
import { makeSchema } from "./schema.ts";
import { startNeonProxy } from "./websocket-proxy.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

async function setUp() {
  const { url } = await server;
  const schema = await makeSchema(url);
  const proxy = await startNeonProxy(url);
  const pool = new Pool({ connectionString: url, max: 4 });
  pool.on("error", () => undefined);
  onTestFinished(async () => {
    await pool.end();
    await proxy[Symbol.asyncDispose]();
    await schema[Symbol.asyncDispose]();
  });
  const stores = createPostgresStores({
    client: pool as unknown as PostgresClient,
    schema: schema.schema,
  });
  return { proxy, pool, stores, schema: schema.schema };
}

test("a lost WebSocket loses no write and doubles none", async () => {
  const { stores, proxy } = await setUp();
  const store = stores.open("a");
  await store.addMessages(users(1));
  for (let round = 0; round < 5; round++) {
    const writing = store.addMessages(users(1));
    proxy.cut();
    await writing;
  }
  expect(await store.listMessages()).toHaveLength(6);
});

test("listen: true opens a WebSocket of its own, and another one after its loss", async () => {
  const { stores: other, pool, schema, proxy } = await setUp();
  await using stores = createPostgresStores({
    client: pool as unknown as PostgresClient,
    schema,
    listen: true,
  });
  await other.open("a").addMessages(users(1));
  let hints = 0;
  using _watch = stores.watch("a", () => hints++);
  await expect.poll(() => hints).toBe(1);
  await other.open("a").addMessages(users(1));
  await expect.poll(() => hints).toBe(2);
  proxy.cut();
  await expect.poll(() => hints).toBe(4);
  await other.open("a").addMessages(users(1));
  await expect.poll(() => hints).toBe(5);
});
