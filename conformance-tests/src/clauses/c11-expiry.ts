import { setTimeout as sleep } from "node:timers/promises";
import type { MessageStore } from "@scrollback/store-core";
import { expect } from "vitest";
import { rejection, thrown } from "../checks/errors.ts";
import { AFTER_MS, beforeExpiry, TTLS_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

const gone = { entries: [], revision: null, count: 0 };

const writes: Record<string, (store: MessageStore) => Promise<unknown>> = {
  addMessages: (store) => store.addMessages([user("more")]),
  popMessage: (store) => store.popMessage(),
  replaceMessages: (store) => store.replaceMessages([user("other")]),
  "a commit of metadata": (store) => store.commit({ metadata: "title" }),
  clear: (store) => store.clear(),
};
export const expiry: Clause = {
  title: "Expiry",
  concurrent: true,
  declare(test) {
    test("an expired thread is empty at once, on any client", async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const store = backend.store({ ttlMs });
        const others = backend.otherStores().open(store.threadId);
        await write(() => store.commit({ append: numbered(3), metadata: "title" }));
        await inTime(async () => expect(await textsIn(others)).toHaveLength(3));
        await sleep(afterMs);
        for (const reader of [store, others]) {
          expect(await reader.listMessages()).toEqual([]);
          expect(await reader.listMessages({ limit: 2 })).toEqual([]);
          expect(await reader.read()).toStrictEqual(gone);
          expect(await reader.popMessage()).toBeUndefined();
        }
      });
    });

    test("a write to an expired thread begins a new one", async (backend) => {
      backend.requireExpiry();
      const store = backend.store({ ttlMs: 500 });
      const old = await store.commit({ append: numbered(3), metadata: "old" }, { operationId: "op" });
      await sleep(500 + AFTER_MS);
      await rejection(store.addMessages([user("b")], { expectedRevision: old }), "CONFLICT");
      expect(await store.read()).toStrictEqual(gone);
      const lasting = backend.stores().open(store.threadId);
      const given = { expectedRevision: null, operationId: "op" };
      const revision = await lasting.addMessages([user("new")], given);
      expect(revision).not.toBe(old);
      const { entries, ...page } = await lasting.read();
      expect(entries.map(({ message }) => message.content)).toEqual(["new"]);
      expect(page.revision).toBe(revision);
      expect("metadata" in page, "metadata of the expired thread").toBe(false);
    });

    test("every kind of write renews the expiry", async (backend) => {
      backend.requireExpiry();
      const slide = ([name, change]: [string, (store: MessageStore) => Promise<unknown>]) =>
        beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
          const store = backend.store({ ttlMs });
          await write(() => store.addMessages(numbered(3)));
          for (let written = 0; written < 3; written++) {
            await sleep(ttlMs / 2);
            await inTime(async () =>
              expect((await store.read()).revision, `${name}, ${written} times`).not.toBeNull(),
            );
            if (written < 2) await write(() => change(store));
          }
          await sleep(afterMs - ttlMs / 2);
          expect(await store.read(), name).toStrictEqual(gone);
        });
      await Promise.all(Object.entries(writes).map(slide));
    });

    test("reads, empty changes, repeated writes and conflicts do not change the expiry", async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const store = backend.store({ ttlMs });
        await write(() => store.addMessages([user("a")], { operationId: "op" }));
        const unchanging = [
          () => store.listMessages(),
          () => store.read(),
          () => store.addMessages([]),
          () => store.addMessages([user("a")], { operationId: "op" }),
          () => rejection(store.addMessages([user("b")], { expectedRevision: null }), "CONFLICT"),
          () => rejection(store.addMessages([user("b")], { operationId: "op" }), "CONFLICT"),
        ];
        const start = performance.now();
        // Were the expiry renewed by the last of these calls, it would be later than `afterMs`. Each has the rest of the time.
        const isEarly = () => performance.now() < start + (ttlMs * 5) / 8;
        for (let isFirst = true; isFirst || isEarly(); isFirst = false) {
          for (const call of unchanging) if (isFirst || isEarly()) await inTime<unknown>(call);
          await sleep(50);
        }
        await sleep(start + afterMs - performance.now());
        expect(await store.read()).toStrictEqual(gone);
      });
    });

    test("a write without ttlMs removes the expiry of the whole thread", async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const store = backend.store({ ttlMs, maxMessages: 4 });
        await write(() => store.commit({ append: numbered(3), metadata: "title" }));
        await write(() => store.addMessages([user("also with ttl")]));
        const lasting = backend.stores().open(store.threadId);
        const revision = await inTime(() => lasting.addMessages([user("lasting")]));
        await sleep(afterMs);
        const page = await lasting.read();
        expect(page.entries).toHaveLength(5);
        expect(page).toMatchObject({ revision, metadata: "title" });
      });
    });

    test("a write with ttlMs makes the whole of a permanent thread expire", async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const lasting = backend.store();
        await lasting.commit({ append: numbered(5), metadata: "title" });
        const brief = backend.stores({ ttlMs }).open(lasting.threadId);
        await write(() => brief.addMessages([user("last")]));
        await inTime(async () => expect(await textsIn(lasting)).toHaveLength(6));
        await sleep(afterMs);
        expect(await lasting.read()).toStrictEqual(gone);
      });
    });

    test("a longer ttlMs extends the expiry, a shorter one brings it forward", async (backend) => {
      backend.requireExpiry();
      const longMs = 600_000;
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const long = backend.store({ ttlMs: longMs });
        const lengthened = backend.store({ ttlMs });
        await write(() => lengthened.addMessages([user("a")]));
        const longer = backend.stores({ ttlMs: longMs }).open(lengthened.threadId);
        await inTime(() => longer.addMessages([user("b")]));
        await long.addMessages([user("a")]);
        await backend
          .stores({ ttlMs })
          .open(long.threadId)
          .addMessages([user("b")]);
        await sleep(afterMs);
        expect(await long.read()).toStrictEqual(gone);
        expect(await textsIn(lengthened)).toEqual(["a", "b"]);
      });
    });

    test("a ttlMs of 100 years lasts 100 years", async (backend) => {
      backend.requireExpiry();
      const store = backend.store({ ttlMs: 100 * 365 * 86_400_000 });
      await store.addMessages(numbered(2));
      await store.addMessages([user("a")]);
      await sleep(50);
      expect(await textsIn(store)).toEqual(["message 1", "message 2", "a"]);
    });

    test("a restored store has the ttlMs of its state", async (backend) => {
      backend.requireExpiry();
      const [ttlMs = 0] = TTLS_MS;
      const { threadId, ...state } = await backend.store({ ttlMs }).serialize();
      const store = backend.stores().restore({ ...state, threadId });
      await store.addMessages([user("a")]);
      await sleep(ttlMs + AFTER_MS);
      expect(await store.read()).toStrictEqual(gone);
    });

    test("ttlMs is refused only where threads cannot expire", async (backend) => {
      const make = () => backend.stores({ ttlMs: 1_000 });
      const open = () => backend.stores().open("a", { ttlMs: 1_000 });
      if (backend.driver.capabilities.expiry) {
        expect(make().settings.ttlMs).toBe(1_000);
        open();
      } else {
        for (const call of [make, open]) expect(thrown(call, "UNSUPPORTED").message).toContain("ttlMs");
        await rejection(backend.store().expire(5), "UNSUPPORTED");
      }
    });
  },
};
