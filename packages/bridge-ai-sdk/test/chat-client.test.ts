import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { UIMessage } from "ai";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { z } from "zod";
import { ChatClientError, chatClient, chatTransport } from "../src/client.ts";
import { routeNames } from "../src/http/routes.ts";
import { scriptedModel } from "./scripted-model.ts";
import { answer, type ServeOptions, serve, until, user } from "./serve.ts";
import { Tab } from "./ui-client.ts";

async function setUp(options: ServeOptions = {}) {
  const server = await serve({ allowImport: true, ...options });
  const messages = [user("q1"), answer("a1"), user("q2"), answer("a2")];
  await server.mine.create({ id: "c", title: "Rome", labels: { n: 1 }, messages });
  const client = chatClient<UIMessage>({ api: `${server.url}/api` });
  const ids = async () => (await server.stored("c"))?.map(({ id }) => id);
  return Object.assign(server, { client, ids });
}

const refusal = (code: string, status: number) => ({ name: "ChatClientError", code, status });

test("lists and reads: pages, filters, one message, an export", async () => {
  await using server = await setUp();
  const { client, mine } = server;
  await mine.create({ id: "d", pinned: true });
  expect((await client.list({ limit: 1 })).chats).toHaveLength(1);
  expect((await client.list({ pinned: true })).chats).toMatchObject([{ id: "d" }]);
  expect((await client.list({ labels: { n: 1 } })).chats).toMatchObject([{ id: "c", title: "Rome" }]);
  const { cursor } = await client.list({ limit: 1 });
  expect((await client.list({ limit: 1, ...(cursor !== undefined && { cursor }) })).chats).toHaveLength(1);
  const page = await client.get("c", { limit: 1 });
  expect(page).toMatchObject({ chat: { id: "c" }, messages: [answer("a2")] });
  expect(page.statuses.a2?.status).toBe("complete");
  const older = await client.get("c", { ...(page.older !== undefined && { before: page.older }) });
  expect(older.messages.map(({ id }) => id)).toEqual(["q1", "a1", "q2"]);
  expect(await client.message("c", "q2")).toMatchObject({ message: user("q2"), status: "complete" });
  expect(await client.export("c")).toMatchObject({ type: "scrollback.chat", chat: { id: "c" } });
  expect((await fetch(client.exportUrl("c"))).ok).toBe(true);
});

test("changes: of a chat, of one message, a fork, an import, a deletion", async () => {
  await using server = await setUp();
  const { client, ids, mine } = server;
  expect(await client.update("c", { title: "New", archived: true, labels: { n: null } })).toMatchObject({
    ...{ title: "New", titleBy: "user", archived: true, labels: {} },
  });
  expect(await client.deleteMessage("c", "a1")).toMatchObject({ messageCount: 3 });
  expect(await ids()).toEqual(["q1", "q2", "a2"]);
  await client.updateMessage("c", "q1", { metadata: { vote: "up" } });
  expect((await client.message("c", "q1")).message).toEqual({ ...user("q1"), metadata: { vote: "up" } });
  expect(await client.fork("c", { at: "q1", id: "fork" })).toMatchObject({ id: "fork", messageCount: 1 });
  const operation = { operationId: "op", with: "answer" } as const;
  for (let time = 0; time < 2; time++)
    expect(await client.deleteMessage("c", "q2", operation)).toMatchObject({ messageCount: 1 });
  expect(await client.truncate("c", { behind: null }, { after: "q1" })).toMatchObject({ messageCount: 0 });
  const data = await client.export("fork");
  expect(await client.import(data, { id: "imported" })).toMatchObject({ id: "imported", messageCount: 1 });
  expect(await client.delete("c")).toBeUndefined();
  expect(await mine.get("c")).toBeUndefined();
});

test("ids of any characters", async () => {
  await using server = await setUp();
  const { client, mine } = server;
  for (const id of ["a/b?c=d#e", "ä €", "%2F", ":id", "messages"]) {
    await mine.create({ id, messages: [user(id)] });
    expect((await client.message(id, id)).message).toEqual(user(id));
    expect(await client.deleteMessage(id, id)).toMatchObject({ id, messageCount: 0 });
  }
});

