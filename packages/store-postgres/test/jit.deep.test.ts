import { startServer } from "@scrollback/conformance/servers";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";
import { makeSchema } from "./schema.ts";

const server = startServer("postgres-15");
afterAll(async () => (await server).stop());

test("a server that compiles what it takes for expensive compiles no statement of a call", async () => {
  const schema = await makeSchema((await server).url);
  onTestFinished(() => schema[Symbol.asyncDispose]());
  const client = new Client(schema.url);
  await client.connect();
  onTestFinished(() => client.end());
  const plans: string[] = [];
  client.on("notice", ({ message = "" }) => plans.push(message));
  await client.query(`LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
    SET auto_explain.log_nested_statements = on; SET client_min_messages = log`);
  const compiled = () => plans.splice(0).filter((plan) => plan.includes("JIT:"));
  await client.query("SET jit_above_cost = 0");
  await client.query(`SELECT count(*) FROM ${schema.quoted}.threads`);
  expect(compiled()).toHaveLength(1);
  await client.query("RESET jit_above_cost");

  const stores = createPostgresStores({ client, schema: schema.schema, maxMessages: 3, ttlMs: 1e8 });
  const store = stores.open("a");
  for (let round = 0; round < 2; round++) {
    await store.addMessages(users(5));
    expect(await store.listMessages()).toHaveLength(3);
    await stores.listThreads();
    await stores.deleteThread("a");
    const index = stores.index("i");
    const content = { version: 1, order: 0, value: 1 };
    await index.insert({ key: "k", id: "1" }, content);
    await index.update({ key: "k", id: "1" }, { ...content, version: 2 });
    await index.list();
    await index.entriesOf("k");
    await stores.listIndexes();
    await index.remove({ key: "k", id: "1" });
  }
  expect(plans.length).toBeGreaterThan(40);
  expect(compiled()).toEqual([]);
});
