import { randomUUID } from "node:crypto";
import { TcpProxy } from "@scrollback/conformance";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { majors, opened } from "./clients.ts";
import { users } from "./messages.ts";

let server: RunningServer;
beforeAll(async () => {
  server = await startServer("redis", { tls: true });
});
afterAll(() => server.stop());

describe.each(majors)("TLS with $major", ({ Redis }) => {
  test("works with a client that knows the CA", async () => {
    const client = opened(new Redis(server.url, { tls: { ca: server.tls?.ca } }));
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.addMessages(users(2));
    expect(await store.listMessages()).toEqual(users(2));
  });
});

test("a certificate of an unknown CA is refused, and the error names the reason", async () => {
  await using stores = createRedisStores({ url: server.url });
  await expect(stores.open().listMessages()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: expect.stringContaining("certificate"),
  });
});

describe("a server without TLS", () => {
  test("is reported at once, as a permanent error", async () => {
    await using plain = await startServer("redis", { password: "hunter2" });
    const url = plain.url.replace("redis:", "rediss:");
    await using stores = createRedisStores({ url });
    const start = performance.now();
    await expect(stores.open().listMessages()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringMatching(`${plain.port} .*TLS.*redis://`),
    });
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  test("is not confused with a TLS server that hangs", async () => {
    const proxy = new TcpProxy();
    onTestFinished(() => proxy.close());
    const port = await proxy.forward(server);
    proxy.set({ kind: "hang" });
    await using stores = createRedisStores({ url: `rediss://127.0.0.1:${port}` });
    await expect(stores.open().listMessages()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringContaining(`127.0.0.1:${port} (ETIMEDOUT)`),
    });
  });
});