test("a stop: the answer so far is saved; without an answer false", async () => {
  await using server = await setUp({ model: scriptedModel({ delayMs: 50 }) });
  const { client } = server;
  expect(await client.stop("c")).toBe(false);
  const posted = server.post({ id: "c", message: user("q3", "say one two three four five six seven") });
  await until(async () => (await client.get("c")).chat.run?.state === "running");
  const conflicts = [
    client.updateMessage("c", "q1", { metadata: 1 }),
    client.deleteMessage("c", "q3"),
    client.deleteMessage("c", "q3", { with: "answer" }),
  ];
  for (const conflict of conflicts) await expect(conflict).rejects.toMatchObject(refusal("CONFLICT", 409));
  expect(await client.stop("c")).toBe(true);
  await posted;
  expect(Object.values((await client.get("c")).statuses).at(-1)?.status).toBe("stopped");
});

test("a message's metadata is checked with the schema, and nothing else of it can be changed", async () => {
  await using server = await setUp({ metadataSchema: z.object({ vote: z.enum(["up", "down"]) }) });
  const { client, send } = server;
  for (const metadata of [{ vote: "sideways" }, 7, undefined])
    await expect(client.updateMessage("c", "q1", { metadata })).rejects.toMatchObject(
      refusal("INVALID_ARGUMENT", 400),
    );
  for (const fields of [{ role: "assistant" }, { parts: [] }, { id: "x" }, { after: null }])
    expect(
      (await send("PATCH", "/chats/c/messages/q1", { metadata: { vote: "up" }, ...fields })).status,
    ).toBe(400);
  await client.updateMessage("c", "q1", { metadata: { vote: "up", other: 1 } });
  expect((await client.message("c", "q1")).message.metadata).toEqual({ vote: "up" });
  await client.updateMessage("c", "q1", { metadata: null });
  expect((await client.message("c", "q1")).message).toEqual(user("q1"));
});

test("a title is made again: never over the user's, unless the request says so; it goes with its message", async () => {
  const made = ["First", "Second", ""];
  await using server = await setUp({
    title: async ({ messages }) => `${made.shift()} of ${messages.length}`,
  });
  const { client, mine } = server;
  expect(await client.title("c")).toMatchObject({ title: "Rome", titleBy: "user" });
  expect(made).toHaveLength(3);
  const first = { title: "First of 4", titleBy: "model", titleOf: "q1" };
  expect(await client.title("c", { replaceUser: true })).toMatchObject(first);
  expect(await client.title("c")).toMatchObject({ title: "Second of 4" });
  expect(await client.deleteMessage("c", "q1")).not.toHaveProperty("title");
  await mine.create({ id: "empty" });
  expect(await client.title("empty")).not.toHaveProperty("title");
  await using model = await setUp({ title: { model: scriptedModel() } });
  expect(await model.client.title("c", { replaceUser: true })).toMatchObject({
    titleBy: "model",
    titleOf: "q1",
  });
  await using text = await setUp();
  expect(await text.client.title("c", { replaceUser: true })).toMatchObject({ title: "q1", titleBy: "text" });
  await using none = await setUp({ title: false });
  await expect(none.client.title("c")).rejects.toMatchObject(refusal("NOT_FOUND", 404));
  await using failing = await setUp({ title: () => Promise.reject(new Error("no model")) });
  const failed = failing.client.title("c", { replaceUser: true });
  await expect(failed).rejects.toMatchObject(refusal("INTERNAL", 500));
  expect(failing.errors).toMatchObject([{ message: "no model" }]);
  expect((await failing.mine.get("c"))?.title).toBe("Rome");
});

test("a title that the user gives while the model makes another one stays", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  let isAsked = false;
  const title = () => {
    isAsked = true;
    return promise;
  };
  await using server = await setUp({ title });
  const { client, mine } = server;
  await mine.update("c", { title: "Text", titleBy: "text" });
  const made = client.title("c");
  await until(() => isAsked);
  await client.update("c", { title: "Mine" });
  resolve("Model's");
  expect(await made).toMatchObject({ title: "Mine", titleBy: "user" });
});

