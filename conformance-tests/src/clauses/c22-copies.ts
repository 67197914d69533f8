import { randomUUID } from "node:crypto";
import { createMemoryStores } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { exampleThread, expectCopy, LONG, longThread, storesWithLimits } from "../checks/copies.ts";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { encrypting } from "../messages/codecs.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import { resumedCopies } from "./c22-resumed-copies.ts";

export const copies: Clause = {
  title: "Copies",
  timeoutMs: 120_000,
  declare(test) {
    test("a copy has the messages, their times, the thread's times and the metadata", async (backend) => {
      const stores = backend.stores();
      const from = await exampleThread(stores);
      const before = await stores.open(from).read();
      const to = randomUUID();
      const { copied, revision } = await stores.copyThread(from, to);
      expect(copied).toBe(5);
      await expectCopy(stores, from, backend.otherStores(), to);
      expect((await stores.open(to).read()).revision).toBe(revision);
      expect(await stores.open(from).read()).toStrictEqual(before);
      // The two threads are independent.
      await stores.open(to).addMessages([user("only in the copy")], { expectedRevision: revision });
      expect(await stores.open(from).read()).toStrictEqual(before);
    });

    test("a thread is copied to another factory, to another backend, and back", async (backend) => {
      const stores = backend.stores();
      const from = await exampleThread(stores);
      const elsewhere = createStores((await backend.freshHarness()).driver);
      await stores.copyThread(from, from, { target: elsewhere });
      await expectCopy(stores, from, elsewhere, from);
      await using memory = createMemoryStores();
      await stores.copyThread(from, "in memory", { target: memory });
      await expectCopy(stores, from, memory, "in memory");
      const back = randomUUID();
      await memory.copyThread("in memory", back, { target: stores });
      await expectCopy(stores, from, backend.otherStores(), back);
    });

    test("a long thread is copied as a whole, to another backend and back", async (backend) => {
      const stores = backend.stores();
      const from = await longThread(stores);
      await using memory = createMemoryStores();
      expect((await stores.copyThread(from, "long", { target: memory })).copied).toBe(LONG);
      await expectCopy(stores, from, memory, "long");
      const to = randomUUID();
      expect((await memory.copyThread("long", to, { target: stores })).copied).toBe(LONG);
      await expectCopy(memory, "long", backend.otherStores(), to);
    });

    test("upTo is the last message of the copy", async (backend) => {
      const stores = backend.stores();
      const from = await longThread(stores);
      const source = stores.open(from);
      let before: string | undefined;
      for (const [limit, end] of [
        [0, LONG],
        [3, LONG],
        [30, LONG - 3],
        [600, LONG - 33],
        [LONG - 634, 1],
      ] as const) {
        const page = await source.read({ limit, ...(before !== undefined && { before }) });
        const upTo = page.newer ?? "";
        const length = end === 1 ? LONG - 633 : end;
        const to = randomUUID();
        const totals = new Set<number>();
        const onProgress = ({ total }: { total: number }) => totals.add(total);
        expect((await stores.copyThread(from, to, { upTo, onProgress })).copied).toBe(length);
        expect([...totals]).toEqual([length]);
        expect(await textsIn(stores.open(to))).toEqual(numbered(length).map(({ content }) => content));
        expect((await stores.open(to).read({ limit: 0 })).metadata).toStrictEqual({ title: "long" });
        if (limit > 0) before = page.older;
      }
    });

    test("a target with other content fails with CONFLICT and does not change", async (backend) => {
      const stores = backend.stores();
      const from = await exampleThread(stores);
      for (const change of [
        { append: numbered(2) },
        { metadata: "title" },
        { append: numbered(2), metadata: 1 },
      ]) {
        const target = stores.open();
        await target.commit(change);
        const before = await target.read();
        await rejection(stores.copyThread(from, target.threadId), "CONFLICT");
        expect(await target.read()).toStrictEqual(before);
      }
      // A copy of another thread is content of another origin, and so is a copy of the same thread with another end.
      const to = randomUUID();
      const { revision } = await stores.copyThread(from, to);
      await rejection(stores.copyThread(await exampleThread(stores), to), "CONFLICT");
      const upTo = (await stores.open(from).read({ limit: 1 })).older ?? "";
      await rejection(stores.copyThread(from, to, { upTo }), "CONFLICT");
      expect((await stores.open(to).read()).revision).toBe(revision);
    });

    test("repeating a finished copy does nothing", async (backend) => {
      const stores = backend.stores();
      for (const make of [exampleThread, longThread]) {
        const from = await make(stores);
        const to = randomUUID();
        const first = await stores.copyThread(from, to);
        for (const again of [stores, backend.otherStores()])
          expect(await again.copyThread(from, to)).toEqual({ copied: 0, revision: first.revision });
        await expectCopy(stores, from, stores, to);
        // Also after either thread has continued.
        await stores.open(from).addMessages([user("only in the source")]);
        const gone = await stores.open(to).addMessages([user("only in the copy")]);
        expect((await stores.copyThread(from, to)).copied).toBe(0);
        expect((await stores.open(to).read({ limit: 0 })).revision).toBe(gone);
      }
    });

    test("a missing source does not change the target; an empty one makes an empty thread", async (backend) => {
      const stores = backend.stores();
      const to = randomUUID();
      expect(await stores.copyThread(randomUUID(), to)).toEqual({ copied: 0, revision: null });
      expect(await stores.open(to).read()).toStrictEqual({ entries: [], revision: null, count: 0 });
      const empty = stores.open();
      await empty.addMessages(numbered(2), { createdAt: 1_000 });
      await empty.clear({ createdAt: 2_000 });
      expect((await stores.copyThread(empty.threadId, to)).copied).toBe(0);
      await expectCopy(stores, empty.threadId, stores, to);
      const titled = stores.open();
      await titled.commit({ metadata: "title" });
      const other = randomUUID();
      await stores.copyThread(titled.threadId, other);
      await expectCopy(stores, titled.threadId, stores, other);
    });

    test("messages of several MiB are copied", async (backend) => {
      const stores = backend.stores();
      const store = stores.open();
      const texts = Array.from({ length: 3 }, (_, index) => `${index}${"x".repeat(3 * 1024 ** 2 - 100)}`);
      for (const text of texts) await store.addMessages([user(text)]);
      const to = randomUUID();
      await stores.copyThread(store.threadId, to);
      expect(await textsIn(backend.otherStores().open(to))).toEqual(texts);
    });

    test("a copy is written with the target's codec", async (backend) => {
      const zipped = backend.stores({ codec: gzipCodec() });
      const sealed = backend.stores({ codec: encrypting() });
      const from = await exampleThread(zipped);
      const to = randomUUID();
      await zipped.copyThread(from, to, { target: sealed });
      await expectCopy(zipped, from, sealed, to);
      await rejection(
        backend
          .stores({ codec: encrypting("other") })
          .open(to)
          .read(),
        "CORRUPT",
      );
      expect(await backend.harness.raw.dump(to)).not.toContain("rules");
      const back = randomUUID();
      await sealed.copyThread(to, back, { target: zipped });
      await expectCopy(zipped, from, zipped, back);
    });

    test("a copy has the expiry and the trimming of the target", async (backend) => {
      const { expiry } = backend.driver.capabilities;
      const brief = backend.stores(expiry ? { ttlMs: 3_600_000 } : {});
      const from = await longThread(brief, 20);
      const stores = backend.stores();
      const to = randomUUID();
      await brief.copyThread(from, to, { target: stores });
      expect("expiresAt" in (await stores.open(to).read())).toBe(false);
      const trimmed = randomUUID();
      const target = backend.stores({ maxMessages: 3, ...(expiry && { ttlMs: 3_600_000 }) });
      await stores.copyThread(to, trimmed, { target });
      const page = await stores.open(trimmed).read();
      expect(page.entries.map(({ message }) => message.content)).toEqual([
        "message 18",
        "message 19",
        "message 20",
      ]);
      expect(page.entries.map(({ createdAt }) => createdAt)).toEqual([1, 1, 1]);
      expect("expiresAt" in page).toBe(expiry);
    });

    test("progress is reported after each commit, at last with all messages", async (backend) => {
      const stores = backend.stores();
      for (const [count, commits] of [
        [1, 1],
        [500, 1],
        [LONG, 2],
      ] as const) {
        const seen: { copied: number; total: number }[] = [];
        const from = await longThread(stores, count);
        const to = randomUUID();
        const onProgress = (progress: { copied: number; total: number }) => seen.push(progress);
        await stores.copyThread(from, to, { onProgress });
        expect(seen.length, "commits").toBeGreaterThanOrEqual(commits);
        expect(seen.at(-1)).toEqual({ copied: count, total: count });
        expect(seen.map(({ copied }) => copied)).toEqual(
          seen.map(({ copied }) => copied).sort((a, b) => a - b),
        );
      }
    });

    test("a copy of a source that is being written is an earlier state of it, without gaps", async (backend) => {
      const stores = storesWithLimits(backend.driver, { maxCommitMessages: 20 });
      const from = await longThread(backend.stores(), 100);
      const source = backend.otherStores().open(from);
      const to = randomUUID();
      const write = async () => {
        for (let number = 101; number <= 140; number++)
          await source.addMessages(numbered(1, "message", number));
      };
      await Promise.all([write(), stores.copyThread(from, to)]);
      const texts = await textsIn(stores.open(to));
      expect(texts.length).toBeGreaterThanOrEqual(100);
      expect(texts).toEqual(numbered(texts.length).map(({ content }) => content));
    });

    test("a damaged record of the source fails the copy with CORRUPT; with onCorruptRecord it is left out", async (backend) => {
      const stores = backend.stores();
      const store = stores.open();
      await store.addMessages(numbered(5));
      const sequence = (await store.read()).entries[2]?.sequence ?? 0;
      await backend.harness.raw.plant(store.threadId, sequence, {
        kind: "u",
        createdAt: 1_000,
        text: "garbage",
      });
      const to = randomUUID();
      await rejection(stores.copyThread(store.threadId, to), "CORRUPT");
      expect((await stores.open(to).read()).revision).toBeNull();
      const reported: (number | undefined)[] = [];
      const lenient = backend.stores({ onCorruptRecord: (error) => reported.push(error.sequence) });
      await lenient.copyThread(store.threadId, to);
      expect(new Set(reported)).toEqual(new Set([sequence]));
      expect(await textsIn(stores.open(to))).toEqual(["message 1", "message 2", "message 4", "message 5"]);
    });

    test("a deleted target can be copied to again, and a new source is a different one", async (backend) => {
      const stores = backend.stores();
      const from = await exampleThread(stores);
      const to = randomUUID();
      await stores.copyThread(from, to);
      await stores.deleteThread(from);
      await stores.open(from).addMessages([user("a new thread")]);
      await rejection(stores.copyThread(from, to), "CONFLICT");
      await stores.deleteThread(to);
      await stores.copyThread(from, to);
      await expectCopy(stores, from, stores, to);
    });

    test("a copy to a closed factory, and by one, rejects with CLOSED", async (backend) => {
      const stores = backend.stores();
      const closed = await backend.ownStores();
      await closed.close();
      await rejection(stores.copyThread("from", "to", { target: closed }), "CLOSED");
      await rejection(closed.copyThread("from", "to", { target: stores }), "CLOSED");
    });

    resumedCopies(test);
  },
};
