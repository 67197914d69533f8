import { writeFileSync } from "node:fs";
import { ChatStore } from "@scrollback/chats";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

type Fields = Record<string, unknown>;

const text = (value: unknown) => ({ content_type: "text", parts: [value] });
const node = (id: string, parent: unknown, fields: Fields = {}) => ({
  ...{ id, parent, children: [] },
  message: { id, author: { role: "user" }, content: text(id), ...fields },
});
const chatGpt = (mapping: unknown, current_node: unknown, fields: Fields = {}) => ({
  ...{ conversation_id: "bad", title: "Bad", create_time: 1_756_000_000, mapping, current_node },
  ...fields,
});
const webUi = (messages: unknown, currentId: unknown, fields: Fields = {}) => ({
  ...{ id: "bad", title: "Bad", chat: { history: { messages, currentId } }, created_at: 1_700_000_000 },
  ...fields,
});
const libreChat = (messages: unknown, fields: Fields = {}) => ({
  conversationId: "bad",
  messages,
  ...fields,
});
const libreMessage = (messageId: unknown, parentMessageId: unknown, fields: Fields = {}) => ({
  ...{ messageId, parentMessageId, isCreatedByUser: true, text: String(messageId) },
  ...fields,
});

/** Text of JSON that `JSON.stringify` cannot write. */
class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Imports one conversation between two good ones. */
async function importBetween(from: string, value: unknown, ...args: string[]) {
  using folder = new Folder();
  const good = (id: string) => {
    if (from === "chatgpt") return chatGpt({ a: node("a", null) }, "a", { conversation_id: id });
    if (from === "open-webui")
      return webUi({ a: { id: "a", parentId: null, role: "user", content: "a" } }, "a", { id });
    return libreChat([libreMessage("a", null)], { conversationId: id });
  };
  const middle = value instanceof Raw ? value.text : JSON.stringify(value);
  const path = folder.file("conversations.json");
  writeFileSync(path, `[${JSON.stringify(good("good-1"))},\n${middle} ,${JSON.stringify(good("good-2"))}]\n`);
  const result = await run([
    "import",
    folder.url(),
    "--from",
    from,
    "--owner",
    "ada",
    "--json",
    path,
    ...args,
  ]);
  await using stores = folder.stores();
  await using chats = new ChatStore<{ id: string; role: "user"; parts: Fields[] }>({ stores });
  const mine = chats.of("ada");
  const ids = (await mine.list({ limit: 100 })).chats.map(({ id }) => id).sort();
  const entries = (await mine.read(`${from}-bad`))?.entries ?? [];
  const messages = entries.map(({ message }) => message);
  return { ...result, ids, messages, lines: jsonLines(result.stdout) };
}

