import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

export const metadata: Clause = {
  title: "Metadata",
  declare(test) {
    test("metadata is set, kept, replaced and removed by commits", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      await store.commit({ append: numbered(1), metadata: { title: "one", tags: ["a"] } });
      expect((await others.read()).metadata).toStrictEqual({ title: "one", tags: ["a"] });
      await others.addMessages(numbered(2));
      await store.popMessage();
      await store.commit({ drop: 1, metadata: undefined });
      expect((await store.read()).metadata).toStrictEqual({ title: "one", tags: ["a"] });
      await store.commit({ metadata: { title: "two" } });
      expect((await others.read()).metadata).toStrictEqual({ title: "two" });
      await store.commit({ metadata: null });
      expect("metadata" in (await others.read())).toBe(false);
      await store.commit({ metadata: null });
      expect("metadata" in (await store.read())).toBe(false);
    });

    test("metadata is kept by trimming, drop: all and replaceMessages, and removed by clear", async (backend) => {
      const store = backend.store({ maxMessages: 2 });
      await store.commit({ append: numbered(2), metadata: "kept" });
      for (const write of [
        () => store.addMessages(numbered(5)),
        () => store.commit({ drop: "all" }),
        () => store.replaceMessages(numbered(3)),
        () => store.replaceMessages([]),
        () => store.commit({ drop: 99 }),
      ]) {
        await write();
        expect((await store.read()).metadata).toBe("kept");
      }
      await store.clear();
      expect("metadata" in (await store.read())).toBe(false);
      await store.addMessages(numbered(1));
      expect("metadata" in (await store.read())).toBe(false);
    });

    test("metadata can be any value except null and undefined", async (backend) => {
      const store = backend.store();
      for (const value of [
        ...[0, -0, "", false, Number.NaN, [], {}],
        [null],
        [undefined],
        0n,
        new Date(0),
        new Map([["a.b", 1n]]),
        "null",
      ]) {
        await store.commit({ metadata: value });
        const page = await store.read();
        expect("metadata" in page).toBe(true);
        expect(page.metadata).toStrictEqual(value);
      }
    });

    test("a thread can have metadata and no messages", async (backend) => {
      const store = backend.store();
      const revision = await store.commit({ metadata: { owner: "ada" } }, { expectedRevision: null });
      expect(revision).not.toBeNull();
      const page = { entries: [], count: 0, revision, metadata: { owner: "ada" } };
      const times = { createdAt: expect.any(Number), updatedAt: expect.any(Number) };
      expect(await store.read()).toStrictEqual({ ...page, ...times });
      await rejection(store.commit({ metadata: 1 }, { expectedRevision: null }), "CONFLICT");
      await store.addMessages([user("a")], { expectedRevision: revision });
      await store.popMessage();
      expect((await store.read()).metadata).toStrictEqual({ owner: "ada" });
    });

    test("every read returns metadata, for any page and any limit", async (backend) => {
      const store = backend.store();
      await store.commit({ append: numbered(6), metadata: "title" });
      const newest = await store.read({ limit: 2 });
      const nothing = await store.read({ limit: 0 });
      const older = await store.read({ limit: 2, before: newest.older ?? "" });
      const end = await store.read({ after: newest.newer ?? "" });
      for (const page of [newest, nothing, older, end]) {
        expect(page.metadata).toBe("title");
        expect(page.revision).toBe(newest.revision);
      }
    });

    test("a read returns metadata of its revision, during concurrent writes", async (backend) => {
      const store = backend.store();
      const reader = backend.otherStores().open(store.threadId);
      const set = new Map<string | null, unknown>([[null, undefined]]);
      const seen: { revision: string | null; metadata?: unknown; count: number }[] = [];
      const write = async () => {
        for (let round = 1; round <= 30; round++) {
          const metadata = round % 5 === 0 ? null : { round };
          const revision = await store.commit({ append: [user(`${round}`)], metadata });
          set.set(revision, metadata ?? undefined);
        }
      };
      const readers = [1, 50].map((limit) => async () => {
        const { revision, entries, metadata } = await reader.read({ limit });
        seen.push({ revision, metadata, count: Number(entries.at(-1)?.message.content ?? 0) });
      });
      await meanwhile(write(), ...readers);
      for (const { revision, metadata, count } of seen) {
        expect(set.has(revision), "a revision that a commit returned").toBe(true);
        expect(metadata).toStrictEqual(set.get(revision));
        expect(metadata).toStrictEqual(count === 0 || count % 5 === 0 ? undefined : { round: count });
      }
    });

    test("metadata is set with the rest of its commit or not at all", async (backend) => {
      const store = backend.store();
      const first = await store.commit({ append: numbered(1), metadata: "one" });
      await rejection(
        store.commit({ append: [user("b")], metadata: "two" }, { expectedRevision: null }),
        "CONFLICT",
      );
      await rejection(
        store.commit({ append: [{ role: "user" } as never], metadata: "two" }),
        "INVALID_ARGUMENT",
      );
      expect(await store.read()).toMatchObject({ revision: first, metadata: "one" });
      await store.commit({ drop: "all", append: [user("c")], metadata: null }, { expectedRevision: first });
      expect(await textsIn(store)).toEqual(["c"]);
      expect("metadata" in (await store.read())).toBe(false);
    });
  },
};
