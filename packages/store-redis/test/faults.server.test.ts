import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createStores } from "@scrollback/store-core/driver";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Connection } from "../src/connection.ts";
import { createRedisStores } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { majors, opened } from "./clients.ts";
import { user } from "./messages.ts";
import { throughProxy } from "./proxied.ts";
import { rejection } from "./rejection.ts";

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because it is killed; it acknowledges a write after writing it to disk.
  server = await startServer("redis", {
    password: "hunter2",
    args: ["--appendonly", "yes", "--appendfsync", "always"],
  });
});
afterAll(() => server.stop());

describe.each(majors)("a client of $major that resends by itself", ({ Redis }) => {
  test("applies a commit whose reply was lost once", async () => {
    const { proxy, url } = await throughProxy(server);
    const client = opened(new Redis(url));
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.addMessages([user("0")]);
    for (let round = 1; round <= 5; round++) {
      proxy.set({ kind: "cut-reply", afterBytes: round - 1, times: 1 });
      await store.addMessages([user(String(round))]);
      expect(proxy.mode.kind, "the cut interrupted a request").toBe("pass");
    }
    expect(await store.listMessages()).toEqual(["0", "1", "2", "3", "4", "5"].map(user));
  });

  test("applies commits once across a crash of the server, which empties its script cache", async () => {
    const client: Redis = opened(new Redis(server.url));
    const store = createRedisStores({ client, keyPrefix: randomUUID(), maxMessages: 1_000 }).open();
    const acknowledged: string[] = [];
    const failed = new Set<string>();
    let isDone = false;
    const writing = (async () => {
      for (let number = 0; !isDone; number++) {
        await store.addMessages([user(`${number} a`), user(`${number} b`)]).then(
          () => acknowledged.push(`${number} a`, `${number} b`),
          () => failed.add(`${number}`),
        );
      }
    })();
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    await server.kill();
    await server.start();
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before + 20);
    isDone = true;
    await writing;
    const texts = (await store.listMessages()).map((message) => String(message.content));
    expect(texts.filter((text) => !failed.has(text.split(" ")[0] ?? ""))).toEqual(acknowledged);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe.each(majors)("an error of $major", ({ Redis }) => {
  test("contains no sent content", async () => {
    const client = opened(new Redis(server.url));
    const keyPrefix = randomUUID();
    const store = createStores(new RedisDriver(Connection.like(client), keyPrefix)).open("a");
    await client.set(`${keyPrefix}:{a}:messages`, "theirs");
    for (const call of [
      () => store.addMessages([user("private")]),
      () => store.commit({ metadata: "private" }),
      () => store.read(),
      () => store.listMessages(),
    ]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "CORRUPT", cause: { name: "ReplyError" } });
      expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/private|hunter2/);
    }
  });
});

test("a read whose two parts have different revisions is repeated as one", async () => {
  const [{ Redis }] = majors as [(typeof majors)[0]];
  const keyPrefix = randomUUID();
  const [client, other] = [opened(new Redis(server.url)), opened(new Redis(server.url))];
  const writer = createRedisStores({ client: other, keyPrefix }).open("a");
  await writer.commit({ append: [user("1")], metadata: 1 });
  let interruptions = 0;
  const used = Connection.like(client).client;
  const pipeline = used.pipeline.bind(used);
  used.pipeline = () => {
    const both = pipeline();
    both.exec = async () => {
      // Another client commits between the two commands, as if a packet ended between them.
      const list = await client.lrange(`${keyPrefix}:{a}:messages`, 0, -1);
      interruptions += 1;
      await writer.commit({ append: [user("2")], metadata: 2 });
      const meta = await client.hmget(`${keyPrefix}:{a}:meta`, "revision", "metadata");
      return [
        [null, list],
        [null, meta],
      ];
    };
    return both;
  };
  const page = await createRedisStores({ client, keyPrefix }).open("a").read();
  expect(interruptions).toBe(1);
  expect(page).toMatchObject({ entries: [{ message: user("1") }, { message: user("2") }], metadata: 2 });
});
