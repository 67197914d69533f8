import { DatabaseSync } from "node:sqlite";
import { ChatStore } from "@scrollback/chats";
import { createFolderBlobs } from "@scrollback/chats/folder";
import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { anyMessageTraits } from "../src/context/open-backend.ts";
import type { MessageRows, OwnerRows, ThreadHead, ThreadRows, Verification } from "../src/ui/api-types.ts";
import { type RunningInspector, startUi } from "./inspector.ts";
import { Folder } from "./run.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A message of a chat, of any SDK. */
interface Message {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content?: string;
  readonly parts?: readonly unknown[];
}

const page = (ui: RunningInspector, id: string, query = {}) =>
  ui.json<MessageRows>("/api/messages", { id, limit: 100, ...query });
const threads = (ui: RunningInspector, query = {}) => ui.json<ThreadRows>("/api/threads", query);

test("threads are listed, and found by title and id, without the contents of files", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores
    .open("user-1")
    .commit({ append: [{ role: "user", content: "Hi" }], metadata: { title: "Trams" } });
  await stores.open("user-2").addMessages([{ role: "user", content: "Hi" }]);
  await stores.open("scrollback:content:x").addMessages([{ role: "user", content: "bytes" }]);
  await using ui = await startUi(folder.url());
  const ids = ({ threads }: ThreadRows) => threads.map(({ threadId }) => threadId).sort();
  const all = await threads(ui);
  expect(ids(all)).toEqual(["user-1", "user-2"]);
  expect(all.threads.find(({ threadId }) => threadId === "user-1")).toEqual({
    ...{ threadId: "user-1", name: "user-1", title: "Trams", count: 1, updatedAt: expect.any(Number) },
  });
  expect(ids(await threads(ui, { prefix: "user-2" }))).toEqual(["user-2"]);
  expect(ids(await threads(ui, { query: "tRAM" }))).toEqual(["user-1"]);
  expect(ids(await threads(ui, { query: "ER-2" }))).toEqual(["user-2"]);
  expect(await threads(ui, { query: "none" })).toEqual({ threads: [], scanned: 3 });
});

test("a search stops when it has found enough, says how many threads it has seen, and goes on", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const ids = Array.from({ length: 1_500 }, (_, index) => `t-${index}`);
  for (let start = 0; start < ids.length; start += 100)
    await Promise.all(
      ids
        .slice(start, start + 100)
        .map((id) => stores.open(id).addMessages([{ role: "user", content: "x" }])),
    );
  await using ui = await startUi(folder.url());
  const { cursor, ...first } = await threads(ui, { query: "t-" });
  expect([first.scanned, first.threads.length, typeof cursor]).toEqual([1_000, 1_000, "string"]);
  const rest = await threads(ui, { query: "t-", cursor });
  expect(rest).not.toHaveProperty("cursor");
  const seen = new Set([...first.threads, ...rest.threads].map(({ threadId }) => threadId));
  expect(seen).toEqual(new Set(ids));
});

test("chats of an owner are listed newest first, and found by title and id", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const chats = new ChatStore<Message>({ stores });
  for (const [id, title] of [
    ["a", "Trams"],
    ["b", "Ferries"],
    ["c", "Old"],
  ] as const)
    await chats
      .of("ada: 1")
      .create({ id, title, messages: [{ id: "m", role: "user", content: `Hello ${id}` }] });
  await chats.of("ada: 1").update("c", { archived: true });
  await chats.of("bob").create({ id: "z" });
  await chats.flush();
  await using ui = await startUi(folder.url());
  const { owners } = await ui.json<OwnerRows>("/api/owners");
  expect(owners.map(({ name }) => name).sort()).toEqual(["ada: 1", "bob"]);
  const owner = owners.find(({ name }) => name === "ada: 1")?.owner ?? "";
  const list = async (query = {}) => (await ui.json<ThreadRows>("/api/chats", { owner, ...query })).threads;
  expect((await list()).map(({ title }) => title)).toEqual(["Ferries", "Trams"]);
  expect((await list())[1]).toMatchObject({ name: "a", kind: "chat", count: 1, preview: "Hello a" });
  expect((await list({ archived: "true" })).map(({ name, marks }) => [name, marks])).toEqual([
    ["c", ["archived"]],
  ]);
  expect((await list({ query: "FERR" })).map(({ name }) => name)).toEqual(["b"]);
  expect((await list({ query: "a" })).map(({ name }) => name)).toContain("a");
  expect((await ui.reply("/api/chats")).status).toBe(400);
});

