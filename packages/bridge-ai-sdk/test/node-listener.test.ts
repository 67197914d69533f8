import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { nodeListener } from "../src/index.ts";
import { serve, until } from "./serve.ts";

/** A server of `nodeListener`, and the errors that it reports. */
async function listen(handler: Parameters<typeof nodeListener>[0]) {
  const errors: unknown[] = [];
  const server = createServer(nodeListener(handler, { onError: (error) => void errors.push(error) }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ errors, port, url: `http://127.0.0.1:${port}` },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("nodeListener: methods, paths, headers and bodies in both directions, and each cookie", async () => {
  const seen: unknown[] = [];
  await using server = await listen(async (request) => {
    seen.push([request.method, request.url, request.headers.get("x-a"), await request.text()]);
    const headers = new Headers({ "x-b": "2" });
    headers.append("set-cookie", "a=1; Path=/");
    headers.append("set-cookie", "b=2; Path=/");
    return new Response("made", { status: 201, headers });
  });
  const { url } = server;
  const response = await fetch(`${url}/path?x=1`, { method: "PUT", body: "text", headers: { "x-a": "1" } });
  expect([response.status, response.headers.get("x-b"), await response.text()]).toEqual([201, "2", "made"]);
  expect(response.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2; Path=/"]);
  expect(seen).toEqual([["PUT", `${url}/path?x=1`, "1", "text"]]);
  expect(server.errors).toEqual([]);
});

test("nodeListener: errors of the handler and of a body reach the client and onError", async () => {
  const broken = new Error("broken");
  const thrown = new Error("secret");
  await using server = await listen((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/refused") return new Response(null, { status: 401 });
    if (pathname === "/conflict") throw new StoreError("CONFLICT", "no");
    if (pathname === "/throws") throw thrown;
    if (pathname === "/rejects") return Promise.reject(thrown);
    if (pathname === "/nothing") return undefined as never;
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("so far")),
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          controller.error(broken);
        },
      }),
    );
  });
  const { url, errors } = server;
  expect((await fetch(`${url}/conflict`)).status).toBe(409);
  expect((await fetch(`${url}/refused`)).status).toBe(401);
  expect(errors).toEqual([]);
  for (const path of ["/throws", "/rejects", "/nothing"]) {
    const response = await fetch(`${url}${path}`);
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("secret")]);
  }
  await expect(fetch(`${url}/breaks`).then((response) => response.text())).rejects.toThrow();
  await until(() => errors.length === 4);
  const nothing = expect.objectContaining({ message: "nodeListener: the handler returned no Response" });
  expect(errors).toEqual([thrown, thrown, nothing, broken]);
});

test("nodeListener: a client that disconnects cancels the response's body, and is no error", async () => {
  let isCancelled = false;
  await using server = await listen(
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("so far")),
          cancel() {
            isCancelled = true;
          },
        }),
      ),
  );
  const client = new AbortController();
  const response = await fetch(server.url, { signal: client.signal });
  await response.body?.getReader().read();
  client.abort();
  await until(() => isCancelled);
  expect(server.errors).toEqual([]);
});

test("a client that disconnects while it sends a message is no error of the server", async () => {
  await using app = await serve();
  const statuses: number[] = [];
  await using server = await listen(async (request) => {
    const response = await app.handler.fetch(request, { owner: "ada" });
    statuses.push(response.status);
    return response;
  });
  const headers = { "content-type": "application/json", "content-length": 1_000 };
  const client = httpRequest(`${server.url}/api/chat`, { method: "POST", headers });
  client.on("error", () => undefined);
  client.write('{"id":', () => setTimeout(() => client.destroy(), 20));
  await until(() => statuses.length > 0);
  expect(statuses).toEqual([400]);
  expect([...app.errors, ...server.errors]).toEqual([]);
});

test("nodeListener: a host with a path, a query or credentials is refused, and does not change the path", async () => {
  const urls: string[] = [];
  await using server = await listen((request) => {
    urls.push(request.url);
    return new Response("served");
  });
  const send = async (host: string) =>
    await new Promise<number | undefined>((resolve, reject) => {
      const options = { port: server.port, path: "/api/chats", headers: { host } };
      const request = httpRequest(options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      request.on("error", reject).end();
    });
  for (const host of ["a/public?", "a/..", "a?x=", "a#", "user@a", "a b:x", "a:99999", "[::1"])
    expect([host, await send(host)]).toEqual([host, 400]);
  for (const host of ["a", "a.example:8080", "[::1]:8080"])
    expect([host, await send(host)]).toEqual([host, 200]);
  expect(urls).toEqual([
    "http://a/api/chats",
    "http://a.example:8080/api/chats",
    "http://[::1]:8080/api/chats",
  ]);
});

test("a connection can be reused after a request whose body was not read", async () => {
  await using server = await serve({ maxMessageBytes: 2_000 });
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  const send = async (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
    await new Promise<number | undefined>((resolve, reject) => {
      const options = { agent, method, headers, timeout: 5_000 };
      const request = httpRequest(`${server.url}${path}`, options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      request.on("error", reject).on("timeout", () => request.destroy(new Error("no answer")));
      request.end(body);
    });
  const large = "x".repeat(3 * 1_024 * 1_024);
  const requests: [string, Record<string, string>?][] = [
    ["/api/chat"],
    ["/elsewhere"],
    ["/api/chat", { "transfer-encoding": "chunked" }],
  ];
  for (const [path, headers] of requests) {
    expect(await send("POST", path, large, headers)).toBe(path === "/api/chat" ? 413 : 404);
    expect(await send("GET", "/api/chats", "")).toBe(200);
  }
});
