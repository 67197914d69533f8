import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { routes } from "../src/http/routes.ts";
import { answer, serve, user } from "./serve.ts";

async function withChats(options: Parameters<typeof serve>[0] = {}) {
  let time = 0;
  // Chats of the same millisecond would be listed by their ids.
  const now = () => {
    time = Math.max(Date.now(), time + 1);
    return time;
  };
  const server = await serve({ store: { now }, ...options });
  for (const [index, id] of ["a", "b", "c"].entries())
    await server.mine.create({
      id,
      title: id.toUpperCase(),
      labels: { n: index },
      messages: [user("q"), answer("r")],
    });
  const json = async (method: string, path: string, body?: unknown) => {
    const response = await server.send(method, path, body);
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { ...server, json };
}

test("lists: newest first, by page, pinned, archived and labels", async () => {
  await using server = await withChats();
  const ids = async (query: string) => (await server.get(`/chats${query}`)).chats.map(({ id }) => id);
  expect(await ids("")).toEqual(["c", "b", "a"]);
  const page = await server.get("/chats?limit=2");
  expect(page.chats).toHaveLength(2);
  expect(await ids(`?limit=2&cursor=${encodeURIComponent(page.cursor ?? "")}`)).toEqual(["a"]);
  await server.json("PATCH", "/chats/a", { pinned: true, archived: true });
  await server.json("PATCH", "/chats/b", { pinned: true });
  expect([await ids("?archived=true"), await ids("?pinned=true"), await ids("?pinned=false")]).toEqual([
    ["a"],
    ["b"],
    ["c"],
  ]);
  expect(await ids(`?labels=${encodeURIComponent('{"n":2}')}`)).toEqual(["c"]);
  for (const query of ["limit=0", "limit=x", "pinned=maybe", "labels=x", "labels=[]", "cursor=x"])
    expect(await server.json("GET", `/chats?${query}`)).toMatchObject({
      status: 400,
      body: { error: "INVALID_ARGUMENT" },
    });
});

test("changes, forks, exports, imports and deletes", async () => {
  await using server = await withChats({ allowImport: true });
  const patched = await server.json("PATCH", "/chats/a", {
    title: "New",
    labels: { n: null },
    metadata: { x: 1 },
  });
  expect(patched).toMatchObject({
    status: 200,
    body: { title: "New", titleBy: "user", labels: {}, metadata: { x: 1 } },
  });
  const expectedRevision = patched.body.revision;
  expect((await server.json("PATCH", "/chats/a", { title: "1", expectedRevision })).status).toBe(200);
  expect((await server.json("PATCH", "/chats/a", { title: "2", expectedRevision })).status).toBe(409);
  expect((await server.json("PATCH", "/chats/a", { unknown: 1 })).status).toBe(400);
  const fork = await server.json("POST", "/chats/a/fork", { at: "q", title: "Fork" });
  expect(fork).toMatchObject({
    status: 201,
    body: { title: "Fork", messageCount: 1, forkedFrom: { chatId: "a" } },
  });
  const exported = await server.json("GET", "/chats/a/export");
  expect(exported.body).toMatchObject({ type: "scrollback.chat", chat: { id: "a" } });
  expect((await server.json("DELETE", "/chats/a")).status).toBe(204);
  expect((await server.json("GET", "/chats/a/export")).status).toBe(404);
  expect(await server.json("POST", "/chats/import", exported.body)).toMatchObject({
    status: 201,
    body: { title: "1" },
  });
  const again = "/chats/import?id=kept&operationId=op";
  for (let call = 0; call < 2; call++)
    expect(await server.json("POST", again, exported.body)).toMatchObject({
      status: 201,
      body: { id: "kept" },
    });
  expect((await server.json("POST", "/chats/import?id=kept", exported.body)).status).toBe(409);
  expect((await server.json("POST", "/chats/import?ids=kept", exported.body)).status).toBe(400);
  expect((await server.json("POST", "/chats/import", { type: "other" })).status).toBe(400);
  expect((await server.json("DELETE", "/chats/none")).status).toBe(204);
});

test("ids of chats of any characters", async () => {
  await using server = await serve();
  for (const id of ["a/b?c=d#e", "import", "ä €", "%2F", ":id"]) {
    await server.post({ id, message: user("q", "say hello") });
    expect((await server.get(`/chats/${encodeURIComponent(id)}`)).messages).toHaveLength(2);
    expect((await server.send("PATCH", `/chats/${encodeURIComponent(id)}`, { pinned: true })).status).toBe(
      200,
    );
  }
  // A colon needs no encoding.
  expect((await server.get("/chats/:id")).messages).toHaveLength(2);
  expect((await server.send("GET", "/chats/%zz")).status).toBe(400);
});

test("unknown paths and methods", async () => {
  await using server = await serve();
  for (const path of ["/x", "/chats/a/b/c", "/chat/a", "/chats/a/unknown", "/chat//stop"])
    expect((await server.send("POST", path)).status).toBe(404);
  const refused = await server.send("PUT", "/chats/a");
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, PATCH, DELETE"]);
  expect((await server.send("GET", "/chat")).status).toBe(405);
  expect((await fetch(`${server.url}/elsewhere`)).status).toBe(404);
});

test("invalid requests are refused before anything is stored, naming the field", async () => {
  await using server = await serve({ maxMessageBytes: 2_000 });
  const message = user("q");
  const bodies: [unknown, string][] = [
    [[], "body"],
    [{ message }, "id"],
    [{ id: "", message }, "id"],
    [{ id: ".", message }, "id"],
    [{ id: "..", message }, "id"],
    [{ id: "c" }, "message"],
    [{ id: "c", messages: [null] }, "messages"],
    [{ id: "c", messages: [null, message] }, "messages"],
    [
      { id: "c", messages: [{ id: "a", role: "assistant", parts: [null] }, user("q")], parentId: 7 },
      "parentId",
    ],
    [{ id: "c", message: { ...message, parts: [null] } }, "parts[0]"],
    [
      {
        id: "c",
        messages: [
          { id: "a", role: "assistant", parts: [null] },
          { ...message, parts: [null] },
        ],
      },
      "parts[0]",
    ],
    [{ id: "c", messages: [] }, "message"],
    [{ id: "c", message, trigger: "other" }, "trigger"],
    [{ id: "c", message, parentId: 7 }, "parentId"],
    [{ id: "c", message, branch: "yes" }, "branch"],
    [{ id: "c", message: { ...message, role: "system" } }, "role"],
    [{ id: "c", message: { ...message, id: 7 } }, "id"],
    [{ id: "c", message: { ...message, id: "x".repeat(257) } }, "id"],
    [{ id: "c", message: { ...message, parts: [] } }, "parts"],
    [{ id: "c", message: { ...message, parts: [...message.parts, { type: "text" }] } }, "parts[1]"],
    [{ id: "c", message: { ...message, parts: [{ type: "step-start" }] } }, "parts[0]"],
    [
      { id: "c", message: { ...message, parts: [{ type: "tool-x", state: "output-available" }] } },
      "parts[0]",
    ],
  ];
  for (const [body, name] of bodies) {
    const response = await server.send("POST", "/chat", body);
    const { error, message: text } = (await response.json()) as { error: string; message: string };
    expect([response.status, error]).toEqual([400, "INVALID_ARGUMENT"]);
    expect(text).toContain(name);
  }
  const large = await server.send("POST", "/chat", { id: "c", message: user("q", "x".repeat(2_000)) });
  expect(large.status).toBe(413);
  const stream = ReadableStream.from([new Uint8Array(1_500), new Uint8Array(1_500)]);
  const streamed = await fetch(`${server.url}/api/chat`, { method: "POST", body: stream, duplex: "half" });
  expect(streamed.status).toBe(413);
  const text = await fetch(`${server.url}/api/chat`, { method: "POST", body: "no json" });
  expect(text.status).toBe(400);
  expect((await server.get("/chats")).chats).toEqual([]);
});

test("a store that refuses, and other errors: 500, reported, without details", async () => {
  await using server = await serve();
  const failing = server.failWrites();
  const refused = await server.send("POST", "/chat", { id: "c", message: user("q") });
  expect([refused.status, await refused.json()]).toEqual([
    500,
    { error: "UNAVAILABLE", message: "Internal error" },
  ]);
  failing.stop();
  const broken = new Error("secret");
  server.chats.of = () => {
    throw broken;
  };
  const response = await server.send("GET", "/chats");
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: "INTERNAL", message: "Internal error" },
  ]);
  expect(server.errors).toMatchObject([{ code: "UNAVAILABLE" }, broken]);
});

