import type { MessageStore, Revision, ThreadPage } from "@scrollback/store-core";
import { createStores, type Driver, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { rejection } from "../checks/errors.ts";
import { listAll } from "../checks/listings.ts";
import { user } from "../messages/messages.ts";
import { differenceOf } from "../messages/same-value.ts";
import { type GoldenThread, goldenThreads, nextMessage, operationOf, timeOf } from "./threads.ts";
import type { GoldenFact, GoldenFacts } from "./write-golden.ts";

/** The options of {@link runGolden}. */
export interface GoldenOptions {
  /** The format and its version, e.g. `"Redis, format 1"`. */
  readonly name: string;
  /** What {@link writeGolden} returned. */
  readonly facts: GoldenFacts;
  /**
   * Restores the golden file to the place from which it was copied, with a raw client, and returns a driver on it. Called for
   * each test; it must first remove the previous content.
   */
  load(): Promise<{ readonly driver: Driver; close(): Promise<void> }>;
}

/**
 * Declares the tests of a golden file: the current version reads what an older version has written, and continues to write it.
 *
 * @example
 * runGolden({ name: "Redis, format 1", facts, load });
 */
export function runGolden({ name, facts, load }: GoldenOptions): void {
  /** Checks each thread, each time on the unchanged file. */
  const forEach = (title: string, check: (scene: Scene) => Promise<void>): void => {
    test(title, async () => {
      const { driver, close } = await load();
      try {
        for (const golden of goldenThreads) {
          const fact = facts[golden.threadId];
          if (!fact) throw new Error(`the golden file lacks the thread ${JSON.stringify(golden.threadId)}`);
          const store = createStores(driver, golden.settings).open(golden.threadId);
          await check({ golden, fact, driver, store });
        }
      } finally {
        await close();
      }
    });
  };

  describe(`data written by ${name}`, { timeout: 60_000 }, () => {
    forEach("is read as it was written", async ({ golden, fact, store }) => {
      const { revision, metadata } = await store.read();
      expect(revision, golden.threadId).toBe(revisionOf(golden, fact));
      expectSame(golden, metadata, golden.metadata);
      expectSame(golden, await entriesOf(store), golden.entries);
      const messages = golden.entries.map(([, message]) => message);
      expectSame(golden, await store.listMessages(), messages);
      expectSame(golden, await store.listMessages({ limit: 2 }), messages.slice(-2));
    });

    forEach("has the times it was written with", async ({ golden, store }) => {
      const { createdAt, updatedAt, entries } = await store.read();
      if (golden.isExpired) return expect(createdAt, golden.threadId).toBeUndefined();
      const times = golden.changes.map((_, index) => timeOf(index));
      expect({ createdAt, updatedAt }, golden.threadId).toEqual({
        createdAt: times[0],
        updatedAt: times.at(-1),
      });
      for (const entry of entries) expect(times, golden.threadId).toContain(entry.createdAt);
    });

    forEach("is listed", async ({ golden, store, driver }) => {
      const { count } = await store.read({ limit: 0 });
      const listed = (await listAll(createStores(driver))).find(
        ({ threadId }) => threadId === golden.threadId,
      );
      expect(listed?.count, golden.threadId).toBe(golden.isExpired ? undefined : count);
    });

    forEach("is deleted", async ({ golden, fact, driver, store }) => {
      const expectedRevision = revisionOf(golden, fact);
      await createStores(driver).deleteThread(golden.threadId, { expectedRevision });
      expect((await store.read()).revision, golden.threadId).toBeNull();
    });

    forEach("is paged by cursors returned earlier", async ({ golden, fact, store }) => {
      const { older, newer } = fact;
      if (older !== undefined) {
        const { entries } = await store.read({ before: older });
        expectSame(golden, entries.map(toPair), golden.entries.slice(0, -2));
      }
      expect(older !== undefined, golden.threadId).toBe(golden.entries.length > 2);
      if (newer === undefined) return;
      expect((await store.read({ after: newer })).entries, golden.threadId).toEqual([]);
      await store.addMessages([nextMessage]);
      const { entries } = await store.read({ after: newer });
      expectSame(golden, entries.map(toPair), [[golden.next.at(-1), nextMessage]]);
    });

    forEach("is restored from states returned earlier", async ({ golden, fact, driver }) => {
      const restored = createStores(driver).restore(structuredClone(fact.state));
      expect(restored.threadId).toBe(golden.threadId);
      expect(await restored.serialize(), golden.threadId).toEqual(fact.state);
      expectSame(golden, await entriesOf(restored), golden.entries);
    });

    forEach("still knows its operations", async ({ golden, fact, store }) => {
      if (golden.isExpired) return;
      const first = Math.max(0, golden.changes.length - REMEMBERED_OPERATIONS);
      for (const [index, change] of golden.changes.entries()) {
        if (index < first) continue;
        const operationId = operationOf(golden.threadId, index);
        expect(await store.commit(change, { operationId }), operationId).toBe(fact.revisions[index]);
        await rejection(store.commit({ append: [user("another")] }, { operationId }), "CONFLICT");
      }
      expectSame(golden, await entriesOf(store), golden.entries);
    });

    forEach("continues with the next commit", async ({ golden, fact, store }) => {
      const expectedRevision = revisionOf(golden, fact);
      const revision = await store.addMessages([nextMessage], { expectedRevision });
      expect(fact.revisions).not.toContain(revision);
      const page = await store.read();
      expect(page.revision, golden.threadId).toBe(revision);
      expectSame(golden, page.metadata, golden.metadata);
      const kept = golden.entries.filter(([sequence]) => golden.next.includes(sequence));
      expectSame(golden, page.entries.map(toPair), [...kept, [golden.next.at(-1), nextMessage]]);
      expect(
        page.entries.map(({ sequence }) => sequence),
        golden.threadId,
      ).toEqual(golden.next);
      await rejection(store.addMessages([nextMessage], { expectedRevision }), "CONFLICT");
    });

    forEach("is cleared", async ({ golden, fact, store }) => {
      await store.clear({ expectedRevision: revisionOf(golden, fact) });
      const { entries, metadata } = await store.read();
      expect({ entries, metadata }, golden.threadId).toEqual({ entries: [], metadata: undefined });
    });
  });
}

interface Scene {
  readonly golden: GoldenThread;
  readonly fact: GoldenFact;
  readonly driver: Driver;
  readonly store: MessageStore;
}

const toPair = ({ sequence, message }: ThreadPage["entries"][number]) => [sequence, message];

async function entriesOf(store: MessageStore): Promise<unknown[]> {
  return (await store.read()).entries.map(toPair);
}

function revisionOf({ isExpired }: GoldenThread, { revisions }: GoldenFact): Revision | null {
  return isExpired ? null : (revisions.at(-1) ?? null);
}

function expectSame({ threadId }: GoldenThread, actual: unknown, expected: unknown): void {
  expect(differenceOf(actual, expected), threadId).toBeUndefined();
}
