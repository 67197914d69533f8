import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackSessionStore } from "../src/index.ts";
import type { SessionKey, SessionStoreEntry } from "../src/session-store.ts";
import { framework } from "./framework.ts";

/** An entry of a transcript, with a uuid if one is given. */
export const entry = (text: string, uuid?: string): SessionStoreEntry => ({
  type: "user",
  ...(uuid !== undefined && { uuid }),
  message: { role: "user", content: [{ type: "text", text }] },
});

const newKey = (): SessionKey => ({ projectKey: crypto.randomUUID(), sessionId: crypto.randomUUID() });

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareStoreTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`session stores on ${backend}`, countedTests(framework, backend), () => {
    let factories: StoreFactory[] = [];
    let store: ScrollbackSessionStore;
    let other: ScrollbackSessionStore;
    beforeAll(async () => {
      const stores = await open();
      await stores.setup();
      factories = [stores, await open()];
      [store, other] = factories.map((one) => new ScrollbackSessionStore({ stores: one })) as [
        ScrollbackSessionStore,
        ScrollbackSessionStore,
      ];
    });
    afterAll(async () => {
      await store?.flush();
      await other?.flush();
      for (const stores of factories) await stores.close();
    });
    test("entries are loaded as they were appended, in order; a missing transcript is null", async () => {
      const key = newKey();
      expect(await store.load(key)).toBeNull();
      await store.append(key, []);
      expect(await store.load(key)).toBeNull();
      const odd = { type: "x", nested: { a: [1, null, { $set: "\u0000" }], "": true, __proto: 0.1 } };
      await store.append(key, [entry("1", "a"), odd]);
      await store.append(key, [entry("2", "b")]);
      expect(await other.load(key)).toEqual([entry("1", "a"), odd, entry("2", "b")]);
    });

    test("appends that are not awaited keep their order", async () => {
      const key = newKey();
      const texts = Array.from({ length: 12 }, (_, index) => `${index}`);
      await Promise.all(texts.map((text) => store.append(key, [entry(text, text)])));
      expect(await other.load(key)).toEqual(texts.map((text) => entry(text, text)));
    });

    test("an entry with a uuid is stored once, appended by any process; entries without one each time", async () => {
      const key = newKey();
      const batches = Array.from({ length: 4 }, (_, batch) =>
        Array.from({ length: 5 }, (_, index) => entry(`${batch}`, `${batch * 3 + index}`)),
      );
      await Promise.all(batches.flatMap((batch) => [store.append(key, batch), other.append(key, batch)]));
      const loaded = (await other.load(key)) ?? [];
      expect(loaded.map(({ uuid }) => uuid).sort()).toEqual(
        Array.from({ length: 14 }, (_, n) => `${n}`).sort(),
      );
      await store.append(key, [entry("twice", "twice"), entry("twice", "twice")]);
      expect(await other.load(key)).toHaveLength(15);
      const untitled = { type: "title", title: "Rome" };
      for (const one of [store, other]) await one.append(key, [untitled, entry("again", "1"), untitled]);
      expect((await store.load(key))?.slice(15)).toEqual(Array(4).fill(untitled));
    });

    test("projects, sessions and subpaths are separate, and lists have only main transcripts", async () => {
      const { projectKey } = newKey();
      const keys: SessionKey[] = [
        { projectKey, sessionId: "a" },
        { projectKey, sessionId: "a", subpath: "b" },
        { projectKey, sessionId: "a:b" },
        { projectKey: `${projectKey}:a`, sessionId: "b" },
        { projectKey, sessionId: "a", subpath: "subagents/agent-1" },
        { projectKey, sessionId: "c", subpath: "alone" },
      ];
      const before = Date.now();
      for (const [index, key] of keys.entries()) await store.append(key, [entry(`${index}`, "same")]);
      for (const [index, key] of keys.entries())
        expect(await other.load(key)).toEqual([entry(`${index}`, "same")]);
      const listed = await other.listSessions(projectKey);
      expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(["a", "a:b"]);
      for (const { mtime } of listed) {
        expect(Number.isInteger(mtime)).toBe(true);
        expect(mtime).toBeGreaterThanOrEqual(before);
        expect(mtime).toBeLessThanOrEqual(Date.now());
      }
      expect(await other.listSubkeys({ projectKey, sessionId: "a" })).toEqual(["b", "subagents/agent-1"]);
      expect(await other.listSubkeys({ projectKey, sessionId: "a:b" })).toEqual([]);
      expect(await other.listSessions(crypto.randomUUID())).toEqual([]);
    });

    test("a deletion removes a session with its subagents, or one subagent, and leaves nothing", async () => {
      const key = newKey();
      const { projectKey, sessionId } = key;
      const subpaths = ["one", "two"].map((subpath) => ({ ...key, subpath }));
      const neighbour = { projectKey, sessionId: "neighbour" };
      for (const one of [key, ...subpaths, neighbour]) await store.append(one, [entry("1", "a")]);
      await other.delete({ ...key, subpath: "one" });
      expect(await store.load({ ...key, subpath: "one" })).toBeNull();
      expect(await store.listSubkeys(key)).toEqual(["two"]);
      expect(await store.load(key)).toHaveLength(1);
      await other.delete(key);
      await other.delete(key);
      for (const one of [key, ...subpaths]) expect(await store.load(one)).toBeNull();
      expect(await store.listSubkeys(key)).toEqual([]);
      const prefix = `claude:subpaths:${projectKey}`;
      expect((await factories[0]?.listIndexes({ prefix }))?.names).toEqual([]);
      expect((await store.listSessions(projectKey)).map((one) => one.sessionId)).toEqual(["neighbour"]);
      // The first store's cache still refers to the deleted session.
      await store.append(key, [entry("1", "a")]);
      expect(await other.load(key)).toEqual([entry("1", "a")]);
      expect((await other.listSessions(projectKey)).map((one) => one.sessionId).sort()).toEqual(
        [sessionId, "neighbour"].sort(),
      );
    });
  });
}
