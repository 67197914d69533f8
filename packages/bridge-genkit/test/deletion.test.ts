import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ScrollbackSessionStore } from "../src/index.ts";
import { snapshotOf } from "./snapshots.ts";

const sessionId = "s";
const one = snapshotOf("one", { sessionId, createdAt: "2030-01-01T00:00:00.000Z" });
const two = snapshotOf("two", { sessionId, parentId: "one", createdAt: "2030-01-01T00:00:01.000Z" });

/** Two clients of one backend. `before` runs once, before the first request of the given kind to the given thread. */
async function pair() {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const [store, other] = [1, 2].map(() => new ScrollbackSessionStore({ stores })) as [
    ScrollbackSessionStore,
    ScrollbackSessionStore,
  ];
  const before = (verb: "commit" | "delete", threadId: string, run: () => Promise<unknown>) => {
    const method = driver[verb].bind(driver) as (request: { threadId: string }) => Promise<never>;
    let isDue = true;
    driver[verb] = async (request: { threadId: string }) => {
      const isFirst = isDue && request.threadId === threadId;
      if (isFirst) isDue = false;
      if (isFirst) await run();
      return await method(request);
    };
  };
  const threads = async () => {
    const found: string[] = [];
    for await (const { threadId } of stores.iterateThreads()) found.push(threadId);
    return found;
  };
  await store.saveSnapshot("one", () => one);
  return { store, other, before, threads };
}

test("a new snapshot written after the deletion of its session is in the session, and is deleted with it", async () => {
  const { store, other, before, threads } = await pair();
  before("commit", "genkit:snapshot:two", () => other.deleteSession(sessionId));
  await store.saveSnapshot("two", () => two);
  expect((await other.getSnapshot({ sessionId }))?.snapshotId).toBe("two");
  await other.deleteSession(sessionId);
  expect(await threads()).toEqual([]);
});

test("a known snapshot deleted before its update is in the session if the mutator returns it", async () => {
  const { store, other, before, threads } = await pair();
  before("commit", "genkit:snapshot:one", () => other.deleteSession(sessionId));
  await store.saveSnapshot("one", (current) => (current ? { ...current, status: "aborted" } : one));
  expect((await other.getSnapshot({ sessionId }))?.snapshotId).toBe("one");
  await other.deleteSession(sessionId);
  expect(await threads()).toEqual([]);
});

test("a deletion also deletes a snapshot that was noted before it and written during it", async () => {
  const { store, other, before, threads } = await pair();
  const isNoted = Promise.withResolvers<void>();
  const mayWrite = Promise.withResolvers<void>();
  before("commit", "genkit:snapshot:two", async () => {
    isNoted.resolve();
    await mayWrite.promise;
  });
  const saving = store.saveSnapshot("two", () => two);
  await isNoted.promise;
  // The deletion has read all snapshots, but has not deleted the log yet.
  before("delete", "genkit:session:s", async () => {
    mayWrite.resolve();
    await saving;
  });
  await other.deleteSession(sessionId);
  expect(await saving).toBe("two");
  expect(await threads()).toEqual([]);
});
