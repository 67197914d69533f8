import { randomBytes } from "node:crypto";
import type { BlobStorage } from "@scrollback/chats";
import type { UIMessage } from "ai";
import type { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { blobsIn } from "../../../conformance-tests/test/fixtures/blobs-in.ts";
import { chatClient } from "../src/client.ts";
import { scriptedModel } from "./scripted-model.ts";
import { serve, user } from "./serve.ts";
import { openTab } from "./ui-client.ts";

/** Bytes that begin as those of a PNG. */
const photo = Buffer.concat([Buffer.from("\x89PNG", "latin1"), randomBytes(10 * 1_048_576)]);
const dataUrl = `data:image/png;base64,${photo.toString("base64")}`;
const filePart = { type: "file", mediaType: "image/png", filename: "rome.png", url: dataUrl } as const;
const withPhoto = (id: string): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `say ${id}` }, filePart],
});

/** The sizes of the files that the model got last. */
function filesOf(model: MockLanguageModelV4): number[] {
  const sizes: number[] = [];
  for (const { content } of model.doStreamCalls.at(-1)?.prompt ?? [])
    for (const part of Array.isArray(content) ? content : []) {
      if (part.type !== "file") continue;
      const { data } = part.data as { data?: Uint8Array | string };
      sizes.push(typeof data === "string" ? Buffer.from(data, "base64").length : (data?.length ?? 0));
    }
  return sizes;
}

async function setUp(options: Parameters<typeof serve>[0] = {}) {
  const model = scriptedModel();
  const server = await serve({ model, ...options });
  const urlIn = async (index = 0) => {
    const { messages } = await server.get("/chats/c");
    return String((messages[index]?.parts[1] as { url?: string } | undefined)?.url);
  };
  const load = (path: string, headers = {}) => fetch(server.url + path, { headers });
  return { model, server, urlIn, load };
}

test("a photo of 10 MB in useChat: the model gets it at each turn, and the page its URL", async () => {
  const { model, server, urlIn, load } = await setUp();
  await using _ = server;
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ parts: withPhoto("one").parts });
  expect(filesOf(model)).toEqual([photo.length]);
  await tab.sendMessage({ text: "say two" });
  expect(filesOf(model)).toEqual([photo.length]);
  const response = await server.send("GET", "/chats/c");
  expect((await response.text()).length).toBeLessThan(5_000);
  const url = await urlIn();
  expect(url).toMatch(/^\/api\/chats\/c\/files\/[\w-]{43}\?type=image%2Fpng$/);
  const loaded = await load(url);
  expect(Buffer.from(await loaded.arrayBuffer()).equals(photo)).toBe(true);
  expect((await server.stored("c"))?.[0]?.parts[1]).toEqual(filePart);
  expect(server.errors).toEqual([]);
});

test("the route of a file: its headers, ranges, and only for its owner", async () => {
  const { server, urlIn, load } = await setUp();
  await using _ = server;
  await server.post({ id: "c", message: withPhoto("q") });
  const url = await urlIn();
  const { headers } = await load(url);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "image/png",
    "content-disposition": "inline",
    "content-length": String(photo.length),
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=31536000, immutable",
  });
  const dangerous = await load(url.replace("image%2Fpng", "text%2Fhtml"));
  expect(dangerous.headers.get("content-type")).toBe("application/octet-stream");
  expect(dangerous.headers.get("content-disposition")).toBe("attachment");
  const svg = await load(url.replace("image%2Fpng", "image%2Fsvg%2Bxml"));
  expect(svg.headers.get("content-disposition")).toBe("attachment");
  for (const [range, start, end] of [
    ["bytes=0-3", 0, 4],
    [`bytes=${photo.length - 5}-`, photo.length - 5, photo.length],
    ["bytes=-7", photo.length - 7, photo.length],
    ["bytes=1048570-1048590", 1_048_570, 1_048_591],
    [`bytes=5-${photo.length * 2}`, 5, photo.length],
  ] as const) {
    const part = await load(url, { range });
    expect(part.status).toBe(206);
    expect(part.headers.get("content-range")).toBe(`bytes ${start}-${end - 1}/${photo.length}`);
    expect(Buffer.from(await part.arrayBuffer()).equals(photo.subarray(start, end))).toBe(true);
  }
  expect((await load(url, { range: `bytes=${photo.length}-` })).status).toBe(416);
  expect((await load(url, { "if-none-match": headers.get("etag") ?? "" })).status).toBe(304);
  expect((await load(url, { "x-user": "eve" })).status).toBe(404);
  expect((await load(url.replace(/files\/./, "files/!"))).status).toBe(404);
  await server.send("DELETE", "/chats/c");
  expect((await load(url)).status).toBe(404);
});

test("a message that is edited keeps its file by the URL that the page has", async () => {
  const { model, server, urlIn } = await setUp();
  await using _ = server;
  await server.post({ id: "c", message: withPhoto("q") });
  const url = await urlIn();
  const message = {
    ...withPhoto("r"),
    parts: [
      { type: "text", text: "say again" },
      { ...filePart, url },
    ],
  };
  expect((await server.post({ id: "c", message, messageId: "q" })).status).toBe(200);
  expect(filesOf(model)).toEqual([photo.length]);
  expect((await server.stored("c"))?.[0]?.parts[1]).toEqual(filePart);
  expect(await urlIn()).toBe(url);
  // Sent again, because its answer failed.
  expect((await server.post({ id: "c", message, messageId: "q" })).status).toBe(409);
});

