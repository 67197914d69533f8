import { sharedServer } from "@scrollback/conformance/servers";
import type { MessageTraits, StoreOptions } from "@scrollback/store-core";
import { aesGcmCodec, gzipCodec } from "@scrollback/store-core/codecs";
import { createStores } from "@scrollback/store-core/driver";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "./client.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

let used: TestSchema;
beforeAll(async () => {
  used = await makeSchema((await sharedServer("postgres")).url);
});
afterAll(() => used[Symbol.asyncDispose]());

/** A message of any shape. */
type Message = Record<string, unknown> & { readonly role: "system" | "user" | "assistant" | "tool" };
const traits: MessageTraits<Message> = {
  role: ({ role }) => role,
  toolCalls: () => [],
  toolResults: () => [],
};
const user = (content: string): Message => ({ role: "user", content });
const open = (options?: StoreOptions<Message>) => createStores(connect(used), { ...options, traits });

/** What the view shows of a thread with the given messages: role, text and tool of each. */
async function shown(messages: Message[], options?: StoreOptions<Message>): Promise<unknown[][]> {
  await using stores = open(options);
  const store = stores.open();
  await store.addMessages(messages);
  return await rowsOf(store.threadId);
}

async function rowsOf(threadId: string): Promise<unknown[][]> {
  const { rows } = await used.pool.query<unknown[]>({
    text: `SELECT role, text, tool FROM ${used.quoted}.conversation WHERE thread = $1 ORDER BY sequence`,
    values: [threadId],
    rowMode: "array",
  });
  return rows;
}

test("the view has time, role, text and tool of each message", async () => {
  await using stores = open();
  const store = stores.open("a chat");
  const before = Date.now();
  await store.addMessages([
    { role: "system", content: "Be brief" },
    user("Weather?"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "I look" },
        { type: "text", text: "it up" },
        { type: "tool-call", toolCallId: "1", toolName: "weather", input: {} },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "weather", output: "sun" }] },
    { role: "assistant", content: "", tool_calls: [{ id: "2", function: { name: "news", arguments: "" } }] },
    { role: "assistant", parts: [{ type: "text", text: "Sunny" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "3", name: "search" }] },
  ]);
  expect(await rowsOf("a chat")).toEqual([
    ["system", "Be brief", null],
    ["user", "Weather?", null],
    ["assistant", "I look\nit up", "weather"],
    ["tool", null, "weather"],
    ["assistant", "", "news"],
    ["assistant", "Sunny", null],
    ["assistant", null, "search"],
  ]);
  const { rows } = await used.pool.query(
    `SELECT time FROM ${used.quoted}.conversation WHERE thread = 'a chat'`,
  );
  for (const { time } of rows) {
    expect(time.getTime()).toBeGreaterThanOrEqual(before);
    expect(time.getTime()).toBeLessThanOrEqual(Date.now());
  }
});

test("the view never fails: a message whose text is no text of PostgreSQL has role and time", async () => {
  const secret = { keys: [{ id: "k", key: new Uint8Array(32) }] };
  expect(await shown([user("a\0b"), user("a\ud800"), user("a\x1a\x1e"), user("💬")])).toEqual([
    ["user", null, null],
    ["user", null, null],
    ["user", "a\x1a\x1e", null],
    ["user", "💬", null],
  ]);
  expect(await shown([user("a")], { codec: aesGcmCodec(secret) })).toEqual([["user", null, null]]);
  expect(await shown([user("a".repeat(9_000))], { codec: gzipCodec() })).toEqual([["user", null, null]]);
});

test.each([
  "content: null",
  'content: {"text":1}',
  'content: [1, null, "x", [], {"text":null}, {"text":{}}]',
  "parts: {}",
  'tool_calls: [1, {"function":"x"}, {"function":{"name":{"a":1}}}]',
])("the view takes content of any shape: %s", async (field) => {
  const [name = "", value = ""] = field.split(/: (.*)/s);
  const rows = await shown([{ role: "user", [name]: JSON.parse(value) }]);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.[1]).toBeNull();
});

test("the view never fails for a damaged text", async () => {
  await using stores = open();
  const store = stores.open();
  const texts = ["", "1", '{"content":', "x"];
  await store.addMessages(texts.map(() => user("whole")));
  for (const [at, text] of texts.entries())
    await used.raw.plant(store.threadId, at + 1, { kind: "u", createdAt: 1, text });
  expect((await rowsOf(store.threadId)).map(([role, text]) => [role, text])).toEqual(
    texts.map(() => ["user", null]),
  );
});

test("the view has neither expired threads nor those of another tenant", async () => {
  await using stores = open({ ttlMs: 3_600_000 });
  for (const id of ["expired", "foreign", "own"]) await stores.open(id).addMessages([user("x")]);
  await used.pool.query(`UPDATE ${used.quoted}.threads SET expires_at = now() WHERE id = 'expired'`);
  await used.pool.query(`UPDATE ${used.quoted}.threads SET tenant = 'b' WHERE id = 'foreign'`);
  expect((await Promise.all(["expired", "foreign", "own"].map(rowsOf))).map((rows) => rows.length)).toEqual([
    0, 0, 1,
  ]);
});

test("the view shows of a chat's message what people see", async () => {
  const message = { role: "user", parts: [{ type: "text", text: "Hello" }], id: "1" };
  const call = { role: "assistant", parts: [{ type: "dynamic-tool", toolName: "weather" }] };
  expect(
    await shown([
      { role: "user", content: "", metadata: { message } },
      { role: "assistant", content: "", metadata: { message: call } },
      { role: "user", content: "own", metadata: { message: "no object" } },
    ]),
  ).toEqual([
    ["user", "Hello", null],
    ["assistant", null, "weather"],
    ["user", "own", null],
  ]);
});

test("no parallel plan has the function that catches errors, which servers before version 18 refuse", async () => {
  const { rows } = await used.pool.query(
    "SELECT proparallel FROM pg_proc WHERE proname = 'value_of' AND pronamespace = $1::regnamespace",
    [used.quoted],
  );
  expect(rows).toEqual([{ proparallel: "u" }]);
});