test("a list says of a chat whether it is being answered, or its answer is lost", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  for (const [id, now] of [
    ["running", Date.now],
    ["lost", () => Date.now() - 60_000],
  ] as const) {
    const chats = new ChatStore<Message>({ stores, now, beatMs: 5_000 });
    await chats.of("ada").begin(id, { append: [{ id: "m", role: "user", content: "Hello" }] });
  }
  await using ui = await startUi(folder.url());
  const { threads: found } = await ui.json<ThreadRows>("/api/chats", { owner: "ada" });
  expect(found.map(({ name, marks }) => [name, marks])).toEqual([
    ["running", ["being answered"]],
    ["lost", ["answer lost"]],
  ]);
});

test("a thread is shown with times, sizes, metadata and revision", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("t", { ttlMs: 86_400_000 }).commit({
    append: [{ role: "user", content: "Hi" }],
    metadata: { title: "T", since: new Date(0) },
  });
  await using ui = await startUi(folder.url());
  const head = await ui.json<ThreadHead>("/api/thread", { id: "t" });
  expect(head).toMatchObject({
    ...{ threadId: "t", title: "T", count: 1, revision: expect.any(String), bytes: expect.any(Number) },
    ...{ createdAt: expect.any(Number), updatedAt: expect.any(Number), expiresAt: expect.any(Number) },
    ...{ metadata: { text: expect.stringContaining("1970-01-01") }, links: [], problems: [] },
  });
  expect((await ui.reply("/api/metadata", { id: "t" })).text).toContain('"since"');
  expect(await ui.json<ThreadHead>("/api/thread", { id: "none" })).toMatchObject({
    revision: null,
    count: 0,
  });
});

test("messages are paged from the newest, and from the oldest", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores
    .open("t")
    .addMessages(Array.from({ length: 250 }, (_, i) => ({ role: "user" as const, content: `m${i}` })));
  await using ui = await startUi(folder.url());
  const texts = ({ messages }: MessageRows) => messages.map(({ blocks }) => blocks?.[0]?.body?.text);
  const newest = await page(ui, "t");
  expect(newest.count).toBe(250);
  expect(texts(newest).at(-1)).toBe("m249");
  const before = await page(ui, "t", { before: newest.older });
  expect([texts(before)[0], texts(before).at(-1)]).toEqual(["m50", "m149"]);
  const oldest = await page(ui, "t", { first: newest.revision });
  expect([texts(oldest)[0], texts(oldest).at(-1)]).toEqual(["m0", "m99"]);
  expect(texts(await page(ui, "t", { after: oldest.newer }))[0]).toBe("m100");
  for (const query of [{ limit: 0 }, { limit: 201 }, { limit: "x" }, { before: "no cursor" }])
    expect((await ui.reply("/api/messages", { id: "t", limit: 1, ...query })).status).toBe(400);
});

test("tool calls, reasoning and files of each known shape are parts of messages", async () => {
  const messages = [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Think" },
        { type: "text", text: "Say" },
        { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Kiel" } },
        { type: "file", mediaType: "image/png", data: PIXEL, filename: "dot.png" },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", output: "sun", isError: true }],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Think" },
        { type: "tool_use", id: "c2", name: "f", input: 1 },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c2", content: "done" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c3", type: "function", function: { name: "g", arguments: '{"a":1}' } }],
    },
    { role: "tool", tool_call_id: "c3", content: "done" },
    { type: "function_call", call_id: "c4", name: "h", arguments: "{}" },
    {
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "tool-look", toolCallId: "c5", state: "output-available", input: {}, output: 7 },
        { type: "file", mediaType: "text/html", url: "data:text/html;base64,PGI+" },
        { type: "chart", points: 3 },
      ],
    },
  ];
  using folder = new Folder();
  await using stores = folder.stores();
  const any = stores.withTraits<object>({ role: () => "user", toolCalls: () => [], toolResults: () => [] });
  await any.open("t").addMessages(messages);
  await using ui = await startUi(folder.url());
  const { revision, messages: rows } = await page(ui, "t");
  expect(
    rows.map(({ blocks = [] }) => blocks.map(({ kind, label = "" }) => `${kind} ${label}`.trim())),
  ).toEqual([
    ["reasoning", "text", "call weather c1", "file"],
    ["result weather c1"],
    ["reasoning", "call f c2"],
    ["result  c2"],
    ["call g c3"],
    ["result  c3"],
    ["call h c4"],
    ["call look c5", "result look c5", "file", "data chart"],
  ]);
  expect(rows[0]?.blocks?.[3]?.file).toEqual({
    mediaType: "image/png",
    name: "dot.png",
    isServed: true,
    isImage: true,
  });
  expect(rows[1]?.blocks?.[0]).toMatchObject({ isError: true, body: { text: "sun" } });
  const file = (sequence: number, part: number) =>
    ui.reply("/api/file", { id: "t", revision: String(revision), sequence, part });
  const image = await file(rows[0]?.sequence ?? 0, 3);
  expect(image.headers).toMatchObject({ "content-type": "image/png", "content-disposition": "inline" });
  expect(image.bytes.toString("base64")).toBe(PIXEL);
  // What runs scripts is downloaded, in a sandbox.
  const html = await file(rows[7]?.sequence ?? 0, 2);
  expect(html).toMatchObject({
    text: "<b>",
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
    },
  });
  expect((await file(rows[0]?.sequence ?? 0, 0)).status).toBe(404);
});

