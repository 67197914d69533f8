import { runFactory } from "@scrollback/conformance";
import { Cluster, Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { IoredisConnection } from "../src/clients/ioredis.ts";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import { createRedisStores } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { ownOf } from "./own-connection.ts";

const url = "redis://localhost:6379";

runFactory({
  name: "Redis",
  create: createRedisStores,
  secret: "hunter",
  options: {
    url,
    client: () => new Redis({ lazyConnect: true }),
    wrong: [
      [{ url, tableName: "chats" }, "tableName"],
      [
        { url: `${url}?keyPrefix=hunter` },
        "option keyPrefix; pass keyPrefix to createRedisStores beside url",
      ],
      [{ url, keyPrefix: "" }, "keyPrefix"],
      [{ url, keyPrefix: 7 }, "keyPrefix"],
      [{ url, keyPrefix: "\ud800" }, "keyPrefix"],
      [{ client: { get() {}, multi() {} } }, "client"],
    ],
    wrongUrls: [
      "localhost:6379",
      "http://localhost",
      "redis:",
      "redis://",
      "redis:///0",
      "redis://:hunter%zz@localhost",
      "redis://:hunter%ff@localhost",
      "redis://user:hunter/2@localhost",
      "redis://user:hunter#2@localhost",
      "redis://user:hunter?2@localhost",
      "redis://localhost/zero",
      "redis://localhost/0/1",
      "redis://localhost:99999",
      "redis://localhost?family=6",
      "REDIS//localhost",
    ],
    urlMustRead: /url must read redis:\/\//,
    hidden: ["99999", "family"],
  },
});

describe("options", () => {
  test.each([
    ["redis://cache", { host: "cache", port: 6379, db: 0, username: null, password: null }],
    ["redis://cache:1234/7", { host: "cache", port: 1234, db: 7 }],
    ["redis://:s%2Fe%40c%3Aret@cache", { username: null, password: "s/e@c:ret" }],
    ["redis://app%20user:pw@cache", { username: "app user", password: "pw" }],
    ["redis://[::1]:7000", { host: "::1", port: 7000 }],
    ["rediss://cache", { host: "cache", tls: {} }],
    ["REDISS://cache", { host: "cache", tls: {} }],
  ])("the url %s is understood, without I/O", async (text, expected) => {
    const { client } = IoredisConnection.to(new URL(text), Redis);
    expect(client.status).toBe("wait");
    expect(client.options).toMatchObject(expected);
    await using stores = createRedisStores({ url: text });
    expect(stores.settings).toEqual({ backend: "redis" });
  });
});

describe("the target of a driver", () => {
  const targetOf = (client: IoredisClient) => new RedisDriver(ownOf(client)).target;
  const lazyConnect = true;

  test("is the server and the database, and no secret", () => {
    const driver = new RedisDriver(IoredisConnection.to(new URL("redis://app:hunter2@cache:1234/7"), Redis));
    expect(driver.target).toEqual({ namespace: "7", server: { address: "cache", port: 1234 } });
  });

  test("is only the database for Sentinel and a socket, and undefined for a cluster", () => {
    const sentinels = [{ host: "sentinel", port: 26_379 }];
    expect(targetOf(new Redis({ sentinels, name: "main", db: 2, lazyConnect }))).toEqual({ namespace: "2" });
    expect(targetOf(new Redis({ path: "/run/redis.sock", lazyConnect }))).toEqual({ namespace: "0" });
    expect(targetOf(new Cluster(sentinels, { lazyConnect }))).toBeUndefined();
  });
});
