import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { rejection } from "./rejection.ts";

const client = await PGlite.create();
afterAll(() => client.close());
const stores = createPostgresStores({ client, schema: "s", maxMessages: 2, trimming: "exact" });

beforeEach(async () => {
  await client.exec("RESET client_encoding; DROP SCHEMA IF EXISTS s CASCADE; DROP PUBLICATION IF EXISTS p");
  await stores.setup();
  await stores.open("é").addMessages([user("é")]);
});

const index = stores.index("i");
const place = { key: "é", id: "1" };
const content = { version: 1, order: 0, value: "é" };

test.each<[call: string, call: () => Promise<unknown>]>([
  ["commit", () => stores.open("é").addMessages([user("é")])],
  ["read", () => stores.open("é").read()],
  ["deleteThread", () => stores.deleteThread("é")],
  ["listThreads", () => stores.listThreads({ prefix: "é" })],
  ["insert", () => index.insert(place, content)],
  ["update", () => index.update(place, content)],
  ["remove", () => index.remove(place)],
  ["entriesOf", () => index.entriesOf("é")],
  ["list", () => index.list()],
  ["listIndexes", () => stores.listIndexes({ prefix: "é" })],
])("%s refuses a connection on which another encoding is left over", async (_, call) => {
  await client.exec("SET client_encoding = 'LATIN1'");
  expect(await rejection(call())).toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("the connection's client_encoding must be UTF8"),
  });
  await client.exec("RESET client_encoding");
  expect(await stores.open("é").listMessages()).toEqual([user("é")]);
});

test.each([
  ["a column list", "s.messages (text)"],
  ["a row filter", "s.messages WHERE (kind = 'u')"],
])("a publication with %s that keeps the server from deleting is named", async (_, table) => {
  await client.exec(`CREATE PUBLICATION p FOR TABLE ${table}`);
  const trim = () => stores.open("é").addMessages([user("2"), user("3")]);
  for (const call of [trim, () => stores.deleteThread("é")])
    expect(await rejection(call())).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("a publication"),
    });
  await client.exec("DROP PUBLICATION p");
  await trim();
  expect(await stores.open("é").listMessages()).toEqual([user("2"), user("3")]);
});
