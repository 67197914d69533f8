import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createStores } from "@scrollback/store-core/driver";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CredentialsProvider } from "../src/credentials.ts";
import { createRedisStores } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { clientNames, opened } from "./clients.ts";
import { clients } from "./connection.ts";
import { user } from "./messages.ts";
import { rejection } from "./rejection.ts";

let server: RunningServer;
let admin: Redis;
beforeAll(async () => {
  server = await startServer("redis");
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

describe.each(clientNames)("credentials with %s", (client) => {
  const storesWith = (credentials: CredentialsProvider) =>
    createStores(new RedisDriver(clients[client].to(new URL(server.url), credentials), randomUUID()), {});
  /** Changes the password of a user, and closes its connections, as a provider of managed servers does. */
  const rotate = async (username: string, password: string) => {
    await admin.call("ACL", "SETUSER", username, "on", "resetpass", `>${password}`, "~*", "+@all");
    await admin.call("CLIENT", "KILL", "USER", username);
  };

  test("a password that changes while stores are in use", async () => {
    const username = `agent-${client.replace(" ", "-")}`;
    let password = "first";
    await rotate(username, password);
    let asked = 0;
    const credentials = async () => {
      asked += 1;
      return { username, password };
    };
    await using stores = storesWith(credentials);
    const store = stores.open();
    expect(asked).toBe(0);
    for (let round = 1; round <= 10; round++) {
      await store.addMessages([user(`${round}`)]);
      password = `password-${round}`;
      await rotate(username, password);
    }
    expect((await store.listMessages()).map(({ content }) => content)).toEqual(
      Array.from({ length: 10 }, (_, index) => `${index + 1}`),
    );
    expect(await admin.call("ACL", "WHOAMI")).toBe("default");
    expect(asked).toBeGreaterThanOrEqual(11);
  });

  test("a refused password is asked for once more, and then the call fails", async () => {
    const username = `stale-${client.replace(" ", "-")}`;
    await rotate(username, "new");
    const passwords = ["old", "new"];
    const credentials = async () => ({ username, password: passwords.shift() ?? "wrong-hush" });
    await using stores = storesWith(credentials);
    expect(await stores.open().listMessages()).toEqual([]);
    await using refused = storesWith(credentials);
    const error = await rejection(refused.open().listMessages());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).not.toContain("hush");
  });

  test("a provider that fails is an outage, and one that returns anything else is refused", async () => {
    const failing = async () => {
      throw new Error("the vault is sealed");
    };
    await using stores = storesWith(failing);
    const error = await rejection(stores.open().listMessages());
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      cause: { message: "the vault is sealed" },
    });
    const credentials = async () => ({ user: "x" }) as unknown as { password: string };
    await using others = storesWith(credentials);
    expect((await rejection(others.open().listMessages())).code).toBe("INVALID_ARGUMENT");
  });
});

test("credentials need a url without a login", () => {
  const credentials = async () => ({ password: "a" });
  for (const options of [
    { url: "redis://:hush@localhost" },
    { client: opened(new Redis({ lazyConnect: true })) },
  ])
    expect(() => createRedisStores({ ...options, credentials })).toThrow(/credentials: needs a url/);
});
