import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage } from "@scrollback/store-core";
import { expect } from "vitest";
import { GONE } from "../checks/deleted.ts";
import { rejection } from "../checks/errors.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import { beforeExpiry } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

/** Tests of `expire`, which sets the expiry without a message. */
export const expiring: Clause["declare"] = (test) => {
  test("expire sets and removes the expiry, and changes nothing else", async (backend) => {
    backend.requireExpiry();
    const store = backend.store();
    const others = backend.otherStores().open(store.threadId);
    const first = await store.commit({ append: numbered(3), metadata: "title" });
    const before = await store.read();
    const ttlMs = 3_600_000;
    const earliest = Date.now() + ttlMs - 5_000;
    const revision = await store.expire(ttlMs);
    expect(revision).not.toBe(first);
    const { expiresAt = 0, updatedAt: _, ...page } = await others.read();
    expect(expiresAt).toBeGreaterThan(earliest);
    expect(expiresAt).toBeLessThan(earliest + 20_000);
    const { updatedAt: __, ...same } = { ...before, revision };
    expect(page).toStrictEqual(same);
    expect((await others.expire(2 * ttlMs)) === revision, "the same revision again").toBe(false);
    expect((await store.read()).expiresAt).toBeGreaterThan(expiresAt);
    await others.expire(null);
    expect("expiresAt" in (await store.read())).toBe(false);
    await store.expire(ttlMs);
    await store.addMessages([user("a write without ttlMs")]);
    expect("expiresAt" in (await store.read())).toBe(false);
  });

  test(
    "a thread expires at the time set by expire, without a write",
    async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const [store, kept] = [backend.store(), backend.store()];
        const brief = backend.stores({ ttlMs }).open(kept.threadId);
        for (const one of [store, brief])
          await write(() => one.commit({ append: numbered(3), metadata: "title" }));
        await write(() => store.expire(ttlMs));
        await inTime(() => kept.expire(null));
        await inTime(async () => expect(await textsIn(store)).toHaveLength(3));
        await sleep(afterMs);
        expect(await store.read()).toStrictEqual(GONE);
        expect(await backend.otherStores().open(store.threadId).read()).toStrictEqual(GONE);
        expect(await kept.read()).toMatchObject({ count: 3, metadata: "title" });
      });
    },
    { concurrent: true },
  );

  test("expire of a missing thread returns null and does not begin one", async (backend) => {
    const { expiry } = backend.driver.capabilities;
    const store = backend.store();
    const isAbsent = async (id: string) => {
      for (const ttlMs of expiry ? [1_000, null] : [null]) {
        const one = backend.stores().open(id);
        expect(await one.expire(ttlMs)).toBeNull();
        expect(await one.expire(ttlMs, { expectedRevision: null })).toBeNull();
        await rejection(one.expire(ttlMs, { expectedRevision: "other.1" }), "CONFLICT");
        expect(await one.read()).toStrictEqual(GONE);
      }
    };
    await isAbsent(store.threadId);
    await store.addMessages(numbered(2));
    await backend.stores().deleteThread(store.threadId);
    await isAbsent(store.threadId);
  });

  test("expire with expectedRevision is a compare-and-set", async (backend) => {
    backend.requireExpiry();
    const store = backend.store();
    const first = await store.addMessages(numbered(1));
    const second = await store.addMessages(numbered(1));
    const before = await store.read();
    for (const expectedRevision of [first, null, "other.1"])
      await rejection(store.expire(60_000, { expectedRevision }), "CONFLICT");
    expect(await store.read()).toStrictEqual(before);
    const third = await store.expire(60_000, { expectedRevision: second });
    expect((await store.read()).revision).toBe(third);
    await rejection(store.addMessages(numbered(1), { expectedRevision: second }), "CONFLICT");
  });

  test("expire loses nothing during concurrent writes", async (backend) => {
    backend.requireExpiry();
    const store = backend.store();
    await store.addMessages([user("begun")]);
    const others = backend.otherStores().open(store.threadId);
    const messages: ChatMessage[] = [];
    const write = async () => {
      for (let number = 0; number < 20; number++) {
        const [message = user("")] = numbered(1, "message", number);
        await others.addMessages([message]);
        messages.push(message);
      }
    };
    await meanwhile(write(), () => store.expire(600_000));
    expect(await store.listMessages()).toEqual([user("begun"), ...messages]);
  });
};
