import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Chat, ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import { convertToModelMessages, safeValidateUIMessages, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const exports = join(import.meta.dirname, "exports");

interface Imported {
  readonly chat: Chat;
  readonly messages: readonly UIMessage[];
  readonly times: readonly number[];
  readonly statuses: readonly string[];
}

/** All chats of an owner by id, as an application reads them. */
async function chatsOf(stores: StoreFactory, owner = "ada"): Promise<Map<string, Imported>> {
  await using chats = new ChatStore<UIMessage>({ stores });
  const mine = chats.of(owner);
  const found = new Map<string, Imported>();
  for (const archived of [false, true]) {
    for (const { id } of (await mine.list({ archived, limit: 1_000 })).chats) {
      const page = await mine.read(id);
      if (!page) throw new Error(`${id} is listed and not there`);
      const { chat, entries } = page;
      const messages = entries.map(({ message }) => message);
      expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
      expect((await convertToModelMessages(messages)).length).toBeGreaterThanOrEqual(messages.length);
      const times = entries.map(({ createdAt }) => createdAt);
      found.set(id, { chat, messages, times, statuses: entries.map(({ status }) => status) });
    }
  }
  return found;
}

const partsOf = (one: Imported | undefined) => one?.messages.map(({ parts }) => parts);

function importInto(url: string, from: string, ...rest: string[]) {
  return run(["import", url, "--from", from, "--owner", "ada", ...rest]);
}

test("a folder of ChatGPT's export becomes chats of the current paths, and the bad conversation is reported", async () => {
  using folder = new Folder();
  const { code, stdout, stderr } = await importInto(folder.url(), "chatgpt", join(exports, "chatgpt"));
  expect(stdout).toMatch(/^threads: 3 imported, 1 unreadable; 8 messages \(/);
  expect(stderr).toMatch(/^unreadable: \S+conversations-001.json:2: mapping must be an object$/m);
  for (const left of ["2 messages of other branches", "3 hidden and system messages", "1 citations"])
    expect(stderr).toContain(left);
  expect(stderr).toMatch(/2 image_asset_pointer.*1 attachments|1 attachments.*2 image_asset_pointer/);
  expect(code).toBe(4);

  await using stores = folder.stores();
  const chats = await chatsOf(stores);
  expect(chats.size).toBe(3);
  const trams = chats.get("chatgpt-6b0f0d9c-0000-4000-8000-000000000001");
  expect(trams?.chat).toMatchObject({
    ...{ title: "Trams", archived: true, pinned: false, createdAt: 1_756_000_000_123 },
    ...{ updatedAt: 1_756_000_400_654, activeAt: 1_756_000_002_250 },
  });
  expect(trams?.times).toEqual([1_756_000_001_500, 1_756_000_002_250]);
  expect(trams?.messages).toEqual([
    {
      ...{ id: "q1", role: "user", metadata: { createdAt: 1_756_000_001_500 } },
      parts: [{ type: "text", text: "Which tram goes to the harbour?" }],
    },
    {
      ...{ id: "a1b", role: "assistant", metadata: { createdAt: 1_756_000_002_250, model: "gpt-5" } },
      parts: [{ type: "text", text: "Line 4, every ten minutes. " }],
    },
  ]);

  const table = chats.get("chatgpt-6b0f0d9c-0000-4000-8000-000000000002");
  expect(table?.chat).toMatchObject({ pinned: true, archived: false });
  const done = { type: "dynamic-tool", state: "output-available" };
  expect(partsOf(table)).toEqual([
    [{ type: "text", text: "What is in this table?" }],
    [
      { type: "reasoning", text: "Reading the table\n\nI open it with Python." },
      { ...done, toolName: "python", toolCallId: "call", input: { code: "print(1 + 1)" }, output: "2" },
      { type: "step-start" },
      {
        ...{ ...done, toolName: "web.run", toolCallId: "call-2", output: "Two results." },
        input: { search_query: [{ q: "tables" }] },
      },
      { type: "step-start" },
      { type: "text", text: "It has two rows." },
    ],
  ]);

  const voice = chats.get("chatgpt-6b0f0d9c-0000-4000-8000-000000000003");
  expect(voice?.chat).toMatchObject({ title: "Hello there", titleBy: "text" });
  expect(partsOf(voice)).toEqual([
    [{ type: "text", text: "Hello there" }],
    [{ type: "text", text: "Hello!" }],
    [{ type: "text", text: "[not imported: image_asset_pointer]" }],
    [{ type: "text", text: "```python\nprint('cat')\n```" }],
  ]);
});

test("an export of open-webui becomes chats, with the reasoning and the tool calls of old and new versions", async () => {
  using folder = new Folder();
  const { code, stdout, stderr } = await importInto(folder.url(), "open-webui", join(exports, "open-webui"));
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("4 imported; 10 messages") });
  expect(stderr).toBe("left out: 1 messages of other branches, 1 files, 1 sources\n");

  await using stores = folder.stores();
  const chats = await chatsOf(stores);
  const plain = chats.get("open-webui-plain");
  expect(plain?.chat).toMatchObject({
    ...{ title: "Hello", archived: true, pinned: true },
    ...{ createdAt: 1_700_002_000_000, activeAt: 1_700_002_005_000 },
  });
  expect(plain?.messages[1]?.metadata).toEqual({ createdAt: 1_700_002_005_000, model: "llama3.1:latest" });
  const image = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };
  expect(partsOf(plain)).toEqual([
    [image, { type: "text", text: "Hello" }],
    [{ type: "text", text: "Hi there!" }],
  ]);
  const call = {
    type: "dynamic-tool",
    state: "output-available",
    toolName: "get_weather",
    toolCallId: "call_1",
  };
  expect(partsOf(chats.get("open-webui-output"))?.[1]).toEqual([
    { type: "reasoning", text: "I look it up." },
    { ...call, input: { city: "Paris" }, output: { degrees: 18 } },
    { type: "step-start" },
    { type: "text", text: "18 degrees." },
  ]);
  const details = chats.get("open-webui-details");
  expect(partsOf(details)?.[1]).toEqual([
    { type: "reasoning", text: 'weighing "options"\nmore' },
    { ...call, input: { city: "Lisbon" }, output: { c: 21 } },
    { type: "step-start" },
    { type: "text", text: "\nIt is 21 degrees.\n<details><summary>More</summary>kept</details>" },
  ]);
  expect(partsOf(details)?.[3]).toEqual([{ type: "text", text: "The model is overloaded." }]);
  expect(details?.statuses).toEqual(["complete", "complete", "complete", "failed"]);
  const old = chats.get("open-webui-old");
  expect(old?.messages.map(({ id }) => id)).toEqual(["message-1", "message-2"]);
  expect(old?.times).toEqual([1_690_000_000_000, 1_690_000_000_000]);
});

