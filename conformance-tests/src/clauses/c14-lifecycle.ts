import { setImmediate as otherEvents, setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { rejection, thrown } from "../checks/errors.ts";
import { DEADLINE_MS } from "../checks/times.ts";
import { storeVerbs, verbsOf } from "../checks/verbs.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn } from "../messages/messages.ts";

/** More than the connections of any known pool, so that calls wait for one: the largest is that of MongoDB's client, with 100. */
const MANY_THREADS = 150;

export const lifecycle: Clause = {
  title: "Lifecycle",
  declare(test) {
    test("no request is sent before the first call", async (backend) => {
      await backend.withoutRequests(() => {
        backend.stores().open();
        backend.stores({ maxMessages: 5 }).open("a");
      });
      const { faults } = backend.harness;
      if (!faults) return;
      const { proxy, connect } = backend.requireNetwork();
      const before = proxy.counters.connections;
      const store = createStores(connect()).open();
      await sleep(100);
      // The timer may be late, and then comes before the connections that were made meanwhile.
      for (let turn = 0; turn < 10; turn++) await otherEvents();
      expect(proxy.counters.connections, "connections made").toBe(before);
      await store.listMessages();
      expect(proxy.counters.connections).toBeGreaterThan(before);
    });

    test("every call after close rejects with CLOSED, and a second close does nothing", async (backend) => {
      const stores = await backend.ownStores();
      const store = stores.open();
      await store.addMessages(numbered(2));
      const calls = { ...verbsOf(backend, stores, store.threadId), setup: () => stores.setup() };
      await stores.close();
      for (const call of [
        ...Object.values(calls),
        () => store.serialize(),
        () => store.updateFromState(null),
      ])
        await rejection(call(), "CLOSED");
      thrown(() => stores.open(), "CLOSED");
      thrown(() => stores.restore({}), "CLOSED");
      await Promise.all([stores.close(), stores.close()]);
      await stores[Symbol.asyncDispose]();
      let unused: StoreFactory;
      {
        await using disposed = await backend.ownStores();
        unused = disposed;
      }
      thrown(() => unused.open(), "CLOSED");
    });

    test("calls in progress when the factory closes succeed or reject with CLOSED", async (backend) => {
      const stores = await backend.ownStores();
      const store = stores.open();
      await store.addMessages(numbered(1));
      // A call that is still waiting then fails with ABORTED.
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const calls = [
        ...Array.from({ length: 10 }, () => store.addMessages(numbered(3), { signal })),
        store.listMessages({ signal }),
        // A driver orders the commits of one thread. These belong to more threads than a pool has connections.
        ...Array.from({ length: MANY_THREADS }, () => stores.open().addMessages(numbered(1), { signal })),
      ].map((call) => call.catch((error) => rejection(Promise.reject(error), "CLOSED")));
      const settled = Promise.all(calls);
      await stores.close();
      await settled;
    });

    test("disposing a store closes only that store", async (backend) => {
      const stores = backend.stores();
      const store = stores.open();
      const same = stores.open(store.threadId);
      await store.addMessages(numbered(2));
      {
        await using disposed = stores.open(store.threadId);
        expect(await disposed.listMessages()).toHaveLength(2);
      }
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      for (const call of Object.values(storeVerbs)) await rejection(call(store, {}), "CLOSED");
      expect(await same.listMessages()).toHaveLength(2);
      expect(await textsIn(stores.open(store.threadId))).toHaveLength(2);
    });

    test("closing a client does not affect others", async (backend) => {
      backend.requireOtherClient();
      const store = backend.store();
      const other = await backend.ownStores();
      await other.open(store.threadId).addMessages(numbered(2));
      await other.close();
      expect(await store.listMessages()).toHaveLength(2);
      await store.addMessages(numbered(1));
    });

    test("concurrent first calls are safe", async (backend) => {
      const { threadId } = backend.store();
      const stores = await backend.ownStores();
      const store = stores.open(threadId);
      await Promise.all([
        store.listMessages(),
        ...Array.from({ length: 6 }, (_, index) => store.addMessages(numbered(2, `${index}`))),
        stores.setup(),
        store.read(),
      ]);
      expect(await store.listMessages()).toHaveLength(12);
    });

    test("setup can run twice, also concurrently from two clients, and keeps existing data", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(3));
      const [mine, others] = [backend.stores(), backend.otherStores()];
      await mine.setup();
      await mine.setup();
      await Promise.all([mine.setup(), others.setup(), backend.otherStores().setup()]);
      expect(await store.listMessages()).toHaveLength(3);
      await store.addMessages(numbered(1));
    });

    test("setup sends a request each time, and fails in an outage", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      for (let round = 0; round < 2; round++) {
        const { requestBytes } = proxy.counters;
        await stores.setup();
        expect(proxy.counters.requestBytes, "bytes of requests").toBeGreaterThan(requestBytes);
      }
      proxy.set({ kind: "down" });
      const outages = [stores, createStores(connect())].map((one) => rejection(one.setup(), "UNAVAILABLE"));
      for (const error of await Promise.all(outages)) expect(error.retryable).toBe(true);
      proxy.set({ kind: "pass" });
      await stores.setup();
    });

    test("capabilities and settings are frozen plain data", async (backend) => {
      const { capabilities } = backend.driver;
      expect(Object.isFrozen(capabilities)).toBe(true);
      expect(Object.isFrozen(capabilities.roundTrips)).toBe(true);
      expect(JSON.parse(JSON.stringify(capabilities))).toStrictEqual(capabilities);
      expect(capabilities.backend).toMatch(/^[a-z][a-z0-9-]*$/);
      const stores = backend.stores({ maxMessages: 5 });
      expect(Object.isFrozen(stores.settings)).toBe(true);
      expect(stores.settings).toStrictEqual({ backend: capabilities.backend, maxMessages: 5 });
    });

    test("a connection lost while idle does not crash the process and is replaced", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(2));
      for (let round = 0; round < 3; round++) {
        proxy.cutConnections();
        await sleep(round * 20);
        expect(await store.listMessages()).toHaveLength(2);
      }
      // A long outage without calls: an error that no code catches would fail the run.
      proxy.set({ kind: "down" });
      await sleep(500);
      proxy.set({ kind: "pass" });
      await store.addMessages(numbered(1));
      expect(await store.listMessages()).toHaveLength(3);
    });

    test("close does not wait for hanging requests", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      for (const mode of ["hang", "down"] as const) {
        const stores = createStores(connect());
        const store = stores.open();
        await store.addMessages(numbered(1));
        proxy.set({ kind: mode });
        const call = rejection(store.addMessages(numbered(1)), "CLOSED");
        await sleep(50);
        const start = performance.now();
        await stores.close();
        await call;
        expect(performance.now() - start, "milliseconds to close").toBeLessThan(2_000);
        proxy.set({ kind: "pass" });
      }
    });

    test("a client closed while it connects stays closed", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      proxy.set({ kind: "hang" });
      const stores = createStores(connect());
      const call = rejection(stores.open().listMessages(), "CLOSED");
      await sleep(50);
      await stores.close();
      await call;
      proxy.set({ kind: "pass" });
      const { connections } = proxy.counters;
      await sleep(200);
      // One that is not used does no harm: Node's fetch opens one after an aborted request.
      expect(proxy.counters.usedConnections, "connections used").toBeLessThanOrEqual(connections);
    });
  },
};
