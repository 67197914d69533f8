import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageStore } from "@scrollback/store-core";
import { expect, vi } from "vitest";
import type { Backend } from "../backend.ts";
import { expectGone, GONE, secretText } from "../checks/deleted.ts";
import { rejection } from "../checks/errors.ts";
import { listIds } from "../checks/listings.ts";
import { AFTER_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import { deletionRaces } from "./c21-deletion-races.ts";
import { expiring } from "./c21-expire.ts";

const MIB = 1024 ** 2;

/** Threads of every form, whose content contains the given text. */
const shapes: Record<string, (backend: Backend, store: MessageStore, secret: string) => Promise<unknown>> = {
  "one message": (_, store, secret) => store.addMessages([user(secret)]),
  "a batch": (_, store, secret) => store.addMessages(numbered(50, secret)),
  "many commits": async (_, store, secret) => {
    for (let number = 0; number < 70; number++) await store.addMessages([user(`${secret} ${number}`)]);
  },
  "metadata alone": (_, store, secret) => store.commit({ metadata: { title: secret } }),
  "messages and metadata": async (_, store, secret) => {
    await store.commit({ append: numbered(3, secret), metadata: { title: secret } });
    await store.commit({ metadata: { title: `${secret} again` } });
  },
  "trimmed content": async (backend, { threadId }, secret) => {
    const store = backend.stores({ maxMessages: 2 }).open(threadId);
    for (let number = 0; number < 5; number++) await store.addMessages([user(`${secret} ${number}`)]);
  },
  "dropped content": async (_, store, secret) => {
    await store.addMessages(numbered(5, secret));
    await store.commit({ drop: 2, append: [user(`${secret} other`)] });
    await store.popMessage();
  },
  "cleared content": async (_, store, secret) => {
    await store.addMessages(numbered(5, secret));
    await store.clear();
  },
  "large messages": async (_, store, secret) => {
    const text = `${secret}${"x".repeat(MIB)}${secret}${"y".repeat(MIB)}${secret}`;
    await store.addMessages([user(text)]);
    await store.addMessages([user("between"), user(text)]);
  },
};

export const deletion: Clause = {
  title: "Deletion",
  declare(test) {
    test("content is gone at rest once the deletion returns, for any thread", async (backend) => {
      for (const [what, make] of Object.entries(shapes)) {
        const secret = secretText();
        const store = backend.store();
        await make(backend, store, secret);
        await backend.stores().deleteThread(store.threadId);
        await expectGone(backend, store.threadId, [secret]).catch((cause) => {
          throw new Error(`content of ${what} remains`, { cause });
        });
      }
    });

    test("content is at rest before the deletion", async (backend) => {
      // Otherwise the test above would prove nothing.
      const secret = secretText();
      const store = backend.store();
      await store.commit({ append: [user(`${secret} a`)], metadata: `${secret} b` });
      const dump = await backend.harness.raw.dump(store.threadId);
      expect(dump).toContain(`${secret} a`);
      expect(dump).toContain(`${secret} b`);
    });

    test(
      "after a short time nothing is left of a thread",
      async (backend) => {
        const deletedWithinMs = backend.requireSoonDeleted();
        const made = await Promise.all(
          Object.entries(shapes).map(async ([what, make]) => {
            const store = backend.store();
            await make(backend, store, "content");
            return { what, threadId: store.threadId };
          }),
        );
        const stores = backend.stores();
        for (const { threadId } of made) await stores.deleteThread(threadId);
        // A backend that forgets within a second may not have finished.
        const timeout = deletedWithinMs + AFTER_MS + 1_000;
        await Promise.all(
          made.map(({ what, threadId }) =>
            vi.waitFor(
              async () => expect(await backend.harness.raw.dump(threadId), `the remains of ${what}`).toBe(""),
              { timeout },
            ),
          ),
        );
      },
      { concurrent: true },
    );

    test("other threads do not change", async (backend) => {
      const stores = backend.stores();
      const base = randomUUID();
      const names = [base, `${base}:a`, `${base}a`, base.slice(0, -1), `{${base}}`, `${base}*`, `${base}\0`];
      for (const name of names) await stores.open(name).commit({ append: numbered(2, name), metadata: name });
      const others = names.slice(1);
      const pages = await Promise.all(others.map((name) => stores.open(name).read()));
      await stores.deleteThread(base);
      expect(await Promise.all(others.map((name) => stores.open(name).read()))).toStrictEqual(pages);
      await stores.deleteThread(`${base}*`);
      expect(await textsIn(stores.open(`${base}:a`))).toHaveLength(2);
    });

    test("deleting a missing thread succeeds and leaves nothing", async (backend) => {
      const stores = backend.stores();
      const { threadId } = backend.store();
      for (let time = 0; time < 2; time++) {
        await stores.deleteThread(threadId);
        await expectGone(backend, threadId, []);
      }
      await stores.deleteThread(threadId, { expectedRevision: null });
      await rejection(stores.deleteThread(threadId, { expectedRevision: "other.1" }), "CONFLICT");
      const store = stores.open(threadId);
      await store.addMessages(numbered(2), { expectedRevision: null });
      expect(await textsIn(store)).toHaveLength(2);
    });

    test("a second deletion does nothing", async (backend) => {
      const stores = backend.stores();
      const secret = secretText();
      const store = backend.store();
      await store.addMessages(numbered(5, secret));
      await stores.deleteThread(store.threadId);
      await stores.deleteThread(store.threadId);
      await backend.otherStores().deleteThread(store.threadId);
      await expectGone(backend, store.threadId, [secret]);
    });

    test(
      "what is left of an expired thread is removed too",
      async (backend) => {
        backend.requireExpiry();
        const secret = secretText();
        const store = backend.store({ ttlMs: 300 });
        const old = await store.commit({ append: numbered(3, secret), metadata: secret });
        await sleep(300 + AFTER_MS);
        await rejection(backend.stores().deleteThread(store.threadId, { expectedRevision: old }), "CONFLICT");
        await backend.stores().deleteThread(store.threadId, { expectedRevision: null });
        await expectGone(backend, store.threadId, [secret]);
      },
      { concurrent: true },
    );

    test("a thread with damaged records can be deleted", async (backend) => {
      const stores = backend.stores();
      for (const text of ["garbage", "{}", ""]) {
        const secret = secretText();
        const store = backend.store();
        await store.commit({ append: numbered(3, secret), metadata: secret });
        const { entries } = await store.read();
        await backend.harness.raw.plant(store.threadId, entries[1]?.sequence ?? 0, {
          ...{ kind: "z", createdAt: 1_000, text },
        });
        await rejection(store.read(), "CORRUPT");
        await stores.deleteThread(store.threadId);
        await expectGone(backend, store.threadId, [secret]);
        await store.addMessages([user("new")], { expectedRevision: null });
        expect(await textsIn(store)).toEqual(["new"]);
      }
    });

    test("expectedRevision: the thread's own deletes it, another one fails with CONFLICT and changes nothing", async (backend) => {
      const [stores, others] = [backend.stores(), backend.otherStores()];
      const store = backend.store();
      const first = await store.addMessages(numbered(2));
      const second = await store.commit({ append: numbered(1), metadata: "title" });
      const before = await store.read();
      for (const expectedRevision of [first, null, "other.1", `${second}0`]) {
        for (const one of [stores, others]) {
          const error = await rejection(one.deleteThread(store.threadId, { expectedRevision }), "CONFLICT");
          expect(error.message).toContain("expectedRevision");
        }
        expect(await store.read()).toStrictEqual(before);
        expect(await listIds(others, { prefix: store.threadId })).toEqual([store.threadId]);
      }
      await others.deleteThread(store.threadId, { expectedRevision: second });
      await expectGone(backend, store.threadId, []);
      await rejection(stores.deleteThread(store.threadId, { expectedRevision: second }), "CONFLICT");
    });

    test("a later write begins a new thread without revision, messages or metadata of the old one", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores();
      const used = new Set<string | null>([null]);
      for (let round = 0; round < 4; round++) {
        for (let number = 0; number < 3; number++) {
          const revision = await store.commit({ append: numbered(1, `round ${round}`), metadata: round });
          expect(used.has(revision), "a revision that was used before").toBe(false);
          used.add(revision);
        }
        const old = (await store.read()).revision;
        await (round % 2 ? others : backend.stores()).deleteThread(store.threadId);
        await rejection(store.addMessages([user("late")], { expectedRevision: old }), "CONFLICT");
        await rejection(store.addMessages([], { expectedRevision: old }), "CONFLICT");
        const revision = await store.addMessages([user("new")], { expectedRevision: null });
        expect(used.has(revision), "the revision after a deletion was used before").toBe(false);
        used.add(revision);
        await rejection(store.addMessages([user("late")], { expectedRevision: old }), "CONFLICT");
        const page = await others.open(store.threadId).read();
        expect(page.entries.map(({ message }) => message.content)).toEqual(["new"]);
        expect(page).toMatchObject({ revision, count: 1 });
        expect("metadata" in page, "metadata of the deleted thread").toBe(false);
        expect(page.older, "older than the first message").toBeUndefined();
      }
    });

    test("a cursor of a deleted thread finds only newer messages", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(8));
      const { newer = "", older = "" } = await store.read({ limit: 2 });
      await backend.stores().deleteThread(store.threadId);
      expect(await store.read({ after: newer })).toStrictEqual(GONE);
      expect(await store.read({ before: older })).toStrictEqual(GONE);
      await store.addMessages(numbered(12, "new"));
      expect(
        (await store.read({ after: newer, limit: 2 })).entries.map(({ message }) => message.content),
      ).toEqual(["new 1", "new 2"]);
      expect((await store.read({ after: newer })).entries).toHaveLength(12);
      for (const before of [older, newer]) expect((await store.read({ before })).entries).toEqual([]);
    });

    test("clients that have used the old thread read and write the new one", async (backend) => {
      const [one, two] = [backend.stores(), backend.otherStores()];
      const { threadId } = backend.store();
      for (let round = 0; round < 6; round++) {
        const [writer, deleter] = round % 2 ? [two, one] : [one, two];
        await writer.open(threadId).addMessages(numbered(3, `${round}`));
        await deleter.open(threadId).addMessages([user(`${round} other`)]);
        await writer.open(threadId).addMessages([user(`${round} last`)]);
        for (const stores of [one, two]) expect(await textsIn(stores.open(threadId))).toHaveLength(5);
        await deleter.deleteThread(threadId);
        expect(await writer.open(threadId).read()).toStrictEqual(GONE);
        await writer.open(threadId).addMessages([user(`${round} new`)]);
        for (const stores of [one, two])
          expect(await textsIn(stores.open(threadId)), `round ${round}`).toEqual([`${round} new`]);
        await writer.deleteThread(threadId);
      }
    });

    test("deletions aborted at any moment take effect as a whole or not at all", async (backend) => {
      const stores = backend.otherStores();
      for (let round = 0; round < 10; round++) {
        const secret = secretText();
        const store = backend.store();
        await store.commit({ append: numbered(3, secret), metadata: secret });
        const controller = new AbortController();
        const deletion = stores.deleteThread(store.threadId, { signal: controller.signal });
        const timer = setTimeout(() => controller.abort(), round / 2);
        await deletion.catch(() => rejection(deletion, "ABORTED"));
        clearTimeout(timer);
        const { entries, metadata } = await store.read();
        expect([entries.length, metadata]).toEqual(entries.length === 0 ? [0, undefined] : [3, secret]);
        await backend.stores().deleteThread(store.threadId);
        await expectGone(backend, store.threadId, [secret]);
      }
    });

    deletionRaces(test);
    expiring(test);
  },
};
