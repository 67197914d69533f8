import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { runFactory } from "@scrollback/conformance";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { NO_THREAD, type ReadRequest } from "@scrollback/store-core/driver";
import type { RedisOptions } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { majors, nodeRedisMajors, opened } from "./clients.ts";
import { user, users } from "./messages.ts";
import { ownOf } from "./own-connection.ts";
import { throughProxy } from "./proxied.ts";

const everything: ReadRequest = {
  threadId: "a",
  limit: Number.POSITIVE_INFINITY,
  before: undefined,
  after: undefined,
  metadata: false,
  signal: undefined,
};

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because scripts are flushed and a database is named by its number.
  server = await startServer("redis");
});
afterAll(() => server.stop());

describe.each(majors)("a caller's client of $major", ({ Redis }) => {
  const keyPrefix = randomUUID();
  const handIn = (options: RedisOptions) => async () => {
    // The types of the constructor do not take a mapping of replies that only a variable names.
    const client: InstanceType<typeof Redis> = Reflect.construct(Redis, [server.url, options]);
    return {
      options: { client, keyPrefix, ttlMs: 1e8 },
      use: () => client.ping(),
      close: () => client.disconnect(),
    };
  };
  runFactory({
    name: "Redis",
    create: createRedisStores,
    secret: "hush",
    handIn: handIn({}),
    otherSettings: {
      "numbers as strings": handIn({ stringNumbers: true }),
      "pipelines of its own": handIn({ enableAutoPipelining: true }),
      "no offline queue": handIn({ enableOfflineQueue: false }),
      "no ready check": handIn({ enableReadyCheck: false }),
      "no repeated commands": handIn({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: null }),
      "stacks of commands": handIn({ showFriendlyErrorStack: true }),
      "a late connection": handIn({ lazyConnect: true }),
      "a name and a database": handIn({ connectionName: "app", db: 0 }),
      "a timeout of its socket": handIn({ socketTimeout: 20_000 }),
      RESP2: handIn({ protocol: 2 }),
      "replies of RESP3": handIn({ protocol: 3, replyMapping: "resp3" }),
      "all at once": handIn({
        ...{ stringNumbers: true, enableAutoPipelining: true, protocol: 3, replyMapping: "resp3" },
        ...{ showFriendlyErrorStack: true, enableReadyCheck: false },
      }),
    },
  });

  test("makes calls wait while it connects", async () => {
    const { proxy, url } = await throughProxy(server);
    const connection = ownOf(opened(new Redis(url, { lazyConnect: true })));
    const { client } = connection;
    // A driver does not retry; the stores do.
    const driver = new RedisDriver(connection, randomUUID());
    const reads = () => Promise.all(Array.from({ length: 20 }, () => driver.read(everything)));
    expect(await reads()).toEqual(Array(20).fill(NO_THREAD));
    client.disconnect(true);
    await once(client, "close");
    expect(await reads()).toEqual(Array(20).fill(NO_THREAD));

    proxy.set({ kind: "down" });
    await expect.poll(() => client.status).not.toBe("ready");
    const start = performance.now();
    await expect(driver.read(everything)).rejects.toThrow(
      /^(Stream isn't writeable|Reached the max retries)/,
    );
    expect(performance.now() - start).toBeLessThan(2_000);
    const given = new AbortController();
    const aborted = driver.read({ ...everything, signal: given.signal });
    given.abort(new Error("given up"));
    proxy.set({ kind: "pass" });
    await expect(aborted).rejects.toThrow("given up");
    expect(client.listenerCount("ready")).toBeLessThanOrEqual(2);
  });

  test.each(["quit", "disconnect"] as const)("that has ended by %s is refused at once", async (end) => {
    for (const enableOfflineQueue of [true, false]) {
      const client = opened(new Redis(server.url, { enableOfflineQueue }));
      await using stores = createRedisStores({ client, keyPrefix: randomUUID() });
      await stores.open("a").addMessages(users(1));
      await vi.waitFor(() => expect(client.status).toBe("ready"));
      const ended = once(client, "end");
      await client[end]();
      await ended;
      const began = performance.now();
      const calls = [
        () => stores.open("a").addMessages(users(1)),
        () => stores.open("a").read(),
        () => stores.listThreads(),
        () => stores.deleteThread("a"),
        () => stores.index("i").list(),
        () => stores.setup(),
      ];
      for (const call of calls)
        await expect(call()).rejects.toMatchObject({
          code: "UNAVAILABLE",
          retryable: false,
          message: expect.stringContaining("client: the given client is closed"),
        });
      // Retries would take 5 s for each.
      expect(performance.now() - began).toBeLessThan(5_000);
      await client.connect();
      expect(await stores.open("a").listMessages()).toEqual(users(1));
    }
  });

  test("keeps its own keyPrefix, which keeps threads apart", async () => {
    const keyPrefix = randomUUID();
    const raw = opened(new Redis(server.url));
    const [a, b] = ["app a{:", "app b:"].map((prefix) =>
      createRedisStores({ client: opened(new Redis(server.url, { keyPrefix: prefix })), keyPrefix }).open(
        "thread",
      ),
    );
    await a?.commit({ append: users(3), metadata: "a" });
    await b?.addMessages([user("b")]);
    const { entries, metadata, newer = "" } = (await a?.read()) ?? { entries: [] };
    expect(entries).toHaveLength(3);
    expect(metadata).toBe("a");
    expect((await a?.read({ before: newer, limit: 1 }))?.entries).toHaveLength(1);
    expect(await b?.listMessages()).toEqual([user("b")]);
    expect((await raw.keys(`*${keyPrefix}*`)).sort()).toEqual(
      ["app a{:", "app b:"].flatMap((prefix) =>
        ["messages", "meta"].map((part) => `${prefix}${keyPrefix}:{thread}:${part}`),
      ),
    );
  });

  test("accesses only the database that it names", async () => {
    const keyPrefix = randomUUID();
    const zero = createRedisStores({ client: opened(new Redis(server.url)), keyPrefix });
    for (const options of [
      {},
      { enableOfflineQueue: false, lazyConnect: true },
      { enableReadyCheck: false },
    ]) {
      const client = opened(new Redis(server.url, { ...options, db: 99 }));
      const store = createRedisStores({ client, keyPrefix }).open("a");
      const refused = { code: "UNAVAILABLE", retryable: false, message: expect.stringContaining("database") };
      await expect(store.addMessages(users(1))).rejects.toMatchObject(refused);
      await expect(store.listMessages()).rejects.toMatchObject(refused);
      client.disconnect(true);
      await once(client, "close");
      await expect(store.addMessages(users(1))).rejects.toMatchObject(refused);
    }
    const seven = createRedisStores({ client: opened(new Redis(server.url, { db: 7 })), keyPrefix });
    await seven.open("a").addMessages(users(2));
    expect(await zero.open("a").listMessages()).toEqual([]);
    expect(await seven.open("a").listMessages()).toEqual(users(2));
  });

  test("is not used if the server rejects its name", async () => {
    const client = opened(new Redis(server.url, { connectionName: "two words" }));
    await expect(createRedisStores({ client }).open().listMessages()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("connectionName"),
    });
  });
});

