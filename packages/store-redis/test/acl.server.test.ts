import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { opened, serverNames } from "./clients.ts";
import { documentedRules } from "./documented-rules.ts";
import { user, users } from "./messages.ts";

const commands = documentedRules("server").map((rule) => rule.slice(1));

const whole = { entries: [{ message: user("a") }], metadata: "title" };

/** Every kind of call that needs a separate command. */
async function useEverything(url: string, keyPrefix: string): Promise<void> {
  await using stores = createRedisStores({ url, keyPrefix, maxMessages: 3, ttlMs: 60_000 });
  await using lasting = createRedisStores({ url, keyPrefix });
  const store = stores.open("a");
  await store.commit({ append: [{ role: "system", content: "Be brief." }, ...users(2)], metadata: "title" });
  await store.addMessages(users(2));
  expect(await store.listMessages()).toHaveLength(3);
  const { entries, metadata, newer = "" } = await store.read();
  expect(entries).toHaveLength(3);
  expect(metadata).toBe("title");
  expect((await store.read({ before: newer, limit: 1 })).entries).toHaveLength(1);
  expect(await store.popMessage()).toEqual(user("2"));
  for (let round = 0; round < 120; round++) await lasting.open("a").addMessages([user("more")]);
  await store.clear();
  expect(await store.listMessages()).toEqual([]);
  await lasting.open("b").addMessages([user("b")]);
  const listed: string[] = [];
  for await (const { threadId } of stores.iterateThreads()) listed.push(threadId);
  expect(listed.sort()).toEqual(["a", "b"]);
  await stores.deleteThread("a");
  await stores.deleteThread("b");
  await lasting.open("b").addMessages([user("again")]);
  await stores.deleteThread("b");
  expect(await stores.listThreads()).toMatchObject({ threads: [] });
  const index = stores.index("list");
  const place = { key: "a", id: "1" };
  await index.insert(place, { version: 0, order: 1, value: "a", expiresAt: Date.now() + 60_000 });
  await index.update(place, { version: 1, order: 2, value: "b" });
  expect(await index.entriesOf("a")).toHaveLength(1);
  for (const direction of ["up", "down"] as const)
    expect(await index.list({ direction })).toMatchObject({ entries: [{ value: "b" }] });
  expect(await stores.listIndexes()).toEqual({ names: ["list"] });
  await index.remove(place);
  expect(await stores.listIndexes()).toEqual({ names: [] });
}

