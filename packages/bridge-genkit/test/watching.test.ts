import type { SessionSnapshot } from "@genkit-ai/ai/session";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { ScrollbackSessionStore } from "../src/index.ts";
import { snapshotOf } from "./snapshots.ts";

const save = (store: ScrollbackSessionStore, snapshot: SessionSnapshot) =>
  store.saveSnapshot(snapshot.snapshotId, () => snapshot);

test("a change by this store calls the callback once, at once, with a copy", async () => {
  const store = new ScrollbackSessionStore({ stores: createMemoryStores(), pollIntervalMs: 5 });
  const reported: SessionSnapshot[] = [];
  const endOther = store.onSnapshotStateChange("one", (snapshot) => {
    snapshot.status = "failed";
  });
  const end = store.onSnapshotStateChange("one", (snapshot) => reported.push(snapshot));
  const saved = snapshotOf("one", { state: { custom: { n: 1 } } });
  await save(store, saved);
  expect(reported).toEqual([saved]);
  Object.assign(reported[0]?.state ?? {}, { custom: null });
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(reported).toHaveLength(1);
  expect(await store.getSnapshot({ snapshotId: "one" })).toEqual(saved);
  end();
  endOther();
  await save(store, snapshotOf("one"));
  expect(reported).toHaveLength(1);
});

test("an older snapshot that was being read is not reported after a newer one", async () => {
  const driver = new MemoryDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver), pollIntervalMs: 5 });
  await save(store, snapshotOf("one", { status: "pending" }));
  const read = driver.read.bind(driver);
  const reply = Promise.withResolvers<void>();
  let reads = 0;
  driver.read = async (request) => {
    const view = await read(request);
    if (request.limit !== 0 && reads++ === 0) await reply.promise;
    return view;
  };
  const reported: (string | undefined)[] = [];
  const end = store.onSnapshotStateChange("one", ({ status }) => reported.push(status));
  await expect.poll(() => reads).toBe(1);
  await store.saveSnapshot("one", (current) => (current ? { ...current, status: "aborted" } : null));
  reply.resolve();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(reported).toEqual(["aborted"]);
  end();
});

test("watching continues after an outage, and ends when the stores are closed", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const store = new ScrollbackSessionStore({ stores, pollIntervalMs: 5 });
  const read = driver.read.bind(driver);
  let failures = 0;
  driver.read = async () => {
    failures++;
    throw new StoreError("UNAVAILABLE", "no backend");
  };
  const reported: SessionSnapshot[] = [];
  store.onSnapshotStateChange("one", (snapshot) => reported.push(snapshot));
  await expect.poll(() => failures).toBeGreaterThan(0);
  driver.read = read;
  await save(new ScrollbackSessionStore({ stores }), snapshotOf("one"));
  await expect.poll(() => reported).toHaveLength(1);
  const timers = vi.spyOn(globalThis, "clearInterval");
  await stores.close();
  await expect.poll(() => timers.mock.calls.length).toBeGreaterThan(0);
  timers.mockRestore();
});

test("a hint of the stores is polled at once, also one that comes during a poll", async () => {
  const driver = new MemoryDriver();
  const store = () => new ScrollbackSessionStore({ stores: createStores(driver), pollIntervalMs: 3_600_000 });
  await save(store(), snapshotOf("one", { status: "pending" }));
  const read = driver.read.bind(driver);
  const reply = Promise.withResolvers<void>();
  let polls = 0;
  let [holdsNext, isHeld] = [false, false];
  driver.read = async (request) => {
    const view = await read(request);
    if (request.limit === 0) holdsNext = ++polls === 2;
    else if (holdsNext) {
      [holdsNext, isHeld] = [false, true];
      await reply.promise;
    }
    return view;
  };
  const reported: (string | undefined)[] = [];
  const end = store().onSnapshotStateChange("one", ({ status }) => reported.push(status));
  await expect.poll(() => reported).toEqual(["pending"]);
  await store().saveSnapshot("one", (current) => (current ? { ...current, status: "failed" } : null));
  await expect.poll(() => isHeld).toBe(true);
  await store().saveSnapshot("one", (current) => (current ? { ...current, status: "aborted" } : null));
  reply.resolve();
  await expect.poll(() => reported.at(-1)).toBe("aborted");
  end();
});