test.each([
  ...majors.map(({ major, Redis }) => {
    const make = async (url: string) => {
      const client = opened(new Redis(url));
      // The only reply that the proxy drops is then one to the stores.
      await client.ping();
      return { client, end: () => client.disconnect() };
    };
    return [major, make] as const;
  }),
  ...nodeRedisMajors.map(({ major, createClient }) => {
    const make = async (url: string) => {
      const client = createClient({ url });
      return { client, end: () => void client.emit("end") };
    };
    return [major, make] as const;
  }),
])("a write under way when a client of %s is closed fails as one of unknown outcome", async (_, make) => {
  const { proxy, url } = await throughProxy(server);
  const { client, end } = await make(url);
  const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
  await store.addMessages(users(1));
  proxy.set({ kind: "drop-reply", times: 1 });
  const failure = expect(store.addMessages(users(1))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("outcome of a write under way is unknown"),
  });
  await expect.poll(() => proxy.mode.kind).toBe("pass");
  end();
  await failure;
});

describe.each(nodeRedisMajors)("a caller's client of $major", ({ createClient }) => {
  const keyPrefix = randomUUID();
  const handIn = (options: Parameters<typeof createClient>[0]) => async () => {
    const client = createClient({ url: server.url, ...options });
    client.on("error", () => undefined);
    await client.connect();
    return {
      options: { client, keyPrefix, ttlMs: 1e8 },
      use: () => client.ping(),
      close: () => client.destroy(),
    };
  };
  runFactory({
    name: "Redis",
    create: createRedisStores,
    secret: "hush",
    handIn: handIn({}),
    otherSettings: {
      RESP2: handIn({ RESP: 2 }),
      RESP3: handIn({ RESP: 3 }),
      "replies as buffers": handIn({ commandOptions: { typeMapping: { 36: Buffer, 43: Buffer } } }),
      "a name and a database": handIn({ name: "app", database: 0 }),
      "no offline queue": handIn({ disableOfflineQueue: true }),
      "a short queue": handIn({ commandsQueueMaxLength: 1_000 }),
      pings: handIn({ pingInterval: 50 }),
    },
  });

  test("calls end with the client, and work again when it is connected again", async () => {
    const client = createClient({ url: server.url });
    client.on("error", () => undefined);
    // Not connected: the stores connect on their own.
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.addMessages(users(1));
    await client.connect();
    client.destroy();
    await expect(store.listMessages()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("client: the given client is closed"),
    });
    await client.connect();
    expect(await store.listMessages()).toEqual(users(1));
    client.destroy();
  });

  test("C15 a commit that is given up while the server hangs is never sent", async () => {
    const { proxy, url } = await throughProxy(server);
    const prefix = randomUUID();
    const client = createClient({ url });
    const slow = createRedisStores({ client, keyPrefix: prefix });
    onTestFinished(() => void client.emit("end"));
    await using other = createRedisStores({ url: server.url, keyPrefix: prefix });
    await other.open("a").addMessages(users(1));
    for (const outage of ["down", "hang"] as const) {
      proxy.set({ kind: outage });
      const signal = AbortSignal.timeout(300);
      await expect(slow.deleteThread("a", { signal })).rejects.toMatchObject({ code: "ABORTED" });
      proxy.set({ kind: "down" });
      proxy.set({ kind: "pass" });
      expect(await slow.open("a").listMessages()).toEqual(users(1));
    }
    expect(await other.open("a").listMessages()).toEqual(users(1));
  });
});