test("files of chats that are stored apart are served, and only those of the message", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const chats = new ChatStore<Message>({ stores });
  const content = Buffer.alloc(100_000, 7);
  const url = `data:image/png;base64,${content.toString("base64")}`;
  const message = { id: "m", role: "user" as const, parts: [{ type: "file", mediaType: "image/png", url }] };
  await chats.of("ada").create({ id: "a", messages: [message] });
  const { entries = [] } = (await chats.of("ada").read("a", { files: "references" })) ?? {};
  const [fileId] = entries[0]?.files ?? [];
  const forged = `scrollback-file:${fileId}:data:image/png;base64,`;
  await stores
    .open("chats:chat:ada:forged")
    .addMessages([{ role: "user", content: [{ type: "file", mediaType: "image/png", data: forged }] }]);
  await chats.flush();
  await using ui = await startUi(folder.url());
  const served = async (id: string) => {
    const { revision, messages } = await page(ui, id);
    return await ui.reply("/api/file", {
      ...{ id, revision: String(revision), sequence: messages[0]?.sequence ?? 0, part: 0 },
    });
  };
  expect((await served("chats:chat:ada:a")).bytes.equals(content)).toBe(true);
  expect((await served("chats:chat:ada:forged")).status).toBe(404);
});

test("files in another storage are served by a program that knows it", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const blobs = createFolderBlobs(folder.file("files"));
  const content = Buffer.alloc(100_000, 7);
  const url = `data:image/png;base64,${content.toString("base64")}`;
  const chats = new ChatStore<Message>({ stores, blobs });
  const id = "chats:chat:ada:a";
  await chats.of("ada").create({
    id: "a",
    messages: [{ id: "m", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] }],
  });
  await chats.flush();
  const served = async (ui: RunningInspector) => {
    const { revision } = await page(ui, id);
    return await ui.reply("/api/file", { id, revision: String(revision), sequence: 1, part: 0 });
  };
  await using knows = await startUi(folder.url(), { blobs });
  expect((await served(knows)).bytes.equals(content)).toBe(true);
  await using knowsNot = await startUi(folder.url());
  expect(await served(knowsNot)).toMatchObject({ status: 400, text: expect.stringContaining("UNSUPPORTED") });
  expect(await knowsNot.json<Verification>("/api/verify", { id })).toMatchObject({
    outcome: "readable",
    problems: ["not checked: 1 file in another storage"],
  });
});

test("siblings of messages are linked, and read", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const chats = new ChatStore<Message>({ stores });
  const mine = chats.of("ada");
  await mine.create({ id: "a", messages: [{ id: "q", role: "user", content: "Q" }] });
  await mine.append("a", [{ id: "one", role: "assistant", content: "First" }]);
  await mine.dropAnswer("a", "one", { keepSibling: true });
  await mine.append("a", [{ id: "two", role: "assistant", content: "Second" }]);
  await chats.flush();
  await using ui = await startUi(folder.url());
  const { links } = await ui.json<ThreadHead>("/api/thread", { id: "chats:chat:ada:a" });
  expect(links).toMatchObject([{ label: expect.stringMatching(/^Sibling one, after q, left /) }]);
  const { messages } = await page(ui, links[0]?.threadId ?? "");
  expect(messages[0]).toMatchObject({
    role: "assistant",
    marks: ["one"],
    blocks: [{ body: { text: "First" } }],
  });
});

