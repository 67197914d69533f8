import { existsSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { MessageStore } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { afterEach, describe, expect, test, vi } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { createSqliteStores } from "../src/index.ts";
import { connect } from "./harness.ts";
import { user, users } from "./messages.ts";
import { commitRequest, userText, useScratch } from "./scratch.ts";

const scratch = useScratch();

afterEach(() => {
  vi.useRealTimers();
});

describe("the lifecycle of a factory", () => {
  test("closing takes the log into the file and leaves one file", async () => {
    const stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages(users(10));
    await stores.close();
    expect(readdirSync(scratch.directory)).toEqual([basename(scratch.path)]);
  });

  test.each([
    ["commits", (store: MessageStore) => store.addMessages([user("a")])],
    ["reads", (store: MessageStore) => store.listMessages()],
  ])("C15 an abort by a timer ends a loop of %s", async (_, call) => {
    await using stores = createSqliteStores({ url: scratch.url, maxMessages: 10 });
    const signal = AbortSignal.timeout(50);
    let calls = 0;
    while (!signal.aborted && calls < 50_000) {
      await call(stores.open("a"));
      calls++;
    }
    expect(signal.aborted).toBe(true);
  });

  test("a driver that was closed never opens its file again", async () => {
    const driver = connect(scratch.path);
    await driver.close();
    await expect(driver.commit(commitRequest({ append: [userText("{}")] }))).rejects.toMatchObject({
      code: "CLOSED",
    });
    expect(existsSync(scratch.path)).toBe(false);
  });
});

describe("expiry", () => {
  test("expired threads are swept by commits to other threads, a bounded number of messages at a time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const brief = createStores(connect(scratch.path), { ttlMs: 1_000 });
    await using lasting = createSqliteStores({ url: scratch.url });
    await brief.open("large").addMessages(users(350));
    for (let index = 0; index < 3; index++) await brief.open(`small-${index}`).addMessages(users(2));
    vi.advanceTimersByTime(1_000);
    const left = () =>
      scratch.query(
        "SELECT count(*) AS messages FROM scrollback_messages WHERE thread IN (SELECT key FROM scrollback_threads WHERE id <> 'lasting')",
      )[0]?.messages;
    const counts: unknown[] = [];
    for (let commit = 0; commit < 8; commit++) {
      await lasting.open("lasting").addMessages([user("tick")]);
      counts.push(left());
    }
    // 101 per commit: 100, and one for the appended message.
    expect(counts).toEqual([255, 154, 53, 6, 4, 2, 0, 0]);
    expect(scratch.query("SELECT id FROM scrollback_threads")).toEqual([{ id: "lasting" }]);
    expect(scratch.query("SELECT DISTINCT thread FROM scrollback_commits")).toHaveLength(1);
    await brief.close();
  });

  test("a clock that goes back does not restore a partly swept thread", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const start = Date.now();
    await using brief = createSqliteStores({ url: scratch.url, ttlMs: 1_000 });
    await using lasting = createSqliteStores({ url: scratch.url });
    await brief.open("large").addMessages(users(350));
    vi.setSystemTime(start + 1_000);
    await lasting.open("lasting").addMessages([user("tick")]);
    vi.setSystemTime(start);
    expect(await brief.open("large").listMessages()).toEqual([]);
  });

  const count = rounds(20_000, 100_000);
  describe(`a thread of ${count} messages that expired`, () => {
    const left = () => Number(scratch.query("SELECT count(*) AS count FROM scrollback_messages")[0]?.count);
    const makeExpired = async () => {
      vi.useFakeTimers({ toFake: ["Date"] });
      await using stores = createSqliteStores({ url: scratch.url, ttlMs: 1_000 });
      await stores.open("a").commit({ append: users(count), metadata: "title" });
      vi.setSystemTime(Date.now() + 1_001);
    };
    test("starts empty, and its old messages are removed in small steps", async () => {
      await makeExpired();
      await using stores = createSqliteStores({ url: scratch.url });
      const store = stores.open("a");
      await store.addMessages([user("anew")]);
      expect(left()).toBeGreaterThan(count - 200);
      expect(await store.read()).toMatchObject({ entries: [{ sequence: 1, message: user("anew") }] });
      for (let commit = 0; commit <= count / 100; commit++) await store.commit({ metadata: commit });
      expect(left()).toBe(1);
      expect(scratch.query("SELECT id FROM scrollback_threads")).toEqual([{ id: "a" }]);
      expect(await store.listMessages()).toEqual([user("anew")]);
    });

    test("is cleared without blocking the event loop, and leaves no rows", async () => {
      await makeExpired();
      await using stores = createSqliteStores({ url: scratch.url });
      const clearing = stores.open("a").clear();
      const seen = new Set<number>();
      let isDone = false;
      const watching = (async () => {
        for (; !isDone; await setImmediate()) seen.add(left());
      })();
      await clearing;
      isDone = true;
      await watching;
      expect(seen.size).toBeGreaterThan(count / 1_000 / 4);
      expect(left()).toBe(0);
      expect(scratch.query("SELECT * FROM scrollback_metadata")).toEqual([]);
    });
  });
});
