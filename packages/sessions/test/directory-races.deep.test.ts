import { createStores, MemoryDriver } from "@scrollback/store-core";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { SessionService } from "../src/index.ts";
import {
  app,
  compact,
  expectOrder,
  filled,
  idsOf,
  move,
  nameOf,
  ofApp,
  readDirectory,
  sorted,
  withoutSorting,
} from "./listed.ts";

test.each([0, 1, 2, 3, 4])(
  "a process that dies during a compaction, after %i commits, leaves the directory intact",
  async (commits) => {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
    const { times } = await filled(stores, 600, (n) => n);
    random.mockRestore();
    const dying = new WatchedDriver(driver);
    dying.writesLeft = commits;
    await Promise.race([compact(createStores(dying), ofApp), dying.death]);
    await expectOrder(stores, times);
    await compact(stores, ofApp);
    await expectOrder(stores, times);
    expect((await readDirectory(stores, ofApp)).notes).toEqual([]);
  },
);

/** A driver that waits once, before the request that `isMeant` selects, until the call of `resume`. */
function pausing(driver: MemoryDriver, verb: "commit" | "read", isMeant: (threadId: string) => boolean) {
  const watched = new WatchedDriver(driver);
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const waitOnce = async (threadId: string) => {
    if (!isMeant(threadId)) return;
    reach();
    await resumed;
  };
  const { commit, read } = watched;
  if (verb === "commit") {
    watched.commit = async (request) => {
      await waitOnce(request.threadId);
      return await commit.call(watched, request);
    };
  } else {
    watched.read = async (request) => {
      await waitOnce(request.threadId);
      return await read.call(watched, request);
    };
  }
  return { stores: createStores(watched), reached, resume };
}

test("a slow compaction does not overwrite a faster one", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { sessions, times } = await filled(stores, 300, (n) => n);
    const slow = pausing(driver, "commit", (threadId) => threadId === ofApp);
    const sorted = compact(slow.stores, ofApp);
    await slow.reached;
    await compact(stores, ofApp);
    for (let n = 0; n < 300; n++) {
      times.set(nameOf(n), 5_000 - n);
      await move(sessions, nameOf(n), 5_000 - n);
    }
    await sessions.flush();
    await compact(stores, ofApp);
    slow.resume();
    await sorted;
    await expectOrder(stores, times);
    expect((await readDirectory(stores, ofApp)).root.compactions).toBe(2);
  });
});

test("a list restarts if a leaf is replaced during it", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { times } = await filled(stores, 300, (n) => n);
    await compact(stores, ofApp);
    const slow = pausing(driver, "read", (threadId) => threadId.startsWith("sessions:leaf:"));
    const listed = new SessionService({ stores: slow.stores }).listSessions({
      ...app,
      limit: 100,
      order: "asc",
    });
    await slow.reached;
    let now = 0;
    const sessions = new SessionService({ stores, now: () => now });
    for (let n = 300; n < 600; n++) {
      now = n;
      times.set(nameOf(n), n);
      await sessions.createSession({ ...app, userId: "ada", sessionId: nameOf(n) });
    }
    for (let round = 1; round <= 2; round++) {
      for (let n = 0; n < 600; n++) {
        times.set(nameOf(n), round * 1_000 + n);
        await move(sessions, nameOf(n), round * 1_000 + n);
      }
      await sessions.flush();
      await compact(stores, ofApp);
    }
    slow.resume();
    expect((await listed).sessions.map(({ id }) => id)).toEqual(sorted(times, "asc").slice(0, 100));
  });
});

test("a stale entry of a dead process is not listed, and is removed", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { sessions, times } = await filled(stores, 600, (n) => n);
    await compact(stores, ofApp);
    const dying = new WatchedDriver(driver);
    await move(new SessionService({ stores: createStores(dying) }), nameOf(7), 9_000);
    dying.writesLeft = 0;
    for (const n of [7, ...Array.from({ length: 130 }, (_, i) => 450 + i)]) {
      times.set(nameOf(n), 9_001 + n);
      await move(sessions, nameOf(n), 9_001 + n);
    }
    await sessions.flush();
    await compact(stores, ofApp);
    const entries = async () =>
      (await readDirectory(stores, ofApp)).root.leaves.reduce((sum, { count }) => sum + count, 0);
    expect(await entries()).toBe(601);
    await expectOrder(stores, times);
    // Corrections that a list has found are sorted in with the next notes.
    const reader = new SessionService({ stores });
    await idsOf(reader);
    for (let n = 450; n < 580; n++) await move(reader, nameOf(n), 9_001 + n + 0.5);
    await reader.flush();
    await compact(stores, ofApp);
    expect(await entries()).toBe(600);
  });
});