test("a call without an owner is a programming error, and throws", async () => {
  await using server = await serve();
  const request = new Request("http://a/api/chats");
  const invalid = { owner: undefined } as never;
  const { handler } = server;
  const calls = [
    handler.fetch(request, invalid),
    handler.handle(request, invalid),
    handler.resume("c", { owner: "" }),
    handler.stop("c", invalid),
    // A forgotten await: its rejection, which nobody handles, would end the process.
    handler.fetch(request, { owner: Promise.reject(new Error("no session")) } as never),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("invalid ids of forks and runs, methods and hosts: 400 and 405", async () => {
  await using server = await withChats();
  expect((await server.json("POST", "/chats/a/fork", { id: ".." })).status).toBe(400);
  expect((await server.json("POST", "/chat/a/stop", { runId: 5 })).status).toBe(400);
  const { hostname, port } = new URL(server.url);
  const send = async (method: string, host: string) =>
    await new Promise((resolve, reject) => {
      const options = { hostname, port, path: "/api/chats", method, headers: { host } };
      const request = httpRequest(options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      request.on("error", reject).end();
    });
  expect([await send("TRACE", "a"), await send("GET", "a b:x"), await send("GET", "a")]).toEqual([
    405, 400, 200,
  ]);
});

test("the manual has every route", () => {
  const manual = readFileSync(join(import.meta.dirname, "../../../docs/reference/ai-sdk.md"), "utf8");
  const listed = [...manual.matchAll(/^\| `([A-Z]+) \/api(\/\S+)` \|/gm)].map(
    ([, method, path = ""]) => `${method} ${path.replace("/files/:fileId", "/files/:messageId")}`,
  );
  expect(listed.sort()).toEqual(Object.keys(routes).sort());
});
