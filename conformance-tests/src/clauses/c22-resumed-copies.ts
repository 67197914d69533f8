import { randomUUID } from "node:crypto";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { expectCopy, LONG, longThread, storesWithLimits } from "../checks/copies.ts";
import { rejection } from "../checks/errors.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, user } from "../messages/messages.ts";
import { wrapDriver } from "../wrapped-driver.ts";

/** Stores on a driver that fails at one commit, before or after its effect, and does not retry. */
function failingStores(
  backend: Backend,
  at: number,
  isMade: boolean,
  limits: Partial<Driver["capabilities"]>,
) {
  const driver = backend.otherDriver();
  let commits = 0;
  return storesWithLimits(
    wrapDriver(driver, {
      async commit(request) {
        commits += 1;
        if (commits !== at) return await driver.commit(request);
        if (isMade) await driver.commit(request);
        throw new Error("the process ends here");
      },
      classifyError: () => ({ code: "UNAVAILABLE", message: "failed", retryable: false }),
    }),
    limits,
  );
}

/** Tests of copies in several commits: stopped, failed, made by several callers at once. */
export const resumedCopies: Clause["declare"] = (test) => {
  test("a copy that fits in one commit is seen whole or not at all", async (backend) => {
    const stores = backend.stores();
    const from = await longThread(stores, 300);
    for (let round = 0; round < 4; round++) {
      const to = randomUUID();
      const reader = backend.otherStores().open(to);
      const counts = new Set<number>();
      await meanwhile(stores.copyThread(from, to), async () =>
        counts.add((await reader.read()).entries.length),
      );
      counts.add((await reader.read()).entries.length);
      expect([...counts].filter((count) => count !== 0)).toEqual([300]);
    }
  });

  test("a copy stopped between two commits is continued by the same call", async (backend) => {
    const stores = backend.stores();
    const from = await longThread(stores);
    for (const isAborted of [false, true]) {
      const to = randomUUID();
      const reached: number[] = [];
      for (let calls = 1; ; calls++) {
        expect(calls, "calls").toBeLessThan(20);
        const controller = new AbortController();
        const stopped = new Error("stopped");
        const onProgress: NonNullable<Parameters<typeof stores.copyThread>[2]>["onProgress"] = ({
          copied,
          total,
        }) => {
          expect(total).toBe(LONG);
          reached.push(copied);
          if (copied === LONG) return;
          if (!isAborted) throw stopped;
          controller.abort(stopped);
        };
        // Each call is made by another client.
        const caller = calls % 2 ? stores : backend.otherStores();
        const copy = caller.copyThread(from, to, { onProgress, signal: controller.signal });
        if (
          !(await copy.then(
            () => false,
            () => true,
          ))
        )
          break;
        if (isAborted) await rejection(copy, "ABORTED");
        else await expect(copy).rejects.toBe(stopped);
      }
      expect(reached.length, "commits").toBeGreaterThan(1);
      expect(reached).toEqual([...new Set(reached)].sort((a, b) => a - b));
      await expectCopy(stores, from, backend.otherStores(), to);
      expect((await stores.copyThread(from, to)).copied).toBe(0);
    }
  });

  test("a copy that failed at any commit, made or not, is continued by the same call and doubles nothing", async (backend) => {
    const limits = { maxCommitMessages: 7 };
    const stores = storesWithLimits(backend.driver, limits);
    const from = await longThread(backend.stores(), 25);
    for (const isMade of [false, true]) {
      // The first commit contains all messages at once and is refused before it is sent.
      for (let at = 1; at <= 5; at++) {
        const to = randomUUID();
        const failing = failingStores(backend, at, isMade, limits);
        await rejection(failing.copyThread(from, to), "UNAVAILABLE");
        await stores.copyThread(from, to);
        await expectCopy(stores, from, stores, to);
        expect((await stores.copyThread(from, to)).copied).toBe(0);
        await expectCopy(stores, from, stores, to);
      }
    }
  });

  test("the same copy by several concurrent calls is made once", async (backend) => {
    const limits = { maxCommitMessages: 10 };
    const clients = [backend.driver, backend.otherDriver(), backend.otherDriver()];
    const from = await longThread(backend.stores(), 95);
    for (let round = 0; round < 4; round++) {
      const to = randomUUID();
      const copy = (driver: Driver) => storesWithLimits(driver, limits).copyThread(from, to);
      const copies = await Promise.all(clients.map(copy));
      expect(new Set(copies.map(({ revision }) => revision)).size, "revisions").toBe(1);
      expect((await copy(backend.driver)).copied).toBe(0);
      await expectCopy(backend.stores(), from, backend.stores(), to);
    }
  });

  test("a source that is deleted, begun again, cleared, trimmed or cut during a copy causes CONFLICT, in the next call too", async (backend) => {
    const stores = backend.stores();
    const others = backend.otherStores();
    const changes: ((threadId: string) => Promise<unknown>)[] = [
      (threadId) => others.deleteThread(threadId),
      async (threadId) => {
        await others.deleteThread(threadId);
        await others.open(threadId).addMessages(numbered(600, "new"));
      },
      (threadId) => others.open(threadId).clear(),
      (threadId) => others.open(threadId).replaceMessages(numbered(600, "new")),
      (threadId) => others.open(threadId, { maxMessages: 550, trimming: "exact" }).addMessages([user("new")]),
      (threadId) => others.open(threadId).commit({ drop: 500, append: numbered(500, "new") }),
    ];
    for (const change of changes) {
      const source = stores.open();
      await source.addMessages(numbered(600));
      const from = source.threadId;
      const driver = new MemoryDriver();
      let isChanged = false;
      const changing = wrapDriver(driver, {
        async commit(request) {
          const outcome = await driver.commit(request);
          if (!isChanged) await change(from);
          isChanged = true;
          return outcome;
        },
      });
      await using target = createStores(changing);
      // The first page has been copied when the source changes.
      await rejection(stores.copyThread(from, "copy", { target }), "CONFLICT");
      await rejection(stores.copyThread(from, "copy", { target }), "CONFLICT");
    }
  });

  test("content that other clients add to an unfinished copy causes CONFLICT and stays", async (backend) => {
    const stores = storesWithLimits(backend.driver, { maxCommitMessages: 10 });
    const from = await longThread(backend.stores(), 35);
    const to = randomUUID();
    const stopped = new Error("stopped");
    const onProgress = () => {
      throw stopped;
    };
    await expect(stores.copyThread(from, to, { onProgress })).rejects.toBe(stopped);
    await stores.open(to).commit({ append: [user("of another origin")], metadata: "title" });
    const before = await stores.open(to).read();
    await rejection(stores.copyThread(from, to), "CONFLICT");
    expect(await stores.open(to).read()).toStrictEqual(before);
  });

  test("large messages are copied in several commits", async (backend) => {
    const stores = backend.stores();
    const store = stores.open();
    const texts = Array.from(
      { length: 11 },
      (_, index) => `${index}${"x".repeat(index === 6 ? 90_000 : 30_000)}`,
    );
    for (const text of texts) await store.addMessages([user(text)]);
    const target = storesWithLimits(backend.driver, { maxCommitBytes: 100_000 });
    const to = randomUUID();
    const progress: number[] = [];
    const onProgress = ({ copied }: { copied: number }) => progress.push(copied);
    expect((await stores.copyThread(store.threadId, to, { target, onProgress })).copied).toBe(texts.length);
    expect(progress.length, "commits").toBeGreaterThan(3);
    await expectCopy(stores, store.threadId, stores, to);
    const tight = storesWithLimits(backend.driver, { maxCommitBytes: 50_000 });
    await rejection(stores.copyThread(store.threadId, randomUUID(), { target: tight }), "TOO_LARGE");
  });

  test("a copy over a failing connection takes effect once", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const target = storesWithLimits(connect(), { maxCommitMessages: 10 });
    const stores = backend.stores();
    const from = await longThread(stores, 35);
    const to = randomUUID();
    const onProgress = () => proxy.set({ kind: "cut-reply", times: 1 });
    const { strikes } = proxy.counters;
    await stores.copyThread(from, to, { target, onProgress });
    expect(proxy.counters.strikes, "cuts").toBeGreaterThan(strikes + 2);
    proxy.set({ kind: "pass" });
    await expectCopy(stores, from, stores, to);
  });
};