describe.each(serverNames)("on %s", (name) => {
  let server: RunningServer;
  beforeAll(async () => {
    // A server of its own, because users are defined and scripts flushed.
    server = await startServer(name);
  });
  afterAll(() => server.stop());

  async function urlOfUser(...rules: string[]): Promise<string> {
    const admin = opened(new Redis(server.url));
    await admin.call("ACL", "SETUSER", "agent", "reset", "on", ">secret", "~chats:*", ...rules);
    await admin.call("ACL", "LOG", "RESET");
    // A user without EVAL could otherwise use scripts that other users have loaded.
    await admin.script("FLUSH");
    return `redis://agent:secret@${server.host}:${server.port}`;
  }

  test("a commit that may no longer search for old operations keeps them, and succeeds", async () => {
    const url = await urlOfUser(...commands.map((command) => `+${command}`));
    await using stores = createRedisStores({ url, keyPrefix: "chats" });
    const store = stores.open("old");
    for (const message of users(95)) await store.addMessages([message]);
    const admin = opened(new Redis(server.url));
    const { meta } = threadKeys("chats", "old");
    await admin.hset(meta, "marks", "95 1");
    await admin.call("ACL", "SETUSER", "agent", "-hscan");
    await store.addMessages([user("the 96th")]);
    expect(await admin.hlen(meta)).toBe(96 + 3);
    expect(await store.listMessages({ limit: 1 })).toEqual([user("the 96th")]);
    await stores.deleteThread("old");
  });

  test("the documented permissions are sufficient for every operation", async () => {
    expect(commands.length).toBeGreaterThan(10);
    await useEverything(await urlOfUser(...commands.map((command) => `+${command}`)), "chats");
    const admin = opened(new Redis(server.url));
    expect(await admin.call("ACL", "LOG")).toEqual([]);
  });

  test("scripts use only keys that they declare, as Dragonfly requires", async () => {
    const keyPrefix = `chats:${randomUUID()}`;
    const client = opened(new Redis(server.url));
    // ioredis takes a command that the server tells before ioredis knows that it monitors for a reply too many.
    await client.ping();
    const monitor = await client.monitor();
    onTestFinished(() => monitor.disconnect());
    let declared = new Set<string>();
    let inScripts = 0;
    const undeclared: string[][] = [];
    monitor.on("monitor", (_time: string, words: string[], source: string) => {
      const keys = words.filter((word) => word.startsWith(keyPrefix));
      if (source !== "lua") declared = new Set(keys);
      else if (keys.some((key) => !declared.has(key))) undeclared.push(words);
      else inScripts += keys.length;
    });
    await useEverything(server.url, keyPrefix);
    await expect.poll(() => inScripts).toBeGreaterThan(500);
    expect(undeclared).toEqual([]);
  });

  test.each(commands)("without %s it fails, and the error names the option to change", async (missing) => {
    const rest = commands.filter((command) => command !== missing);
    const url = await urlOfUser(...rest.map((command) => `+${command}`));
    await expect(useEverything(url, `chats:${randomUUID()}`)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("permissions"),
    });
  });

  test.each(commands)("without %s a deletion is made completely or not at all", async (missing) => {
    const keyPrefix = `chats:${randomUUID()}`;
    await using full = createRedisStores({ url: server.url, keyPrefix });
    for (const round of ["first", "second"]) {
      await full.open("a").commit({ append: users(2), metadata: round });
      const before = await full.open("a").read();
      const rest = commands.filter((command) => command !== missing);
      await using limited = createRedisStores({
        url: await urlOfUser(...rest.map((command) => `+${command}`)),
        keyPrefix,
      });
      const isDone = await limited.deleteThread("a").then(
        () => true,
        () => false,
      );
      const nothing = { entries: [], revision: null, count: 0 };
      if (round === "first") expect(await full.open("a").read()).toEqual(isDone ? nothing : before);
      expect(isDone ? [nothing] : [nothing, before]).toContainEqual(await full.open("a").read());
      await full.deleteThread("a");
    }
  });

  test.each(commands)(
    "without %s the first commit of a thread is applied completely or not at all",
    async (missing) => {
      const rest = commands.filter((command) => command !== missing);
      const keyPrefix = `chats:${randomUUID()}`;
      const commit = async (url: string) => {
        await using stores = createRedisStores({ url, keyPrefix });
        await stores.open("a").commit({ append: [user("a")], metadata: "title" }, { operationId: "once" });
      };
      const isDone = await commit(await urlOfUser(...rest.map((command) => `+${command}`))).then(
        () => true,
        () => false,
      );
      await using stores = createRedisStores({ url: server.url, keyPrefix });
      expect(await stores.open("a").read()).toMatchObject(isDone ? whole : { entries: [], revision: null });
      await commit(server.url);
      expect(await stores.open("a").read()).toMatchObject(whole);
    },
  );

  test("setup reports missing permissions, and sends only commands that stores send", async () => {
    const setup = async (...rules: string[]) => {
      await using stores = createRedisStores({ url: await urlOfUser(...rules), keyPrefix: "chats" });
      await stores.setup();
    };
    const rules = commands.map((command) => `+${command}`);
    await setup(...rules);
    const denied = {
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("permissions"),
    };
    for (const readOnly of ["+@read", "+@read +eval +evalsha"])
      await expect(setup(...readOnly.split(" "))).rejects.toMatchObject(denied);
    await expect(setup(...rules, "resetkeys", "~other:*")).rejects.toMatchObject(denied);
  });
});