test.each<[from: string, name: string, value: unknown, problem: string]>([
  [
    "chatgpt",
    "a cycle",
    chatGpt({ a: node("a", "b"), b: node("b", "a") }, "a"),
    'message "a" is its own ancestor',
  ],
  ["chatgpt", "its own parent", chatGpt({ a: node("a", "a") }, "a"), "its own ancestor"],
  [
    "chatgpt",
    "a missing parent",
    chatGpt({ a: node("a", "gone") }, "a"),
    'message "gone" of the current path is missing',
  ],
  ["chatgpt", "a missing current node", chatGpt({ a: node("a", null) }, "gone"), "is missing"],
  ["chatgpt", "the prototype as parent", chatGpt({ a: node("a", "constructor") }, "a"), "is missing"],
  ["chatgpt", "a wrong mapping", chatGpt([], "a"), "mapping must be an object"],
  ["chatgpt", "a wrong current node", chatGpt({ a: node("a", null) }, 7), "current_node must be a text"],
  ["chatgpt", "a wrong node", chatGpt({ a: "x" }, "a"), 'message "a" must be an object'],
  ["chatgpt", "a wrong parent", chatGpt({ a: node("a", 7) }, "a"), "the parent of a message must be an id"],
  [
    "chatgpt",
    "a wrong message",
    chatGpt({ a: { ...node("a", null), message: 7 } }, "a"),
    "must be an object",
  ],
  ["chatgpt", "a wrong content", chatGpt({ a: node("a", null, { content: 7 }) }, "a"), "must be an object"],
  [
    "chatgpt",
    "wrong parts",
    chatGpt({ a: node("a", null, { content: { parts: 7 } }) }, "a"),
    "must be a list",
  ],
  [
    "chatgpt",
    "no id",
    chatGpt({ a: node("a", null) }, "a", { conversation_id: null }),
    "conversation_id must be a text",
  ],
  [
    "chatgpt",
    "an id that is too long",
    chatGpt({ a: node("a", null) }, "a", { conversation_id: "x".repeat(2_000) }),
    "1024 bytes",
  ],
  [
    "chatgpt",
    "an id with half a character",
    chatGpt({ a: node("a", null) }, "a", { conversation_id: "\ud800" }),
    "surrogate",
  ],
  [
    "chatgpt",
    "a message id that is too long",
    chatGpt({ ["x".repeat(300)]: node("x", null) }, "x".repeat(300)),
    "256 bytes",
  ],
  ["chatgpt", "a number", 7, "it is not a JSON object"],
  ["chatgpt", "a list", [[]], "it is not a JSON object"],
  ["chatgpt", "not JSON", new Raw("{ 'a': 1 }"), "it is not valid JSON"],
  ["chatgpt", "depth", new Raw(`{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`), "10000 levels"],
  ["open-webui", "a cycle", webUi({ a: { parentId: "b" }, b: { parentId: "a" } }, "a"), "its own ancestor"],
  ["open-webui", "a missing parent", webUi({ a: { parentId: "gone", role: "user" } }, "a"), "is missing"],
  ["open-webui", "no chat", { id: "bad", title: "x" }, "chat must be an object"],
  ["open-webui", "wrong messages", webUi("x", "a"), "chat.history.messages must be an object"],
  ["open-webui", "a wrong content", webUi({ a: { role: "user", content: 7 } }, "a"), "must be a list"],
  [
    "open-webui",
    "double ids",
    { id: "bad", chat: { messages: [{ id: "a" }, { id: "a" }] } },
    'two messages have the id "a"',
  ],
  ["librechat", "a cycle", libreChat([libreMessage("a", "b"), libreMessage("b", "a")]), "its own ancestor"],
  ["librechat", "a missing parent", libreChat([libreMessage("a", "gone")]), "is missing"],
  [
    "librechat",
    "double ids",
    libreChat([libreMessage("a", null), libreMessage("a", null)]),
    "two messages have the id",
  ],
  ["librechat", "no messages", { conversationId: "bad" }, "messages must be a list"],
  ["librechat", "a wrong message", libreChat([7]), "a message must be an object"],
  ["librechat", "a wrong id", libreChat([libreMessage(7, null)]), "messageId must be a text"],
  ["librechat", "wrong children", libreChat([libreMessage("a", null, { children: 7 })]), "must be a list"],
])("%s: %s is the problem of its conversation alone", async (from, _name, value, problem) => {
  const { code, ids, lines, stderr } = await importBetween(from, value);
  expect({ code, ids, stderr }).toEqual({ code: 4, ids: [`${from}-good-1`, `${from}-good-2`], stderr: "" });
  const bad = lines.find(({ outcome }) => outcome === "unreadable");
  expect(bad).toMatchObject({ problems: [expect.stringContaining(problem)] });
});

test("two roots are two branches, and keys of prototypes are ordinary keys", async () => {
  const nodes = `"a":${JSON.stringify(node("a", null))},"__proto__":${JSON.stringify(node("__proto__", null))},
    "c":${JSON.stringify(node("c", "__proto__", { author: { role: "assistant" }, recipient: "constructor", content: text('{"__proto__":{"x":1}}') }))}`;
  const value = new Raw(`{"id":"bad","mapping":{${nodes}},"current_node":"c","__proto__":{"title":"x"}}`);
  const { code, messages, lines } = await importBetween("chatgpt", value);
  expect(code).toBe(0);
  expect(lines).toContainEqual(expect.objectContaining({ leftOut: { "messages of other branches": 1 } }));
  expect(messages[0]).toMatchObject({ id: "__proto__" });
  const { input } = Object(messages[1]?.parts[0]) as { input: object };
  expect(Object.entries(input)).toEqual([["__proto__", { x: 1 }]]);
  expect(Object.prototype).not.toHaveProperty("x");
});