test("exports of LibreChat become chats, of a list and of a tree of messages", async () => {
  using folder = new Folder();
  const { code, stdout, stderr } = await importInto(folder.url(), "librechat", join(exports, "librechat"));
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("2 imported; 6 messages") });
  expect(stderr).toBe("left out: 2 messages of other branches, 1 files, 1 content of the type image_file\n");

  await using stores = folder.stores();
  const chats = await chatsOf(stores);
  const flat = chats.get("librechat-lc-flat");
  expect(flat?.chat).toMatchObject({
    title: "Virtual environments",
    createdAt: Date.parse("2024-05-01T16:35:11.530Z"),
  });
  expect(flat?.messages.map(({ id }) => id)).toEqual(["m1", "m3"]);
  expect(flat?.statuses).toEqual(["complete", "stopped"]);
  const tree = chats.get("librechat-lc-tree");
  expect(tree?.messages.map(({ id }) => id)).toEqual(["r1", "r3", "r4", "r5"]);
  expect(tree?.statuses.at(-1)).toBe("failed");
  const tool = { type: "dynamic-tool", state: "output-available" };
  expect(partsOf(tree)?.[1]).toEqual([
    { type: "reasoning", text: "I look it up." },
    { type: "text", text: "One moment." },
    { ...tool, toolName: "search", toolCallId: "t1", input: { q: "trams" }, output: ["line 4"] },
    { type: "step-start" },
    {
      ...{ ...tool, toolName: "code_interpreter", toolCallId: "t2" },
      ...{ input: { code: "1+1" }, output: [{ type: "logs", logs: "2" }] },
    },
    { type: "step-start" },
    {
      ...{ type: "dynamic-tool", state: "output-error", toolName: "save", toolCallId: "t3", input: {} },
      errorText: "The export has no result of this call.",
    },
    { type: "text", text: "Line 4." },
  ]);
});

