import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

test("a certificate of an unknown CA is refused, and the error says so", async () => {
  await using stores = createRedisStores({ url: server.url });
  await expect(stores.open().listMessages()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: expect.stringContaining("certificate"),
  });
});

test("a server that speaks no TLS is UNAVAILABLE, not empty", async () => {
  await using plain = await startServer("redis");
  await using stores = createRedisStores({ url: plain.url.replace("redis:", "rediss:") });
  await expect(stores.open().listMessages()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
