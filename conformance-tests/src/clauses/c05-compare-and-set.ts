import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

export const compareAndSet: Clause = {
  title: "Compare and set",
  declare(test) {
    test("a commit applies at the expected revision; otherwise it fails with CONFLICT and changes nothing", async (backend) => {
      const store = backend.store();
      const first = await store.addMessages(numbered(2));
      const second = await store.addMessages([user("b")], { expectedRevision: first });
      const before = await store.read();
      expect(before.revision).toBe(second);
      for (const write of [
        () => store.addMessages([user("c")], { expectedRevision: first }),
        () => store.commit({ metadata: "c" }, { expectedRevision: first }),
        () => store.commit({ drop: 1 }, { expectedRevision: first }),
        () => store.replaceMessages([user("c")], { expectedRevision: first }),
        () => store.clear({ expectedRevision: first }),
        () => store.addMessages([user("c")], { expectedRevision: null }),
        () => store.addMessages([user("c")], { expectedRevision: "no revision of this thread" }),
        () => store.addMessages([user("c")], { expectedRevision: `${second} ` }),
      ]) {
        expect((await rejection(write(), "CONFLICT")).message).toContain("expectedRevision");
      }
      expect(await store.read()).toStrictEqual(before);
      await store.clear({ expectedRevision: second });
      expect(await store.listMessages()).toEqual([]);
    });

    test("null means: only if the thread was never written", async (backend) => {
      const store = backend.store();
      expect((await store.read()).revision).toBeNull();
      await rejection(store.addMessages([user("a")], { expectedRevision: "some.1" }), "CONFLICT");
      await store.addMessages([user("a")], { expectedRevision: null });
      await rejection(store.addMessages([user("b")], { expectedRevision: null }), "CONFLICT");
      await store.clear();
      await rejection(store.addMessages([user("c")], { expectedRevision: null }), "CONFLICT");
      expect(await store.listMessages()).toEqual([]);
    });

    test(
      "null applies again after the thread has expired",
      async (backend) => {
        backend.requireExpiry();
        const store = backend.store({ ttlMs: 100 });
        await store.addMessages([user("a")], { expectedRevision: null });
        await sleep(250);
        // Without a ttl: a slow backend may need longer to read it than the ttl of the first thread.
        const lasting = backend.stores().open(store.threadId);
        await lasting.addMessages([user("b")], { expectedRevision: null });
        expect(await textsIn(lasting)).toEqual(["b"]);
      },
      { concurrent: true },
    );

    test("a write returns the revision that every client reads next", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      for (const write of [
        () => store.addMessages(numbered(3)),
        () => store.commit({ metadata: 1 }),
        () => store.commit({ drop: 1 }),
        () => store.replaceMessages(numbered(2)),
        () => store.clear(),
      ]) {
        const revision = await write();
        expect(typeof revision).toBe("string");
        expect((await store.read()).revision).toBe(revision);
        expect((await others.read({ limit: 0 })).revision).toBe(revision);
      }
    });

    test("every commit changes the revision, and no revision is repeated, not even after clear", async (backend) => {
      const store = backend.store();
      const revisions: (string | null)[] = [(await store.read()).revision];
      for (let round = 0; round < 6; round++) {
        revisions.push(await store.addMessages(numbered(2)));
        revisions.push(await store.addMessages(numbered(2)));
        revisions.push(await store.commit({ drop: 1 }));
        revisions.push(await store.commit({ metadata: "same" }));
        await store.popMessage();
        revisions.push((await store.read()).revision);
        revisions.push(await store.replaceMessages(numbered(1)));
        revisions.push(await store.clear());
        revisions.push(await store.clear());
      }
      expect(new Set(revisions).size).toBe(revisions.length);
    });

    test(
      "no revision is repeated after the thread has expired",
      async (backend) => {
        backend.requireExpiry();
        const store = backend.store({ ttlMs: 100 });
        const revisions: (string | null)[] = [];
        for (let round = 0; round < 3; round++) {
          for (let write = 0; write < 3; write++) revisions.push(await store.addMessages([user("a")]));
          await sleep(250);
        }
        expect(new Set(revisions).size).toBe(9);
        const stale = { expectedRevision: revisions[0] ?? null };
        await rejection(store.addMessages([user("b")], stale), "CONFLICT");
      },
      { concurrent: true },
    );

    test("exactly one of several racing writers wins", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      let expectedRevision: string | null = null;
      const winners: string[] = [];
      for (let round = 0; round < 12; round++) {
        const outcomes = await Promise.allSettled(
          [store, others, store, others, store, others].map((one, writer) =>
            one.addMessages([user(`${round} by ${writer}`)], { expectedRevision }),
          ),
        );
        const won = outcomes.flatMap((outcome, writer) => (outcome.status === "fulfilled" ? [writer] : []));
        expect(won, `winners of round ${round}`).toHaveLength(1);
        for (const outcome of outcomes) {
          if (outcome.status === "fulfilled") expectedRevision = outcome.value;
          else expect(StoreError.is(outcome.reason, "CONFLICT"), String(outcome.reason)).toBe(true);
        }
        winners.push(`${round} by ${won[0]}`);
        expect((await others.read()).revision).toBe(expectedRevision);
      }
      expect(await textsIn(store)).toEqual(winners);
    });

    test("popMessage removes each message once, newest first", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(3));
      expect(await store.popMessage()).toStrictEqual(user("message 3"));
      expect(await store.popMessage()).toStrictEqual(user("message 2"));
      expect(await textsIn(store)).toEqual(["message 1"]);
      await store.popMessage();
      const before = await store.read();
      expect(await store.popMessage()).toBeUndefined();
      expect(await store.read()).toStrictEqual(before);
      expect(await backend.store().popMessage()).toBeUndefined();
    });

    test("racing pops remove each message once", async (backend) => {
      const { threadId } = backend.store();
      await backend.stores().open(threadId).addMessages(numbered(24));
      const clients = [backend.stores(), backend.otherStores(), backend.stores()];
      const taken = await Promise.all(
        clients.map(async (stores) => {
          const store = stores.open(threadId);
          const own: unknown[] = [];
          for (let next = await store.popMessage(); next; next = await store.popMessage())
            own.push(next.content);
          return own;
        }),
      );
      expect(taken.flat()).toHaveLength(24);
      expect(new Set(taken.flat()).size).toBe(24);
    });

    test("an empty change writes nothing and returns the current revision", async (backend) => {
      const store = backend.store();
      const nothing = [
        () => store.addMessages([]),
        () => store.commit({}),
        () => store.commit({ drop: 0 }),
        () => store.commit({ drop: 0, append: [], metadata: undefined }),
      ];
      for (const write of nothing) expect(await write()).toBeNull();
      expect((await store.read()).revision).toBeNull();
      const revision = await store.addMessages([user("a")]);
      for (const write of nothing) expect(await write()).toBe(revision);
      expect((await store.read()).revision).toBe(revision);
      expect(await store.addMessages([], { expectedRevision: revision })).toBe(revision);
      await rejection(store.addMessages([], { expectedRevision: null }), "CONFLICT");
    });

    test("dropping more messages than the thread has drops all of them", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(3));
      await store.commit({ drop: 7, append: [user("a")] });
      expect(await textsIn(store)).toEqual(["a"]);
    });
  },
};
