import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { createLibsqlStores } from "../src/index.ts";

/** An HTTP server, which gets the requests for a WebSocket too, and its URL with a token. */
async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const url = (scheme: string) => `${scheme}://${host}?authToken=hunter2`;
  return { host, url, close, [Symbol.dispose]: close };
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

// Most tests wait for the stores' retries.
describe.concurrent("a server", () => {
  test.each(["http", "ws"])("that cannot be reached over %s is UNAVAILABLE, retryable", async (scheme) => {
    using server = await serve(() => undefined);
    server.close();
    expect(await failureOf(server.url(scheme))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: `libsql: could not reach ${server.host} (ECONNREFUSED)`,
    });
  });

  test("that fails is UNAVAILABLE, retryable", async () => {
    using server = await serve((_, response) => response.writeHead(502).end());
    expect(await failureOf(server.url("http"))).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  test.each<[string, RequestListener]>([
    ["before its reply", (request) => request.socket.end()],
    [
      "in its reply",
      (_, response) =>
        void response.writeHead(200, { "content-length": 9 }).write("{", () => response.socket?.end()),
    ],
  ])("that ends the connection %s is UNAVAILABLE, retryable", async (_, listener) => {
    using server = await serve(listener);
    expect(await failureOf(server.url("http"))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: `libsql: could not reach ${server.host} (no connection)`,
    });
  });

  test.each(["http", "ws"])("that does not reply over %s is UNAVAILABLE, retryable", async (scheme) => {
    using server = await serve(() => undefined);
    expect(await failureOf(server.url(scheme))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: `libsql: could not reach ${server.host} (timeout)`,
    });
  });

  test.each(["http", "ws"])("that refuses the token over %s is UNAVAILABLE", async (scheme) => {
    using server = await serve((_, response) => response.writeHead(401).end());
    expect(await failureOf(server.url(scheme))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: "libsql: the server refused the authToken of url",
    });
  });
});
