import { expect, test } from "vitest";
import { createD1Stores, createDurableObjectStores, serveDurableObjectStores } from "../src/index.ts";
import { makeStorage } from "./storage.ts";

const client = makeStorage();
const d1 = { prepare() {}, batch() {}, withSession() {} };
const send = () => Promise.resolve(new Response());

test.each([
  [createD1Stores, undefined, "give client"],
  [createD1Stores, {}, "give client"],
  [createD1Stores, { client: {} }, "client"],
  [createD1Stores, { client }, "client"],
  [createD1Stores, { url: "d1:chats" }, "url"],
  [createD1Stores, { client: d1, tablePrefix: "Chats" }, "tablePrefix"],
  [createD1Stores, { client: d1, tablePrefix: "_cf_a" }, "tablePrefix"],
  [createD1Stores, { client: d1, tablePrefix: "a; DROP" }, "tablePrefix"],
  [createD1Stores, { client: d1, maxMessages: 0 }, "maxMessages"],
  [createDurableObjectStores, undefined, "give either client or send"],
  [createDurableObjectStores, { client, send }, "give either client or send"],
  [createDurableObjectStores, { client: { storage: client } }, "client"],
  [createDurableObjectStores, { send: "chats" }, "send"],
  [createDurableObjectStores, { send, tablePrefix: "chats_" }, "tablePrefix"],
  [createDurableObjectStores, { client, tablePrefix: "" }, "tablePrefix"],
  [createDurableObjectStores, { client, ttlMs: 0.5 }, "ttlMs"],
  [serveDurableObjectStores, {}, "client"],
  [serveDurableObjectStores, { client, ttlMs: 1 }, "ttlMs"],
])("%o refuses %o before anything is sent, and names %s", (create, options, name) => {
  expect(() => (create as (given: unknown) => unknown)(options)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) }),
  );
});

test("a tablePrefix separates the threads of one storage", async () => {
  const own = makeStorage();
  const [one, other] = ["one_", "other_"].map((tablePrefix) =>
    createDurableObjectStores({ client: own, tablePrefix }),
  );
  await one?.open("a").addMessages([{ role: "user", content: "Hello" }]);
  expect(await other?.open("a").listMessages()).toEqual([]);
});