test.each([
  ["gone", "a", "a"],
  ["gone", "gone", "b"],
  [null, undefined, "b"],
])(
  "open-webui: without the current message %j that of the chat, %j, or the newest is taken",
  async (currentId, current_message_id, taken) => {
    const messages = {
      a: { parentId: null, role: "user", content: "a" },
      b: { parentId: null, role: "user", content: "b" },
    };
    const { code, messages: imported } = await importBetween(
      "open-webui",
      webUi(messages, currentId, { current_message_id }),
    );
    expect(code).toBe(0);
    expect(imported.map(({ id }) => id)).toEqual([taken]);
  },
);

test("texts with NUL and half characters stay as they are", async () => {
  const value = chatGpt({ a: node("a", null, { content: text("a\u0000b\ud800c") }) }, "a", {
    title: "\ud800",
  });
  const { code, messages } = await importBetween("chatgpt", value);
  expect(code).toBe(0);
  expect(messages[0]?.parts).toEqual([{ type: "text", text: "a\u0000b\ud800c" }]);
});

test("a long conversation is imported whole, as a list and as a tree that is as deep", async () => {
  const count = 3_000;
  const mapping = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`m${n}`, node(`m${n}`, n === 0 ? null : `m${n - 1}`)]),
  );
  const list = await importBetween("chatgpt", chatGpt(mapping, `m${count - 1}`));
  expect(list).toMatchObject({ code: 0, messages: { length: count } });
  // As text, because JSON.stringify has a limited stack.
  const open = Array.from({ length: count }, (_, n) => `{"messageId":"m${n}","text":"x","children":[`).join(
    "",
  );
  const value = new Raw(`{"conversationId":"bad","messages":[${open}${"]}".repeat(count)}]}`);
  const tree = await importBetween("librechat", value);
  expect(tree).toMatchObject({ code: 0, messages: { length: count } });
});

test("a deeply nested input of a tool is imported or reported", async () => {
  const args = `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`;
  const content = [{ type: "tool_call", tool_call: { id: "t", name: "x", args } }];
  const { code, ids } = await importBetween("librechat", libreChat([libreMessage("a", null, { content })]));
  expect([0, 4]).toContain(code);
  expect(ids).toEqual(expect.arrayContaining(["librechat-good-1", "librechat-good-2"]));
});

test("mark-up without an end is text, in time that grows with its length", async () => {
  const content = '<details type="reasoning">'.repeat(200_000);
  const { code, messages } = await importBetween("open-webui", webUi({ a: { role: "user", content } }, "a"));
  expect(code).toBe(0);
  expect(messages[0]?.parts).toEqual([{ type: "text", text: content }]);
});

test("a file that is not UTF-8 has one wrong conversation", async () => {
  using folder = new Folder();
  const path = folder.file("conversations.json");
  const value = JSON.stringify(chatGpt({ a: node("a", null) }, "a", { title: "Gr~n" }));
  writeFileSync(
    path,
    Buffer.from(`[${value}]`, "latin1").map((byte) => (byte === 0x7e ? 0xfc : byte)),
  );
  const { code, stderr } = await run(["import", folder.url(), "--from", "chatgpt", "--owner", "ada", path]);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining("it is not valid UTF-8") });
});

test("a conversation in two files is one chat; with other messages the first stays", async () => {
  using folder = new Folder();
  const one = (name: string) => JSON.stringify([chatGpt({ a: node(name, null, { id: name }) }, "a")]);
  writeFileSync(folder.file("conversations-000.json"), one("x"));
  writeFileSync(folder.file("conversations-001.json"), one("x"));
  writeFileSync(folder.file("conversations-002.json"), one("y"));
  const args = ["--from", "chatgpt", "--owner", "ada", "--concurrency", "1", folder.path];
  const { code, stdout } = await run(["import", folder.url(), ...args]);
  expect({ code, stdout }).toEqual({
    code: 5,
    stdout: expect.stringContaining("1 imported, 1 there already, 1 changed since"),
  });
});
