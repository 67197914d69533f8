import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageStore } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { batchesOf } from "../checks/history.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import { batchText, jobs } from "../processes/jobs.ts";

/** Promptly: much shorter than any client's timeout, and much longer than a timer's delay on a busy machine. */
const PROMPTLY_MS = 1_000;
/** The longest time that other work may wait for the event loop; a busy wait for a lock or a reply is longer. */
const LONGEST_STALL_MS = 250;

const calls: Record<string, (store: MessageStore, signal: AbortSignal) => Promise<unknown>> = {
  addMessages: (store, signal) => store.addMessages([user("a")], { signal }),
  "addMessages of nothing": (store, signal) => store.addMessages([], { signal }),
  listMessages: (store, signal) => store.listMessages({ signal }),
  read: (store, signal) => store.read({ signal }),
  popMessage: (store, signal) => store.popMessage({ signal }),
  replaceMessages: (store, signal) => store.replaceMessages([user("a")], { signal }),
  commit: (store, signal) => store.commit({ metadata: 1 }, { signal }),
  clear: (store, signal) => store.clear({ signal }),
};

/** The longest time that the event loop was blocked while `operation` ran. */
async function longestStall(operation: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 5);
  try {
    await operation();
  } finally {
    clearInterval(timer);
    tick();
  }
  return longest;
}

/** Asserts that an operation does not block the event loop, in one of three attempts: the machine itself may stall. */
async function expectFreeEventLoop(operation: () => Promise<unknown>): Promise<void> {
  const stalls: number[] = [];
  while (stalls.length < 3 && !stalls.some((stall) => stall < LONGEST_STALL_MS)) {
    stalls.push(await longestStall(operation));
  }
  expect(Math.min(...stalls), "milliseconds").toBeLessThan(LONGEST_STALL_MS);
}

export const cancellation: Clause = {
  title: "Cancellation",
  declare(test) {
    test("a call with an aborted signal rejects with ABORTED and its reason, before any I/O", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(3));
      const before = await store.read();
      const reason = new Error("changed my mind");
      await backend.withoutRequests(async () => {
        for (const [name, call] of Object.entries(calls)) {
          const error = await rejection(call(store, AbortSignal.abort(reason)), "ABORTED");
          expect(error.cause, name).toBe(reason);
          expect(error.retryable, name).toBe(false);
        }
      });
      expect(await store.read()).toStrictEqual(before);
    });

    test("commits aborted at any moment leave whole batches, including all that were acknowledged", async (backend) => {
      const store = backend.store();
      const acknowledged: string[] = [];
      await Promise.all(
        Array.from({ length: 40 }, async (_, batch) => {
          const controller = new AbortController();
          const messages = Array.from({ length: 5 }, (_, index) => user(batchText("w", batch, index)));
          const add = store.addMessages(messages, { signal: controller.signal });
          const timer = setTimeout(() => controller.abort(), Math.random() * 8);
          await add.then(
            () => acknowledged.push(`w/${batch}`),
            () => rejection(add, "ABORTED"),
          );
          clearTimeout(timer);
        }),
      );
      // A cancelled write may still be on its way.
      await store.addMessages(Array.from({ length: 5 }, (_, index) => user(batchText("last", 0, index))));
      const seen = new Set(batchesOf(await textsIn(store), 5));
      expect(
        acknowledged.filter((batch) => !seen.has(batch)),
        "acknowledged but missing",
      ).toEqual([]);
    });

    test("a signal that is not aborted has no effect, and keeps no listener", async (backend) => {
      const store = backend.store();
      const { signal } = new AbortController();
      for (const call of Object.values(calls)) await call(store, signal);
      await rejection(store.addMessages([user("a")], { signal, expectedRevision: null }), "CONFLICT");
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    test("an abort while the backend hangs rejects promptly", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(3));
      proxy.set({ kind: "hang" });
      const controller = new AbortController();
      const hanging = Object.values(calls).map((call) =>
        rejection(call(store, controller.signal), "ABORTED"),
      );
      await vi.waitFor(() => expect(proxy.counters.strikes).toBeGreaterThan(0), { timeout: 20_000 });
      const start = performance.now();
      controller.abort();
      await Promise.all(hanging);
      expect(performance.now() - start, "milliseconds to reject").toBeLessThan(PROMPTLY_MS);
    });

    test("an abort while connecting rejects promptly", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      for (const mode of ["hang", "down"] as const) {
        proxy.set({ kind: mode });
        const store = createStores(connect()).open();
        const start = performance.now();
        const signal = AbortSignal.timeout(100);
        await Promise.all(Object.values(calls).map((call) => rejection(call(store, signal), "ABORTED")));
        expect(performance.now() - start, "milliseconds to reject").toBeLessThan(100 + PROMPTLY_MS);
      }
    });

    test("a commit aborted while the backend hangs takes effect at most once, and once when sent again", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1));
      for (const kind of ["hang", "drop-reply", "delay-reply"] as const) {
        proxy.set(kind === "delay-reply" ? { kind, ms: 5_000 } : { kind });
        const operationId = `given up in ${kind}`;
        const messages = numbered(3, kind);
        const add = store.addMessages(messages, { operationId, signal: AbortSignal.timeout(150) });
        await rejection(add, "ABORTED");
        proxy.set({ kind: "pass" });
        const others = backend.stores().open(store.threadId);
        const count = (await others.listMessages()).length % 3;
        expect(count, `messages after ${kind}, one and whole batches`).toBe(1);
        await others.addMessages(messages, { operationId });
        // A request that hung may arrive only now.
        await sleep(50);
        expect(await textsIn(others, 3)).toEqual([`${kind} 1`, `${kind} 2`, `${kind} 3`]);
      }
      expect(await backend.stores().open(store.threadId).listMessages()).toHaveLength(10);
    });

    test("the event loop is not blocked while the backend hangs", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1));
      proxy.set({ kind: "hang" });
      await expectFreeEventLoop(async () => {
        const signal = AbortSignal.timeout(600);
        await Promise.all(Object.values(calls).map((call) => rejection(call(store, signal), "ABORTED")));
      });
    });

    test("the event loop is not blocked while clients compete for a thread", async (backend) => {
      const { threadId } = backend.store();
      const clients = [backend.stores(), backend.otherStores(), backend.otherStores()];
      await expectFreeEventLoop(() =>
        Promise.all(
          clients.map((stores, writer) =>
            jobs.append(stores, { threadId, writer: `${writer}`, batches: 15, batchSize: 4 }, () => {}),
          ),
        ),
      );
    });

    test("the event loop is not blocked while other processes write", async (backend) => {
      const runInProcess = backend.requireProcesses();
      const { threadId } = backend.store();
      const workers = ["a", "b"].map((writer) =>
        runInProcess("append", { threadId, writer, batches: 1_000_000, batchSize: 3 }),
      );
      // A busy machine needs time to start processes, which this test does not measure.
      await vi.waitFor(() => expect(workers.every(({ progress }) => progress.length > 0)).toBe(true), {
        timeout: 45_000,
        interval: 10,
      });
      await expectFreeEventLoop(() =>
        jobs.append(backend.stores(), { threadId, writer: "c", batches: 60, batchSize: 3 }, () => {}),
      );
    });
  },
};