test("a page on another origin has URLs under its own api, and can send them back", async () => {
  const { model, server, load } = await setUp();
  await using _ = server;
  const client = chatClient<UIMessage>({ api: `${server.url}/api` });
  await server.post({ id: "c", message: withPhoto("q") });
  const [question] = (await client.get("c")).messages;
  expect((await client.message("c", "q")).message).toEqual(question);
  const [, part] = question?.parts ?? [];
  const url = part?.type === "file" ? part.url : "";
  expect(url).toMatch(new RegExp(`^${server.url}/api/chats/c/files/`));
  expect((await load(url.slice(server.url.length))).status).toBe(200);
  await server.post({ id: "c", message: { ...question, id: "r" }, messageId: "q" });
  expect(filesOf(model)).toEqual([photo.length]);
  expect((await server.stored("c"))?.[0]?.parts[1]).toEqual(filePart);
});

test("a model that loads URLs gets the signed URL of a storage, any other one the content", async () => {
  const contents = new Map<string, Uint8Array>();
  const blobs: BlobStorage = {
    ...blobsIn(contents),
    url: async (key, { mediaType, expiresInMs }) =>
      `https://files.example/${key}?${mediaType}&${expiresInMs}`,
  };
  for (const takesUrls of [true, false]) {
    const { model, server } = await setUp({ store: { blobs } });
    await using _ = server;
    if (takesUrls) Object.defineProperty(model, "supportedUrls", { value: { "image/*": [/^https:/] } });
    await server.post({ id: "c", message: withPhoto("q") });
    const parts = model.doStreamCalls[0]?.prompt.flatMap(({ content }) => content as unknown[]);
    const file = parts?.find((part) => Object(part).type === "file");
    if (takesUrls)
      expect(file).toMatchObject({
        data: { url: new URL(`https://files.example/${[...contents.keys()][0]}?image/png&3600000`) },
      });
    else expect(filesOf(model)).toEqual([photo.length]);
  }
});

test("a client's text that is a reference is refused, and so are many URLs of stored files", async () => {
  const { server, urlIn } = await setUp();
  await using _ = server;
  await server.post({ id: "c", message: withPhoto("q") });
  const url = await urlIn();
  const fileId = /files\/([\w-]{43})/.exec(url)?.[1];
  const text = (form: string) => `scrollback-file:${fileId}:${form}`;
  const part = { type: "text", text: "say hello" };
  const file = { ...filePart, url };
  const refused = [
    { id: "x", role: "user", parts: [part, { type: "text", text: text("") }] },
    { id: text(""), role: "user", parts: [part] },
    { id: "x", role: "user", parts: [part, { ...file, filename: text("bytes") }] },
    { id: "x", role: "user", parts: [part, { ...file, url: text("data:image/png;base64,") }] },
    { id: "x", role: "user", parts: [part], metadata: { at: text("") } },
    { id: "x", role: "user", parts: [part, ...Array.from({ length: 33 }, () => file)] },
  ];
  for (const message of refused)
    expect(await server.post({ id: "c", message })).toMatchObject({ status: 400 });
  const metadata = { metadata: { at: [text("")] } };
  expect((await server.send("PATCH", "/chats/c/messages/q", metadata)).status).toBe(400);
  const edited = { id: "y", role: "user", parts: [part, { ...file, url: `${url.split("?")[0]}?type=` }] };
  expect((await server.post({ id: "c", message: edited, messageId: "q" })).status).not.toBe(500);
});

test("a reducer's history loads no file that it dropped", async () => {
  const { model, server } = await setUp({
    reducer: { reduce: async (messages) => messages.slice(-1) },
  });
  await using _ = server;
  await server.post({ id: "c", message: withPhoto("q") });
  const before = server.reads("scrollback:content:");
  await server.post({ id: "c", message: user("next") });
  expect(filesOf(model)).toEqual([]);
  expect(server.reads("scrollback:content:")).toBe(before);
});

test("a file of a type that the model does not take is refused, and one that is gone becomes a note", async () => {
  const { model, server, urlIn } = await setUp();
  await using _ = server;
  const url = `data:image/png;base64,${randomBytes(100_000).toString("base64")}`;
  const wrong = { ...withPhoto("q"), parts: [{ ...filePart, url }] };
  expect((await server.post({ id: "c", message: wrong })).status).toBe(400);
  await server.post({ id: "c", message: withPhoto("q") });
  const gone = (await urlIn()).replace(/files\/.{43}/, `files/${"A".repeat(43)}`);
  const message = {
    ...user("say gone"),
    parts: [
      { type: "text", text: "say gone" },
      { ...filePart, url: gone },
    ],
  };
  expect((await server.post({ id: "d", message })).status).toBe(200);
  expect(server.errors).toMatchObject([{ code: "NOT_FOUND" }]);
  expect(JSON.stringify(model.doStreamCalls.at(-1)?.prompt).slice(0, 500)).toContain(
    "A file is not available: rome.png",
  );
});
