import type { SessionSnapshot } from "@genkit-ai/ai/session";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackSessionStore } from "../src/index.ts";
import { framework } from "./framework.ts";
import { snapshotOf } from "./snapshots.ts";

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
      [store, other] = factories.map(
        (one) => new ScrollbackSessionStore({ stores: one, pollIntervalMs: 20 }),
      ) as [ScrollbackSessionStore, ScrollbackSessionStore];
    });
    afterAll(async () => {
      for (const stores of factories) await stores.close();
    });

    test("a snapshot is read as it was saved, by its id and as its session's newest leaf", async () => {
      const sessionId = crypto.randomUUID();
      const custom = { at: new Date(5), bytes: new Uint8Array([0, 255]), none: null };
      const messages = [{ role: "user" as const, content: [{ text: "\ud83d\ude42" }] }];
      const saved = snapshotOf(crypto.randomUUID(), { sessionId, state: { custom, messages } });
      expect(await other.getSnapshot({ sessionId })).toBeUndefined();
      expect(await store.saveSnapshot(saved.snapshotId, () => saved)).toBe(saved.snapshotId);
      expect(await other.getSnapshot({ snapshotId: saved.snapshotId })).toEqual(saved);
      expect(await other.getSnapshot({ sessionId })).toEqual(saved);
      const { snapshotId, ...unnamed } = snapshotOf("", { sessionId, parentId: saved.snapshotId });
      const id = await store.saveSnapshot(undefined, (current) => {
        expect(current).toBeUndefined();
        return unnamed;
      });
      expect(id).not.toBe(snapshotId);
      expect(await other.getSnapshot({ sessionId })).toEqual({ ...unnamed, snapshotId: id });
      expect(await other.saveSnapshot(saved.snapshotId, () => null)).toBeNull();
      expect(await store.getSnapshot({ snapshotId: saved.snapshotId })).toEqual(saved);
    });

    test("a session deleted by another process is missing, and can be created again", async () => {
      const sessionId = crypto.randomUUID();
      const first = snapshotOf(crypto.randomUUID(), { sessionId });
      const second = snapshotOf(crypto.randomUUID(), { sessionId, parentId: first.snapshotId });
      for (const one of [first, second]) await store.saveSnapshot(one.snapshotId, () => one);
      await other.deleteSession(sessionId);
      for (const { snapshotId } of [first, second])
        expect(await store.getSnapshot({ snapshotId })).toBeUndefined();
      expect(await store.getSnapshot({ sessionId })).toBeUndefined();
      await store.saveSnapshot(first.snapshotId, () => first);
      expect(await other.getSnapshot({ sessionId })).toEqual(first);
    });

    test("concurrent saves of two processes all take effect: a mutator receives the previous write", async () => {
      const snapshotId = crypto.randomUUID();
      const count = (current: SessionSnapshot | undefined) => {
        const { n = 0 } = (current?.state?.custom ?? {}) as { n?: number };
        return { ...(current ?? snapshotOf(snapshotId)), state: { custom: { n: n + 1 } } };
      };
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 ? store : other).saveSnapshot(snapshotId, count)),
      );
      expect((await store.getSnapshot({ snapshotId }))?.state).toEqual({ custom: { n: 10 } });
    });

    test("a turn that another process has aborted stays aborted", async () => {
      const pending = snapshotOf(crypto.randomUUID(), { status: "pending" });
      await store.saveSnapshot(pending.snapshotId, () => pending);
      const reported: (string | undefined)[] = [];
      const end = store.onSnapshotStateChange(pending.snapshotId, ({ status }) => reported.push(status));
      await expect.poll(() => reported).toEqual(["pending"]);
      await other.saveSnapshot(pending.snapshotId, (current) =>
        current ? { ...current, status: "aborted" } : null,
      );
      await expect.poll(() => reported).toEqual(["pending", "aborted"]);
      const finished = await store.saveSnapshot(pending.snapshotId, (current) =>
        current?.status === "aborted" ? null : { ...pending, status: "completed" },
      );
      expect(finished).toBeNull();
      end();
      await other.saveSnapshot(pending.snapshotId, (current) =>
        current ? { ...current, status: "failed" } : null,
      );
      await new Promise((resolve) => setTimeout(resolve, 80));
      expect(reported).toEqual(["pending", "aborted"]);
    });
  });
}