test("verify names what is damaged; a record that cannot be read has its place among the others", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  for (const content of ["one", "two", "three"])
    await stores.open("t").addMessages([{ role: "user", content }]);
  await using ui = await startUi(folder.url());
  const verify = () => ui.json<Verification>("/api/verify", { id: "t" });
  expect(await verify()).toEqual({ outcome: "readable", messages: 3, problems: [] });
  const database = new DatabaseSync(folder.file("chats.db"));
  database.exec("UPDATE scrollback_messages SET text = '{' WHERE sequence = 2");
  database.close();
  const { messages, revision } = await page(ui, "t");
  expect(messages.map(({ sequence, problem }) => [sequence, problem !== undefined])).toEqual([
    [1, false],
    [2, true],
    [3, false],
  ]);
  expect(await verify()).toMatchObject({
    outcome: "corrupt",
    problems: [expect.stringContaining("message 2")],
  });
  const raw = await ui.reply("/api/raw", { id: "t", revision: String(revision), sequence: 2 });
  expect(raw).toMatchObject({ status: 500, text: expect.stringContaining("CORRUPT") });
});

test("an encrypted store is read with its key, and without it each record says so", async () => {
  using folder = new Folder();
  const key = Buffer.alloc(32, 7);
  await using stores = folder.stores("chats", { codec: aesGcmCodec({ keys: [{ id: "k", key }] }) });
  await stores
    .open("t")
    .commit({ append: [{ role: "user", content: "secret" }], metadata: { title: "Hidden" } });
  const env = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${key.toString("base64")}` };
  await using open = await startUi(folder.url(), { env });
  expect((await threads(open)).threads).toMatchObject([{ title: "Hidden" }]);
  expect((await page(open, "t")).messages).toMatchObject([{ blocks: [{ body: { text: "secret" } }] }]);
  await using closed = await startUi(folder.url());
  expect((await threads(closed)).threads).toMatchObject([{ threadId: "t", problem: expect.any(String) }]);
  expect((await page(closed, "t")).messages).toMatchObject([{ sequence: 1, problem: expect.any(String) }]);
});

test("hostile texts are data: cut, escaped where they change others, and never a header or a key", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const markup = "<img src=x onerror=alert(1)>";
  const id = `${markup}\u202e\r\nset-cookie: a=b`;
  await stores.open(id).commit({
    append: [
      { role: "user", content: markup },
      { role: "user", content: "a\u202eb\u0000c\u001b[31m" },
      { role: "user", content: "x".repeat(5_000_000) },
      { role: "user", content: "", metadata: JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') },
    ],
    metadata: { title: `${markup}\u202e`, __proto__: null },
  });
  await using ui = await startUi(folder.url());
  const [row] = (await threads(ui)).threads;
  expect(row?.threadId).toBe(id);
  expect(row?.name).toBe(`${markup}\\u202e\\x0d\\x0aset-cookie: a=b`);
  expect(row?.title).toBe(`${markup}\\u202e`);
  const { messages, revision } = await page(ui, id);
  const bodies = messages.map(({ blocks }) => blocks?.[0]?.body);
  expect(bodies.slice(0, 2)).toEqual([{ text: markup }, { text: "a\\u202eb\\x00c\\x1b[31m" }]);
  expect(bodies[2]).toEqual({ text: "x".repeat(8_000), cutFrom: 5_000_000 });
  expect(bodies[3]?.text).toBe('{"__proto__":{"polluted":1},"constructor":2}');
  expect(messages[2]?.size).toBeGreaterThan(5_000_000);
  const raw = await ui.reply("/api/raw", {
    id,
    revision: String(revision),
    sequence: messages[2]?.sequence ?? 0,
  });
  expect(raw.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
  });
  expect(JSON.parse(raw.text)).toEqual({ role: "user", content: "x".repeat(5_000_000) });
  for (const path of ["/api/__proto__", "/__proto__", "/constructor", "/api/toString"])
    expect([path, (await ui.reply(path)).status]).toEqual([path, 404]);
});

test("values that cannot be made a text hide no message", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const odd = { toString: null, valueOf: null };
  const shapes = [
    { parts: [{ type: odd }] },
    { parts: [{ type: "file", mediaType: odd, data: odd }] },
    { parts: [{ type: "tool-call", toolName: odd, toolCallId: odd, input: odd }] },
    { tool_calls: [{ type: "function", function: { name: odd, arguments: odd } }] },
    { type: odd, kind: odd, author: odd },
    { role: "tool", tool_call_id: odd },
  ];
  const append = shapes.map((shape) => ({ role: "user" as const, content: "text", ...shape }));
  const anyStores = stores.withTraits<unknown>(anyMessageTraits);
  await anyStores.open("odd").commit({ append: [...append, { role: "user", content: "last" }] });
  const channels = { kind: "checkpoint", checkpointId: "1", values: [[odd, odd]] };
  await stores.open("langgraph:odd").commit({
    append: [{ role: "assistant", content: "", metadata: channels }],
  });
  await using ui = await startUi(folder.url());
  const { messages } = await page(ui, "odd");
  expect(messages).toHaveLength(shapes.length + 1);
  expect(messages.at(-1)?.blocks?.[0]?.body).toEqual({ text: "last" });
  expect((await page(ui, "langgraph:odd")).messages).toHaveLength(1);
});

test("a change of the thread ends a wait for it", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("t").addMessages([{ role: "user", content: "one" }]);
  await using ui = await startUi(folder.url());
  const { revision } = await page(ui, "t");
  const begin = performance.now();
  const waiting = ui.json<{ revision: string }>("/api/changes", { id: "t", revision: String(revision) });
  const added = await stores.open("t").addMessages([{ role: "user", content: "two" }]);
  expect(await waiting).toEqual({ revision: added });
  // Without a change, it ends after 25 s.
  expect(performance.now() - begin).toBeLessThan(15_000);
});

test("no request writes: the driver gets reads alone", async () => {
  const verbs = new Set<string>();
  const driver = new MemoryDriver();
  const counted = <T extends object>(target: T, of: string): T =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "index") return counted(driver.index, "index ");
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          verbs.add(of + String(name));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const watched = counted<Driver>(driver, "");
  const stores = createStores(watched);
  const chats = new ChatStore<Message>({ stores });
  const mine = chats.of("ada");
  const url = `data:image/png;base64,${Buffer.alloc(100_000, 7).toString("base64")}`;
  const photo = { id: "q", role: "user" as const, parts: [{ type: "file", mediaType: "image/png", url }] };
  await mine.create({ id: "a", messages: [photo] });
  await mine.append("a", [{ id: "one", role: "assistant", content: "First" }]);
  await mine.dropAnswer("a", "one", { keepSibling: true });
  // Lists of chats repair what they find: an entry without its chat, one of a deletion, one that is behind, and one that cannot be read.
  const { listed } = (await stores.open("chats:chat:ada:a").read({ limit: 0 })).metadata as {
    listed: object;
  };
  const index = stores.index("chats:open:ada");
  for (const [id, version] of [
    ["x", 0],
    ["y", 5],
    ["z", Number.MAX_SAFE_INTEGER],
  ] as const)
    await index.insert(
      { key: id, id },
      { version, order: 1, value: { threadId: `chats:chat:ada:${id}`, listed: { ...listed, key: id } } },
    );
  await index.insert({ key: "w", id: "w" }, { version: 1, order: 1, value: 7 });
  await chats.flush();
  const seen: string[] = [];
  verbs.clear();
  {
    await using ui = await startUi("memory:", {
      adapters: {
        memory: () => createStores(watched, { traits: anyMessageTraits, onCorruptRecord: () => undefined }),
      },
    });
    const id = "chats:chat:ada:a";
    const { revision, messages } = await page(ui, id);
    const at = { id, revision: String(revision), sequence: messages[0]?.sequence ?? 0, part: 0 };
    for (const [path, query] of [
      ["/", {}],
      ["/api/threads", {}],
      ["/api/threads", { query: "a" }],
      ["/api/owners", {}],
      ["/api/chats", { owner: "ada" }],
      ["/api/chats", { owner: "ada", archived: "true" }],
      ["/api/chats", { owner: "ada", query: "a" }],
      ["/api/thread", { id }],
      ["/api/thread", { id: "none" }],
      ["/api/messages", { id: "none", limit: 1 }],
      ["/api/changes", { id, revision: "other" }],
      ["/api/raw", at],
      ["/api/file", at],
      ["/api/metadata", at],
      ["/api/verify", at],
    ] as const) {
      const { status, text } = await ui.reply(path, query);
      expect([path, status, status === 200 ? "" : text]).toEqual([path, 200, ""]);
      seen.push(path);
    }
    const links = await ui.json<ThreadHead>("/api/thread", { id });
    await page(ui, links.links[0]?.threadId ?? "");
  }
  expect(seen).toHaveLength(15);
  const reads = [
    "read",
    "list",
    "watch",
    "close",
    "index entriesOf",
    "index listEntries",
    "index listIndexes",
  ];
  expect([...verbs].filter((verb) => !reads.includes(verb))).toEqual([]);
  expect(verbs).toContain("index listEntries");
});
