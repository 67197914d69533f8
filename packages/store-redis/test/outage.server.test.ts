import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import type { RedisClient } from "../src/options.ts";
import { majors } from "./clients.ts";
import { user } from "./messages.ts";
import { rejection } from "./rejection.ts";

/** The port of a server that takes connections and never answers. */
async function silentPort(): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function expectOutage(options: { url: string } | { client: RedisClient }, ...parts: string[]) {
  const stores = createRedisStores(options);
  const errors = await Promise.all([
    rejection(stores.open().listMessages()),
    rejection(stores.open().addMessages([user("a")])),
  ]);
  await stores.close();
  for (const error of errors) {
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    for (const part of parts) expect(error.message).toContain(part);
  }
}

describe.concurrent("an outage is told with the server and the root cause", () => {
  test("where nothing listens", () =>
    expectOutage({ url: "redis://:hush@127.0.0.1:1" }, "127.0.0.1:1", "ECONNREFUSED"));

  test("where the name is unknown", () =>
    expectOutage({ url: "redis://nohost.invalid:6399" }, "nohost.invalid:6399", "ENOTFOUND"));

  test("where the server is silent", async () => {
    const port = await silentPort();
    await expectOutage({ url: `redis://127.0.0.1:${port}` }, `127.0.0.1:${port}`, "timeout");
  });
});

describe.concurrent.each(majors)("with a client of $major that was handed in", ({ Redis, Cluster }) => {
  const address = { host: "127.0.0.1", port: 1 };
  const noQueue = { enableOfflineQueue: false };
  const brief = { maxRetriesPerRequest: 0, retryStrategy: () => 200 };
  // ioredis keeps to itself why it reaches no sentinel and no first node.
  test.each([
    ["a server", "(ECONNREFUSED)", () => new Redis({ ...address, ...brief })],
    ["a server, without a queue", "(ECONNREFUSED)", () => new Redis({ ...address, ...brief, ...noQueue })],
    [
      "Sentinel",
      "127.0.0.1:1",
      () => new Redis({ sentinels: [address], name: "main", ...noQueue, ...brief }),
    ],
    ["a cluster", "127.0.0.1:1", () => new Cluster([address], { ...noQueue, redisOptions: brief })],
  ])("%s", async (_, reason, connect) => {
    const client = connect();
    // Of a cluster, which ioredis would print.
    client.on("error", () => undefined);
    await expectOutage({ client }, "127.0.0.1:1", reason);
    client.disconnect();
  });
});