test("errors: the code, the status and the message, also without a response and of other formats", async () => {
  await using server = await setUp();
  const { client } = server;
  await expect(client.get("none")).rejects.toMatchObject({ ...refusal("NOT_FOUND", 404), isStale: false });
  await expect(client.list({ limit: 0 })).rejects.toMatchObject({
    ...refusal("INVALID_ARGUMENT", 400),
    message: expect.stringContaining("limit"),
  });
  const { revision } = await server.mine.touch("c");
  await server.mine.touch("c");
  await expect(client.update("c", { title: "x", expectedRevision: revision })).rejects.toMatchObject({
    ...refusal("CONFLICT", 409),
    isStale: true,
  });
  const stopping = new AbortController();
  stopping.abort(new Error("left the page"));
  await expect(client.get("c", { signal: stopping.signal })).rejects.toThrow("left the page");
  const proxy = createServer((request, response) => {
    response.writeHead(request.url?.includes("list") ? 200 : 502).end("<html>");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const behind = chatClient({ api: url });
  await expect(behind.get("c")).rejects.toMatchObject(refusal("UNKNOWN", 502));
  await expect(behind.get("list")).rejects.toMatchObject(refusal("UNKNOWN", 200));
  await new Promise((resolve) => proxy.close(resolve));
  await expect(behind.get("c")).rejects.toMatchObject({ ...refusal("UNREACHABLE", 0), isStale: false });
});

test("options: headers, also made for each request, credentials and fetch", async () => {
  await using server = await setUp();
  const seen: RequestInit[] = [];
  let calls = 0;
  const client = chatClient({
    api: `${server.url}/api`,
    headers: async () => ({ "x-user": "eve", "x-call": String(++calls) }),
    credentials: "include",
    fetch: (url, init) => {
      seen.push(init);
      return fetch(url, init);
    },
  });
  expect((await client.list()).chats).toEqual([]);
  await expect(client.get("c")).rejects.toMatchObject(refusal("NOT_FOUND", 404));
  expect(seen).toMatchObject([
    { method: "GET", credentials: "include", headers: { "x-call": "1" } },
    { headers: { "x-user": "eve", "x-call": "2" } },
  ]);
});

test("a 409 of a message is mended: load the chat again, keep the text, send again", async () => {
  await using server = await setUp();
  const { client, url } = server;
  let loaded = await client.get("c");
  const transport = chatTransport({ api: `${url}/api/chat`, messages: () => loaded.messages });
  const tab = new Tab({ id: "c", messages: loaded.messages, transport });
  await server.post({ id: "c", message: user("elsewhere", "say hello") });
  await tab.sendMessage({ text: "say mine" });
  const error = ChatClientError.from(tab.error);
  expect(error).toMatchObject({ ...refusal("CONFLICT", 409), isStale: true });
  loaded = await client.get("c");
  tab.messages = loaded.messages;
  await tab.sendMessage({ text: "say mine" });
  expect(tab.error).toBeUndefined();
  expect(tab.lastText).toBe("mine ");
  expect(await server.stored("c")).toEqual(tab.plain);
  expect(ChatClientError.from(new TypeError("fetch failed"))).toMatchObject(refusal("UNREACHABLE", 0));
  expect(ChatClientError.from(new Error("An error occurred."))).toBeUndefined();
});

test("another owner gets and changes nothing by any route", async () => {
  await using server = await setUp({ title: async () => "Eve's" });
  const before = await server.mine.read("c");
  const bodies: Record<string, unknown> = {
    "POST /chat": { id: "c", trigger: "regenerate-message" },
    "PATCH /chats/:id": { title: "Eve's" },
    "POST /chats/:id/truncate": { behind: null },
    "POST /chats/:id/switch": { messageId: "q1" },
    "PATCH /chats/:id/messages/:messageId": { metadata: { x: 1 } },
    "POST /chats/import": await server.mine.export("c"),
  };
  const allowed: Record<string, number> = {
    "GET /chat/:id/stream": 204,
    "GET /chats": 200,
    "DELETE /chats/:id": 204,
    "POST /chats/import": 201,
  };
  expect(routeNames).toEqual(expect.arrayContaining(Object.keys({ ...bodies, ...allowed })));
  for (const name of routeNames) {
    const [method = "", pattern = ""] = name.split(" ");
    const path = pattern.replace(":messageId", "q1").replace(":id", "c");
    const body = bodies[name] ?? {};
    const response = await fetch(`${server.url}/api${path}`, {
      method,
      headers: { "x-user": "eve", "content-type": "application/json" },
      ...(method !== "GET" && method !== "DELETE" && { body: JSON.stringify(body) }),
    });
    expect(response.status, name).toBe(allowed[name] ?? 404);
    const text = await response.text();
    if (name !== "POST /chats/import") expect(text, name).not.toMatch(/Rome|q1|a2/);
  }
  expect(await server.mine.read("c")).toEqual(before);
});

test("the module is bundled for browsers, without modules of Node.js or of the server", async () => {
  const { metafile, errors } = await build({
    entryPoints: [new URL("../src/client.ts", import.meta.url).pathname],
    ...{ bundle: true, write: false, platform: "browser", format: "esm", metafile: true, logLevel: "silent" },
    conditions: ["scrollback-source"],
    external: ["ai"],
  });
  expect(errors).toEqual([]);
  const own = Object.keys(metafile.inputs).map((path) => path.split("/").at(-1));
  expect(own.toSorted()).toEqual(["chat-client.ts", "client.ts", "parent-id.ts"]);
});
