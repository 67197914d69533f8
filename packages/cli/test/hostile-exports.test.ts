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

const chatGpts: Record<string, unknown> = {
  'message "a" is its own ancestor': chatGpt({ a: node("a", "b"), b: node("b", "a") }, "a"),
  'message "gone" of the current path is missing': chatGpt({ a: node("a", "gone") }, "a"),
  '"constructor" of the current path is missing': chatGpt({ a: node("a", "constructor") }, "a"),
  "mapping must be an object": chatGpt([], "a"),
  "current_node must be a text": chatGpt({ a: node("a", null) }, 7),
  'message "a" must be an object': chatGpt({ a: "x" }, "a"),
  "the parent of a message must be an id": chatGpt({ a: node("a", 7) }, "a"),
  'content of message "a" must be an object': chatGpt({ a: node("a", null, { content: 7 }) }, "a"),
  "parts must be a list": chatGpt({ a: node("a", null, { content: { parts: 7 } }) }, "a"),
  "conversation_id must be a text": chatGpt({ a: node("a", null) }, "a", { conversation_id: null }),
  "1024 bytes": chatGpt({ a: node("a", null) }, "a", { conversation_id: "x".repeat(2_000) }),
  surrogate: chatGpt({ a: node("a", null) }, "a", { conversation_id: "\ud800" }),
  "256 bytes": chatGpt({ ["x".repeat(300)]: node("x", null) }, "x".repeat(300)),
  "a conversation must be an object": [[]],
};
const webUis: Record<string, unknown> = {
  "its own ancestor": webUi({ a: { parentId: "b" }, b: { parentId: "a" } }, "a"),
  "is missing": webUi({ a: { parentId: "gone", role: "user" } }, "a"),
  "chat must be an object": { id: "bad", title: "x" },
  "chat.history.messages must be an object": webUi("x", "a"),
  "must be a list": webUi({ a: { role: "user", content: 7 } }, "a"),
  'two messages have the id "a"': { id: "bad", chat: { messages: [{ id: "a" }, { id: "a" }] } },
};
const libreChats: Record<string, unknown> = {
  "its own ancestor": libreChat([libreMessage("a", "b"), libreMessage("b", "a")]),
  "is missing": libreChat([libreMessage("a", "gone")]),
  "two messages have the id": libreChat([libreMessage("a", null), libreMessage("a", null)]),
  "messages must be a list": { conversationId: "bad" },
  "a message must be an object": libreChat([7]),
  "messageId must be a text": libreChat([libreMessage(7, null)]),
  "must be a list": libreChat([libreMessage("a", null, { children: 7 })]),
};
const wrong = Object.entries({ chatgpt: chatGpts, "open-webui": webUis, librechat: libreChats }).flatMap(
  ([from, values]) => Object.entries(values).map(([problem, value]) => ({ from, problem, value })),
);

test.each(wrong)(
  "$from: $problem: the other conversations are imported",
  async ({ from, problem, value }) => {
    const { code, ids, lines, stderr } = await importBetween(from, value);
    expect({ code, ids, stderr }).toEqual({ code: 4, ids: [`${from}-good-1`, `${from}-good-2`], stderr: "" });
    const bad = lines.find(({ outcome }) => outcome === "unreadable");
    expect(bad).toMatchObject({ problems: [expect.stringContaining(problem)] });
  },
);

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

test("mark-up without an end is text, in time that grows with its length", async () => {
  const content = '<details type="reasoning">'.repeat(200_000);
  const { code, messages } = await importBetween("open-webui", webUi({ a: { role: "user", content } }, "a"));
  expect(code).toBe(0);
  expect(messages[0]?.parts).toEqual([{ type: "text", text: content }]);
});

test.each([
  [Buffer.from('["Gr\u00fcn"]', "latin1"), "the file is not valid UTF-8"],
  [Buffer.from("PK\u0003\u0004"), "this is a ZIP file; unpack it first"],
  [Buffer.from("[{},"), "the file is not valid JSON"],
])("a wrong file does not hide the next one: %#", async (content, problem) => {
  using folder = new Folder();
  writeFileSync(folder.file("conversations-000.json"), content);
  const value = [chatGpt({ a: node("a", null) }, "a")];
  writeFileSync(folder.file("conversations-001.json"), `\uFEFF${JSON.stringify(value)}`);
  const args = ["import", folder.url(), "--from", "chatgpt", "--owner", "ada", folder.path];
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringContaining("1 imported") });
  expect(stderr).toContain(`conversations-000.json: ${problem}\n`);
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