test("a repeated import doubles nothing, also after the chats were continued; a conversation that has grown is reported", async () => {
  using folder = new Folder();
  const path = folder.file("flat.json");
  const source = JSON.parse(readFileSync(join(exports, "librechat/flat.json"), "utf8"));
  writeFileSync(path, JSON.stringify(source));
  const threadId = "chats:chat:ada:librechat-lc-flat";
  const first = await importInto(folder.url(), "librechat", path, "--json");
  expect(jsonLines(first.stdout)[0]).toEqual({
    ...{ threadId, outcome: "imported", messages: 2 },
    leftOut: { "messages of other branches": 1 },
  });
  await using stores = folder.stores();
  {
    await using chats = new ChatStore<UIMessage>({ stores });
    await chats
      .of("ada")
      .append("librechat-lc-flat", [{ id: "own", role: "user", parts: [{ type: "text", text: "Thanks" }] }]);
  }
  const again = await importInto(folder.url(), "librechat", path, "--json");
  expect(again.code).toBe(0);
  expect(jsonLines(again.stdout)[0]).toEqual({ threadId, outcome: "there already", messages: 0 });

  source.messages.push({ ...source.messages[0], messageId: "m4", parentMessageId: "m3", text: "And then?" });
  writeFileSync(path, JSON.stringify(source));
  const grown = await importInto(folder.url(), "librechat", path, "--json");
  expect(grown.code).toBe(5);
  expect(jsonLines(grown.stdout)[0]).toMatchObject({ threadId, outcome: "changed since" });
  const ids = async () => (await chatsOf(stores)).get("librechat-lc-flat")?.messages.map(({ id }) => id);
  expect(await ids()).toEqual(["m1", "m3", "own"]);

  // As the report says.
  await run(["rm", folder.url(), threadId, "--yes"]);
  expect(await importInto(folder.url(), "librechat", path)).toMatchObject({ code: 0 });
  expect(await ids()).toEqual(["m1", "m3", "m4"]);
});

test("an interrupted import goes on where it stopped", async () => {
  using folder = new Folder();
  const one = JSON.parse(readFileSync(join(exports, "open-webui/old.json"), "utf8"))[0];
  const path = folder.file("many.json");
  writeFileSync(path, JSON.stringify(Array.from({ length: 40 }, (_, n) => ({ ...one, id: `c${n}` }))));
  const args = ["import", folder.url(), "--from", "open-webui", "--owner", "ada", "--json", path];
  const interrupt = new AbortController();
  const stopped = await run(args, { signal: interrupt.signal, onResult: () => interrupt.abort() });
  expect(stopped.stderr).toMatch(/stopped after \d+ threads?. Run the same command again/);
  const { code, stdout } = await run(args);
  expect(code).toBe(0);
  const { summary } = jsonLines(stdout).at(-1) ?? {};
  const { outcomes } = Object(summary) as { outcomes: Record<string, number> };
  expect(outcomes["there already"]).toBeGreaterThan(0);
  expect(Number(outcomes["there already"]) + Number(outcomes.imported)).toBe(40);
  await using stores = folder.stores();
  const chats = await chatsOf(stores);
  expect([...chats.values()].map(({ messages }) => messages.length)).toEqual(Array(40).fill(2));
});

test("a chat that was not imported is never replaced", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  {
    await using chats = new ChatStore<UIMessage>({ stores });
    const messages: UIMessage[] = [{ id: "own", role: "user", parts: [{ type: "text", text: "Hello" }] }];
    await chats.of("ada").create({ id: "librechat-lc-flat", title: "Mine", messages });
  }
  const { code, stderr } = await importInto(folder.url(), "librechat", join(exports, "librechat/flat.json"));
  expect(code).toBe(5);
  expect(stderr).toContain(
    "conflict: chats:chat:ada:librechat-lc-flat: a chat with this id exists and was not imported",
  );
  expect((await chatsOf(stores)).get("librechat-lc-flat")?.chat.title).toBe("Mine");
});

test("--dry-run reads everything and makes nothing", async () => {
  using folder = new Folder();
  const { code, stdout } = await importInto(folder.url(), "chatgpt", join(exports, "chatgpt"), "--dry-run");
  expect({ code, stdout }).toEqual({
    code: 4,
    stdout: expect.stringContaining("3 readable, 1 unreadable; 8 messages"),
  });
  await using stores = folder.stores();
  expect((await chatsOf(stores)).size).toBe(0);
});

test.each([
  [["--from", "chatgpt", "x"], "--from and --owner are given together"],
  [["--owner", "ada", "x"], "--from and --owner are given together"],
  [["--from", "slack", "--owner", "ada", "x"], "Allowed choices are chatgpt, open-webui, librechat"],
  [["--from", "chatgpt", "--owner", "ada", "--verify", "x"], "cannot be used with option '--verify'"],
  [["--from", "chatgpt", "--owner", "ada", "/no/such/folder"], "the file cannot be read (ENOENT)"],
  [
    ["--from", "chatgpt", "--owner", "ada", join(exports, "librechat")],
    "the folder has no conversations.json file",
  ],
  [["--from", "chatgpt", "--owner", "a".repeat(1_025), exports], "ownerId"],
  [["one.jsonl", "two.jsonl"], "one file at a time, without --from"],
])("a wrong use is named before anything is imported: %j", async (args, message) => {
  using folder = new Folder();
  const { code, stdout, stderr } = await run(["import", folder.url(), ...args]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});
