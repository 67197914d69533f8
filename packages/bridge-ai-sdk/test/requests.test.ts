import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import { simulateReadableStream, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { type ChatHandlerOptions, createChatHandler, uiMessages } from "../src/index.ts";
import { answer, user } from "./serve.ts";

/** A handler without a server, and a function that sends it a request and returns its status and error. */
async function setUp(options: Partial<ChatHandlerOptions<UIMessage>> = {}) {
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages() });
  const handler = createChatHandler<UIMessage>({
    chats,
    allowImport: true,
    generate: () => simulateReadableStream({ chunks: [] }),
    ...options,
  });
  const mine = chats.of("ada");
  await mine.create({ id: "c", messages: [user("q"), answer("a")] });
  const send = async (method: string, path: string, init: RequestInit = {}) => {
    const request = new Request(`https://chat.example/api${path}`, { method, ...init });
    const response = await handler.fetch(request, { owner: "ada" });
    const text = await response.text();
    return { status: response.status, text };
  };
  return { mine, send };
}

test("parameters of a query that are unknown, repeated or not decimal are refused, naming them", async () => {
  const { send } = await setUp();
  const refused: [string, string, string][] = [
    ["GET", "/chats?archive=true", "archive"],
    ["GET", "/chats?constructor=1", "constructor"],
    ["GET", "/chats?limit=1&limit=2", "limit"],
    ["GET", "/chats?limit=1e1", "limit"],
    ["GET", "/chats?limit=", "limit"],
    ["GET", "/chats/c?limits=1", "limits"],
    ["GET", "/chats/c?limit=0x10", "limit"],
    ["GET", "/chats/c?limit=-1", "limit"],
    ["GET", "/chats/c?limit=1001", "1,000"],
    ["GET", "/chats/c?cursor=x", "cursor"],
    ["GET", "/chats/c/export?limit=1", "limit"],
    ["GET", "/chat/c/stream?runId=x", "runId"],
    ["POST", "/chat?branch=true", "branch"],
    ["POST", "/chat/c/stop?runId=x", "runId"],
    ["POST", "/chats/c/fork?at=q", "at"],
    ["POST", "/chats/import?expectedRevision=x", "expectedRevision"],
    ["PATCH", "/chats/c?title=x", "title"],
    ["DELETE", "/chats/c?expectedRevision=x", "expectedRevision"],
  ];
  for (const [method, path, name] of refused) {
    const { status, text } = await send(method, path);
    expect([path, status, text]).toEqual([path, 400, expect.stringContaining(name)]);
  }
  expect((await send("POST", "/chat/c/stop", { body: '{"runID":"x"}' })).status).toBe(400);
  expect((await send("GET", "/chats/c")).status).toBe(200);
});

test("a chat is read in pages of 100 messages, or up to 1,000", async () => {
  const { mine, send } = await setUp();
  const messages = Array.from({ length: 150 }, (_, index) => user(`m${index}`));
  await mine.create({ id: "long", messages });
  const read = async (query: string) => {
    const { messages, older } = JSON.parse((await send("GET", `/chats/long${query}`)).text);
    return { ids: messages.map(({ id }: UIMessage) => id), older };
  };
  const ids = messages.map(({ id }) => id);
  const newest = await read("");
  expect(newest.ids).toEqual(ids.slice(50));
  expect(await read(`?before=${encodeURIComponent(newest.older)}`)).toEqual({ ids: ids.slice(0, 50) });
  expect((await read("?limit=1000")).ids).toEqual(ids);
});

const posts: [string, unknown][] = [
  ["/chat", { id: "c", message: user("new") }],
  ["/chat/c/stop", undefined],
  ["/chats/c/fork", undefined],
  ["/chats/c/fork", { id: "fork" }],
  ["/chats/import", { type: "scrollback.chat" }],
];

test("a page of another site cannot make a browser change chats by requests that browsers send unasked", async () => {
  const { mine, send } = await setUp();
  const sites: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: "https://other.chat.example" },
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "https://chat.example.evil.example", host: "chat.example" },
  ];
  const types = ["text/plain", "text/plain; application/json", "application/x-www-form-urlencoded"];
  for (const site of sites)
    for (const type of types)
      for (const [path, body] of posts) {
        const { status, text } = await send("POST", path, {
          headers: { ...site, "content-type": type },
          body: body === undefined ? null : JSON.stringify(body),
        });
        expect([path, status, text]).toEqual([path, 400, expect.stringContaining("content-type")]);
      }
  expect((await mine.list()).chats.map(({ id, messageCount }) => [id, messageCount])).toEqual([["c", 2]]);
});

test("requests of the same site, of other sites with JSON, and of clients that are no browsers are served", async () => {
  const { send } = await setUp();
  const allowed: Record<string, string>[] = [
    {},
    { "sec-fetch-site": "same-origin", origin: "https://chat.example" },
    { "sec-fetch-site": "none" },
    { origin: "https://chat.example" },
    { origin: "https://public.example", host: "public.example" },
    { "sec-fetch-site": "cross-site", "content-type": "application/json; charset=utf-8" },
  ];
  for (const headers of allowed)
    expect((await send("POST", "/chat/c/stop", { headers, body: "{}" })).status).toBe(200);
});

test("a data part without a schema is refused, also if objects have a property of its name", async () => {
  const { send } = await setUp({ dataSchemas: { place: z.object({ city: z.string() }) } });
  const post = async (type: string, data: unknown) => {
    const message = { id: "new", role: "user", parts: [{ type, data }] };
    return (await send("POST", "/chat", { body: JSON.stringify({ id: "data", message }) })).status;
  };
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", "other"])
    expect([name, await post(`data-${name}`, {})]).toEqual([name, 400]);
  expect(await post("data-place", { city: 1 })).toBe(400);
  expect(await post("data-place", { city: "Rome" })).toBe(200);
});
