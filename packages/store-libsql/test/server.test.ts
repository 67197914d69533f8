import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError } from "@scrollback/store-core";
import { afterEach, expect, test } from "vitest";
import { createLibsqlStores } from "../src/index.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** The URL of an HTTP server, with a token. */
async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}?authToken=hunter2`;
}

async function failureOf(url: string): Promise<StoreError> {
  await using stores = createLibsqlStores({ url });
  const error = await stores
    .open("a")
    .listMessages()
    .catch((error: unknown) => error);
  if (!StoreError.is(error)) throw error;
  expect(`${error.message} ${String(error.cause)}`).not.toContain("hunter2");
  return error;
}

test("a server that cannot be reached is UNAVAILABLE, retryable", async () => {
  const url = await serve(() => undefined);
  await new Promise((resolve) => server?.close(resolve));
  expect(await failureOf(url)).toMatchObject({ code: "UNAVAILABLE", retryable: true });
}, 20_000);

test("a server that fails is UNAVAILABLE, retryable", async () => {
  const url = await serve((_, response) => response.writeHead(502).end());
  expect(await failureOf(url)).toMatchObject({ code: "UNAVAILABLE", retryable: true });
}, 20_000);

test.each<[string, RequestListener]>([
  ["before its reply", (request) => request.socket.end()],
  [
    "in its reply",
    (_, response) =>
      void response.writeHead(200, { "content-length": 9 }).write("{", () => response.socket?.end()),
  ],
])(
  "a server that ends the connection %s is UNAVAILABLE, retryable",
  async (_, listener) => {
    expect(await failureOf(await serve(listener))).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  },
  20_000,
);

test("a server that does not reply is UNAVAILABLE, retryable, after some seconds", async () => {
  const url = await serve(() => undefined);
  expect(await failureOf(url)).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    message: expect.stringContaining("no reply in time"),
  });
}, 20_000);

test("a server that refuses the token is UNAVAILABLE, not retryable", async () => {
  const url = await serve((_, response) => response.writeHead(401).end());
  expect(await failureOf(url)).toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: "libsql: the server refused the authToken of url",
  });
});
