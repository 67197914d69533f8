import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { verbsOf } from "../checks/verbs.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

/** Promptly: much shorter than any client's timeout, and much longer than a timer's delay on a busy machine. */
const PROMPTLY_MS = 1_000;
/** The longest time that other work may wait for the event loop; a busy wait for a lock or a reply is longer. */
const LONGEST_STALL_MS = 250;

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

async function write(stores: StoreFactory, threadId: string, batches: number): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    await stores.open(threadId).addMessages(numbered(4));
    await sleep(Math.random() * 3);
  }
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
        for (const [name, call] of Object.entries(verbsOf(backend, backend.stores(), store.threadId))) {
          const error = await rejection(call({ signal: AbortSignal.abort(reason) }), "ABORTED");
          expect(error.cause, name).toBe(reason);
          expect(error.retryable, name).toBe(false);
        }
      });
      expect(await store.read()).toStrictEqual(before);
    });

    test("commits aborted at any moment leave whole batches, including all that were acknowledged", async (backend) => {
      const store = backend.store();
      const batches = Array.from({ length: 40 }, (_, batch) => numbered(5, `${batch}`));
      const acknowledged = await Promise.all(
        batches.map(async (batch) => {
          const controller = new AbortController();
          const add = store.addMessages(batch, { signal: controller.signal });
          const timer = setTimeout(() => controller.abort(), Math.random() * 8);
          const isAdded = await add.then(
            () => true,
            async () => !(await rejection(add, "ABORTED")),
          );
          clearTimeout(timer);
          return isAdded;
        }),
      );
      // A cancelled write may still be on its way.
      await store.addMessages([user("last")]);
      const texts = await textsIn(store);
      let made = 0;
      for (const [number, batch] of batches.entries()) {
        const at = texts.indexOf(`${number} 1`);
        if (at < 0 && !acknowledged[number]) continue;
        made += 1;
        expect(texts.slice(at, at + 5)).toEqual(batch.map(({ content }) => content));
      }
      expect(texts, "whole batches and the last message").toHaveLength(5 * made + 1);
    });

    test("a signal that is not aborted has no effect, and keeps no listener", async (backend) => {
      const store = backend.store();
      const { signal } = new AbortController();
      for (const call of Object.values(verbsOf(backend, backend.stores(), store.threadId)))
        await call({ signal });
      await rejection(store.addMessages([user("a")], { signal, expectedRevision: "other.1" }), "CONFLICT");
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    test("an abort while the backend hangs rejects promptly", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const calls = verbsOf(backend, stores);
      await stores.listThreads();
      proxy.set({ kind: "hang" });
      const controller = new AbortController();
      const { signal } = controller;
      const hanging = Object.values(calls).map((call) => rejection(call({ signal }), "ABORTED"));
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
        // An insert is not repeated, so without a connection it fails at once.
        const { insert: _, ...verbs } = verbsOf(backend, createStores(connect()));
        const start = performance.now();
        const signal = AbortSignal.timeout(100);
        await Promise.all(Object.values(verbs).map((call) => rejection(call({ signal }), "ABORTED")));
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
      const stores = createStores(connect());
      const calls = Object.values(verbsOf(backend, stores));
      await stores.listThreads();
      proxy.set({ kind: "hang" });
      await expectFreeEventLoop(async () => {
        const signal = AbortSignal.timeout(600);
        await Promise.all(calls.map((call) => rejection(call({ signal }), "ABORTED")));
      });
    });

    test("the event loop is not blocked while clients compete for a thread", async (backend) => {
      const { threadId } = backend.store();
      const clients = [backend.stores(), backend.otherStores(), backend.otherStores()];
      await expectFreeEventLoop(() => Promise.all(clients.map((stores) => write(stores, threadId, 15))));
    });

    test("the event loop is not blocked while other processes write", async (backend) => {
      const runInProcess = backend.requireProcesses();
      const { threadId } = backend.store();
      const texts = Array.from({ length: 100_000 }, () => "other");
      const workers = ["a", "b"].map(() => runInProcess("append", { threadId, texts }));
      // A busy machine needs time to start processes, which this test does not measure.
      const store = backend.stores().open(threadId);
      await vi.waitFor(async () => expect(await store.popMessage()).toBeDefined(), {
        timeout: 45_000,
        interval: 10,
      });
      await expectFreeEventLoop(() => write(backend.stores(), threadId, 60));
      await Promise.all(workers.map(({ kill }) => kill()));
    });
  },
};
