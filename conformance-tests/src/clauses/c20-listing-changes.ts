import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import { listAll, listIds, manyThreads, ownPrefix } from "../checks/listings.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import { AFTER_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { numbered, user } from "../messages/messages.ts";

/** Tests of cursors, iteration and lost replies, and of listings while threads are created, expire, are deleted and are written. */
export const changingListings: Clause["declare"] = (test) => {
  test("a thread is listed by every client once its first commit has returned", async (backend) => {
    const prefix = ownPrefix();
    const [stores, others] = [backend.stores(), backend.otherStores()];
    const ids: string[] = [];
    for (let index = 0; index < 10; index++) {
      ids.push(`${prefix}${index}`);
      await (index % 2 ? others : stores).open(ids.at(-1)).addMessages(numbered(1));
      expect(await listIds(index % 2 ? stores : others, { prefix })).toEqual(ids);
    }
  });

  test(
    "an expired thread is never listed, also before the backend removes it",
    async (backend) => {
      backend.requireExpiry();
      const { prefix, ids, stores } = await manyThreads(backend, 6);
      const ttlMs = 400;
      const brief = backend.stores({ ttlMs });
      const names = Array.from({ length: 6 }, (_, index) => `${prefix}brief ${index}`);
      await Promise.all(names.map((name) => brief.open(name).addMessages(numbered(2))));
      await brief.open(ids[0]).addMessages([user("expires with it")]);
      await stores.open(ids[1]).expire(ttlMs);
      await sleep(ttlMs + AFTER_MS);
      const rest = ids.slice(2);
      for (const limit of [1, 4, 100])
        for (const reader of [stores, backend.otherStores()])
          expect(await listIds(reader, { prefix, limit }), `pages of ${limit}`).toEqual(rest);
      await stores.open(names[3]).addMessages([user("begun again")]);
      expect(await listIds(stores, { prefix })).toEqual([...rest, names[3]]);
    },
    { concurrent: true },
  );

  test("a deleted thread is not listed by any client until it is written again", async (backend) => {
    const { prefix, ids, stores } = await manyThreads(backend, 12);
    const others = backend.otherStores();
    const left = new Set(ids);
    for (const id of ids.filter((_, index) => index % 2 === 0)) {
      await stores.deleteThread(id);
      left.delete(id);
      expect(await listIds(others, { prefix, limit: 5 })).toEqual([...left]);
    }
    await others.open(ids[4]).commit({ append: numbered(2), metadata: "again" }, { createdAt: 1_000 });
    const listed = (await listAll(stores, { prefix })).find(({ threadId }) => threadId === ids[4]);
    expect(listed).toMatchObject({ count: 2, createdAt: 1_000, updatedAt: 1_000, metadata: "again" });
  });

  test("threads that exist during the whole listing are listed, during concurrent changes", async (backend) => {
    const { prefix, ids, stores } = await manyThreads(backend, 60);
    const doomed = ids.filter((_, index) => index % 3 === 0);
    const stable = ids.filter((_, index) => index % 3 !== 0);
    const deleted = new Set<string>();
    const unwanted: string[] = [];
    const listed = await listIds(stores, {
      prefix,
      limit: 4,
      async afterPage(threads, pages) {
        unwanted.push(...threads.map(({ threadId }) => threadId).filter((id) => deleted.has(id)));
        // Also the last thread of the page: a cursor may refer to it.
        const last = threads.findLast(({ threadId }) => doomed.includes(threadId))?.threadId;
        for (const id of new Set([last, doomed[pages * 2], doomed.at(-pages)])) {
          if (id === undefined) continue;
          await stores.deleteThread(id);
          deleted.add(id);
        }
        await stores.open(stable[pages % stable.length]).addMessages(numbered(3));
        await stores.open(stable[stable.length - 1 - (pages % stable.length)]).clear();
        await stores.open(`${prefix}${String(pages).padStart(4, "0")} new`).addMessages(numbered(1));
      },
    });
    expect(
      stable.filter((id) => !listed.includes(id)),
      "not listed",
    ).toEqual([]);
    expect(unwanted, "listed after their deletion").toEqual([]);
  });

  test("a thread that is written continuously is in every listing", async (backend) => {
    const { prefix, ids, stores } = await manyThreads(backend, 12);
    const writers = backend.otherStores({ maxMessages: 2 });
    const write = async () => {
      for (let round = 0; round < 12; round++)
        await Promise.all(ids.map((id) => writers.open(id).addMessages(numbered(1, `${round}`))));
    };
    await meanwhile(write(), async () => expect(await listIds(stores, { prefix, limit: 5 })).toEqual(ids));
  });

  test("an invalid cursor fails with INVALID_ARGUMENT", async (backend) => {
    const { prefix, stores } = await manyThreads(backend, 4);
    const { newer = "" } = await stores.open(`${prefix}0000`).read();
    for (const cursor of [
      ...["none of yours", "💬", "\0", "../..", "{}", "%", "-1", "1.5", newer, "x".repeat(5_000)],
    ]) {
      const error = await rejection(stores.listThreads({ prefix, cursor }), "INVALID_ARGUMENT");
      expect(error.message, cursor).toContain("listThreads: cursor");
    }
  });

  test("iterateThreads yields the threads of all pages, and reads each page when needed, until it is aborted", async (backend) => {
    const { prefix, ids, stores } = await manyThreads(backend, 25);
    const seen = new Set<string>();
    for await (const { threadId } of stores.iterateThreads({ prefix, limit: 10 })) seen.add(threadId);
    expect([...seen].sort()).toEqual(ids);
    const before = await backend.requestsOf(async () => {
      for await (const _ of stores.iterateThreads({ prefix, limit: 10 })) break;
    });
    const whole = await backend.requestsOf(async () => {
      for await (const _ of stores.iterateThreads({ prefix, limit: 10 }));
    });
    if (whole) expect(before, "requests of one page").toBeLessThan(whole);
    await backend.withoutRequests(() => void stores.iterateThreads({ prefix }));
    const controller = new AbortController();
    const aborted = async () => {
      for await (const _ of stores.iterateThreads({ prefix, limit: 3, signal: controller.signal }))
        controller.abort();
    };
    await rejection(aborted(), "ABORTED");
  });

  test("a listing whose reply is cut is complete", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const { prefix, ids } = await manyThreads(backend, 8);
    const stores = createStores(connect());
    await listAll(stores, { prefix });
    proxy.set({ kind: "cut-reply", times: 1 });
    expect(await listIds(stores, { prefix, limit: 3 })).toEqual(ids);
    expect(proxy.mode.kind, "the cut occurred").toBe("pass");
  });
};
