// Exceeds 300 lines because it holds all tests of one clause, in the order in which the matrices list them.
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageStore } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { rejection } from "../checks/errors.ts";
import { AFTER_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

const DAY = 86_400_000;
/** The latest time that a record can have. */
const LATEST = 9_999_999_999_999;
/** The maximum difference between the clocks of this process and of a server on the same machine. */
const CLOCK_DIFFERENCE_MS = 5_000;

/** Runs a write and asserts that `read` returns a time within its duration. */
async function during(write: () => Promise<unknown>, read: () => Promise<number | undefined>) {
  const earliest = Date.now();
  await write();
  const latest = Date.now();
  const time = (await read()) ?? Number.NaN;
  expect(time).toBeGreaterThanOrEqual(earliest);
  expect(time).toBeLessThanOrEqual(latest);
}

const entryTimes = async (store: MessageStore) =>
  (await store.read()).entries.map((entry) => entry.createdAt);

/** The times of the thread itself. */
async function threadTimes(store: MessageStore) {
  const { createdAt, updatedAt } = await store.read({ limit: 0 });
  return { createdAt, updatedAt };
}

/** The stores of a process whose clock is wrong. */
const storesWithClock = (backend: Backend, offsetMs: number) =>
  createStores(backend.otherDriver(), {}, { clock: { ...systemClock, wall: () => Date.now() + offsetMs } });

export const time: Clause = {
  title: "Time",
  declare(test) {
    test("each message has the time of its commit, the thread those of its first and newest commit", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      await during(
        () => store.addMessages(numbered(3)),
        async () => (await others.read()).createdAt,
      );
      const first = await others.read();
      expect(first.updatedAt).toBe(first.createdAt);
      expect(await entryTimes(others)).toEqual(Array(3).fill(first.createdAt));
      await sleep(20);
      await during(
        () => store.addMessages(numbered(1, "later")),
        async () => (await others.read()).updatedAt,
      );
      const second = await others.read();
      expect(second.createdAt, "createdAt of the thread").toBe(first.createdAt);
      expect(second.entries.map((entry) => entry.createdAt)).toEqual([
        ...first.entries.map((entry) => entry.createdAt),
        second.updatedAt,
      ]);
      expect(second.updatedAt).toBeGreaterThan(first.createdAt ?? 0);
    });

    test("times are those of the write, also when read later", async (backend) => {
      const store = backend.store();
      await store.commit({ append: numbered(2), metadata: "title" });
      const before = await store.read();
      await sleep(50);
      expect(await store.read()).toStrictEqual(before);
      expect(await backend.otherStores().open(store.threadId).read()).toStrictEqual(before);
    });

    test("createdAt of a write sets the time of its messages and of the thread", async (backend) => {
      for (const createdAt of [0, 1, 1_000_000_000_000, Date.now() + 400 * DAY, LATEST]) {
        const store = backend.store();
        await store.addMessages(numbered(2), { createdAt });
        const others = backend.otherStores().open(store.threadId);
        expect(await threadTimes(others)).toEqual({ createdAt, updatedAt: createdAt });
        expect(await entryTimes(others)).toEqual([createdAt, createdAt]);
      }
    });

    test("every kind of write takes createdAt", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(5), { createdAt: 1_000 });
      const writes: ((createdAt: number) => Promise<unknown>)[] = [
        (createdAt) => store.addMessages([user("a")], { createdAt }),
        (createdAt) => store.commit({ drop: 1, append: [user("b")] }, { createdAt }),
        (createdAt) => store.commit({ metadata: "title" }, { createdAt }),
        (createdAt) => store.commit({ drop: 1 }, { createdAt }),
        (createdAt) => store.replaceMessages(numbered(2), { createdAt }),
        (createdAt) => store.clear({ createdAt }),
        (createdAt) => store.addMessages([user("c")], { createdAt }),
      ];
      for (const [index, write] of writes.entries()) {
        await write(2_000 + index);
        expect(await threadTimes(store), `write ${index}`).toEqual({
          createdAt: 1_000,
          updatedAt: 2_000 + index,
        });
      }
      expect(await entryTimes(store)).toEqual([2_006]);
    });

    test("the order does not depend on times", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      const times = [5_000, 4_000, 9_000, 9_000, 0, LATEST, 1, 4_500];
      for (const [index, createdAt] of times.entries()) {
        await (index % 2 ? others : store).addMessages([user(`${index}`)], { createdAt });
      }
      const expected = times.map((_, index) => `${index}`);
      for (const reader of [store, others]) {
        expect(await textsIn(reader)).toEqual(expected);
        expect(await textsIn(reader, 3)).toEqual(expected.slice(-3));
        expect(await entryTimes(reader)).toEqual(times);
      }
      const newest = await store.read({ limit: 3 });
      const older = await store.read({ limit: 3, before: newest.older ?? "" });
      expect(older.entries.map((entry) => entry.createdAt)).toEqual(times.slice(2, 5));
      const after = await store.read({ limit: 2, after: older.newer ?? "" });
      expect(after.entries.map((entry) => entry.createdAt)).toEqual(times.slice(5, 7));
      expect(await threadTimes(store)).toEqual({ createdAt: 5_000, updatedAt: 4_500 });
      expect((await store.popMessage())?.content).toBe("7");
    });

    test("a writer with a wrong clock writes its own times and does not change the order", async (backend) => {
      const store = backend.store();
      const threadId = store.threadId;
      const offsets = [-3_650 * DAY, 365 * DAY, -1 * DAY, 0];
      for (const offset of offsets) {
        const writer = storesWithClock(backend, offset).open(threadId);
        await during(
          () => writer.addMessages([user(`${offset}`)]),
          async () => ((await store.read()).updatedAt ?? 0) - offset,
        );
      }
      expect(await textsIn(store)).toEqual(offsets.map(String));
      const seen = await store.read();
      // A reader with a wrong clock reads the same times.
      for (const offset of offsets)
        expect(await storesWithClock(backend, offset).open(threadId).read()).toStrictEqual(seen);
    });

    test("another process with a wrong clock writes its own times", async (backend) => {
      const start = backend.requireProcesses();
      const store = backend.store();
      const { threadId } = store;
      await store.addMessages([user("before")]);
      const clockOffsetMs = -7 * DAY;
      await start("append", { threadId, texts: ["a", "b", "c"] }, { clockOffsetMs }).result;
      await store.addMessages([user("after")]);
      const { entries } = await store.read();
      expect(entries.map(({ message }) => message.content)).toEqual(["before", "a", "b", "c", "after"]);
      const [before = 0, ...times] = entries.map((entry) => entry.createdAt);
      for (const time of times.slice(0, -1))
        expect(Math.abs(time - clockOffsetMs - before)).toBeLessThan(DAY / 2);
      expect(times.at(-1)).toBeGreaterThanOrEqual(before);
    });

    test("times are kept after drops, pops, trimming and later writes", async (backend) => {
      const store = backend.store({ maxMessages: 4, trimming: "exact" });
      for (let number = 1; number <= 4; number++)
        await store.addMessages([user(`${number}`)], { createdAt: number * 1_000 });
      await store.addMessages([user("5"), user("6")], { createdAt: 500 });
      expect(await entryTimes(store)).toEqual([3_000, 4_000, 500, 500]);
      expect(await threadTimes(store)).toEqual({ createdAt: 1_000, updatedAt: 500 });
      await store.popMessage();
      await store.commit({ drop: 1 }, { createdAt: 700 });
      expect(await entryTimes(store)).toEqual([3_000, 4_000]);
      await store.commit({ drop: 1, append: [user("edited")] }, { createdAt: 800 });
      expect(await entryTimes(store)).toEqual([3_000, 800]);
      expect(await threadTimes(store)).toEqual({ createdAt: 1_000, updatedAt: 800 });
      // After the step in which a backend removes trimmed messages.
      for (let round = 0; round < 80; round++)
        await store.addMessages([user(`round ${round}`)], { createdAt: 10_000 + round });
      expect(await entryTimes(store)).toEqual([10_076, 10_077, 10_078, 10_079]);
      expect((await store.read()).createdAt, "createdAt of the thread").toBe(1_000);
    });

    test("the thread's createdAt is kept by clear, and is new after a deletion", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(2), { createdAt: 1_000 });
      await store.clear({ createdAt: 2_000 });
      const others = backend.otherStores();
      expect(await threadTimes(others.open(store.threadId))).toEqual({ createdAt: 1_000, updatedAt: 2_000 });
      await store.addMessages(numbered(1), { createdAt: 3_000 });
      expect(await threadTimes(store)).toEqual({ createdAt: 1_000, updatedAt: 3_000 });
      await others.deleteThread(store.threadId);
      expect("createdAt" in (await store.read())).toBe(false);
      await store.addMessages(numbered(1), { createdAt: 4_000 });
      expect(await threadTimes(store)).toEqual({ createdAt: 4_000, updatedAt: 4_000 });
    });

    test(
      "a thread that is written again after its expiry has new times",
      async (backend) => {
        backend.requireExpiry();
        const store = backend.store({ ttlMs: 300 });
        await store.addMessages(numbered(2), { createdAt: 1_000 });
        await sleep(300 + AFTER_MS);
        const lasting = backend.stores().open(store.threadId);
        const gone = await lasting.read();
        for (const name of ["createdAt", "updatedAt", "expiresAt"]) expect(name in gone, name).toBe(false);
        await lasting.addMessages(numbered(1), { createdAt: 2_000 });
        expect(await threadTimes(lasting)).toEqual({ createdAt: 2_000, updatedAt: 2_000 });
        expect(await entryTimes(lasting)).toEqual([2_000]);
      },
      { concurrent: true },
    );

    test("calls that write nothing do not change the times", async (backend) => {
      const store = backend.store();
      await store.addMessages([user("a")], { operationId: "op", createdAt: 1_000 });
      const before = await store.read();
      await store.addMessages([], { createdAt: 2_000 });
      await store.commit({ drop: 0 }, { createdAt: 2_000 });
      await rejection(store.addMessages([user("b")], { expectedRevision: null }), "CONFLICT");
      await rejection(store.addMessages([user("b")], { operationId: "op" }), "CONFLICT");
      expect(await store.read()).toStrictEqual(before);
    });

    test("a repeated write is recognized at another time, and keeps the first one", async (backend) => {
      const store = backend.store();
      const first = await store.addMessages(numbered(2), { operationId: "op", createdAt: 1_000 });
      const others = backend.otherStores().open(store.threadId);
      expect(await others.addMessages(numbered(2), { operationId: "op", createdAt: 2_000 })).toBe(first);
      expect(await store.addMessages(numbered(2), { operationId: "op" })).toBe(first);
      expect(await entryTimes(store)).toEqual([1_000, 1_000]);
      expect(await threadTimes(store)).toEqual({ createdAt: 1_000, updatedAt: 1_000 });
    });

    test("only a thread with a ttl has expiresAt", async (backend) => {
      backend.requireExpiry();
      const ttlMs = 3_600_000;
      const store = backend.store({ ttlMs });
      const lasting = backend.stores().open(store.threadId);
      const expectExpiry = async (write: () => Promise<unknown>) => {
        const earliest = Date.now() + ttlMs - CLOCK_DIFFERENCE_MS;
        await write();
        const latest = Date.now() + ttlMs + CLOCK_DIFFERENCE_MS;
        for (const reader of [store, lasting, backend.otherStores().open(store.threadId)]) {
          const { expiresAt = Number.NaN } = await reader.read({ limit: 1 });
          expect(expiresAt).toBeGreaterThanOrEqual(earliest);
          expect(expiresAt).toBeLessThanOrEqual(latest);
        }
      };
      await expectExpiry(() => store.addMessages(numbered(2)));
      await expectExpiry(() => store.addMessages(numbered(2), { createdAt: 1_000 }));
      await lasting.addMessages(numbered(1));
      expect("expiresAt" in (await store.read()), "expiresAt of a lasting thread").toBe(false);
      await expectExpiry(() => store.commit({ metadata: "title" }));
      const plain = backend.store();
      await plain.addMessages(numbered(1));
      expect("expiresAt" in (await plain.read())).toBe(false);
    });

    test("a page has the number of messages in the whole thread", async (backend) => {
      const store = backend.store();
      expect(await store.read()).toStrictEqual({ entries: [], revision: null, count: 0 });
      await store.addMessages(numbered(9));
      const newest = await store.read({ limit: 2 });
      for (const page of [
        newest,
        await store.read({ limit: 0 }),
        await store.read({ limit: 3, before: newest.older ?? "" }),
        await store.read({ after: newest.newer ?? "" }),
      ])
        expect(page.count).toBe(9);
      await store.commit({ drop: 4 });
      expect((await store.read({ limit: 1 })).count).toBe(5);
      await store.clear();
      expect((await store.read()).count).toBe(0);
    });

    test("a state with messages contains their times", async (backend) => {
      backend.requireStateWithMessages();
      const store = backend.store();
      await store.addMessages(numbered(2), { createdAt: 1_000 });
      await store.addMessages(numbered(1), { createdAt: 500 });
      const state: unknown = JSON.parse(JSON.stringify(await store.serialize()));
      const restored = createStores((await backend.freshHarness()).driver).restore(state);
      expect(await entryTimes(restored)).toEqual([1_000, 1_000, 500]);
      expect(await threadTimes(restored)).toEqual({ createdAt: 1_000, updatedAt: 500 });
    });
  },
};
