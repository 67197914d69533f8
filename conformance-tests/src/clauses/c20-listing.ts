import type { StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import { fillThreads, listAll, listIds, manyThreads, ownPrefix, threadIdsOf } from "../checks/listings.ts";
import type { Clause } from "../clause.ts";
import { codecs, encrypting } from "../messages/codecs.ts";
import { numbered, user } from "../messages/messages.ts";
import { changingListings } from "./c20-listing-changes.ts";

/** Endings of a prefix: patterns, operators, separators, and the first and last characters of sort orders. */
const hostile = [
  ..."% _ * ? [ ] [a-z] [^a] \\ \\% : :: { } {a} ( ) ^ $ . .* / // ' '' \" ` ; -- | # ~ ! a A é è ß ÿ ż 💬 💭".split(
    " ",
  ),
  ...[
    ...[" ", "\t", "\n", "\0", "\0\0", "\x01", "\x7f", "e\u0301", "\u07ff", "\u0800", "\ud7ff", "\ue000"],
    "\ufffd",
  ],
  ...[
    ...["\uffff", "\uffff\uffff", "\u{10000}", "\u{10ffff}", "\u{10ffff}\u{10ffff}", "$set", "__proto__"],
    "scrollback",
  ],
];

/** The fields of `read` that a listing also returns. */
async function infoOf(stores: StoreFactory, threadId: string): Promise<ThreadInfo> {
  const { count, createdAt = 0, updatedAt = 0, ...page } = await stores.open(threadId).read({ limit: 0 });
  return {
    ...{ threadId, count, createdAt, updatedAt },
    ...(page.expiresAt !== undefined && { expiresAt: page.expiresAt }),
    ...("metadata" in page && { metadata: page.metadata }),
  };
}

export const listing: Clause = {
  title: "Listing",
  timeoutMs: 120_000,
  declare(test) {
    test("every thread is listed with the values that a read returns", async (backend) => {
      const prefix = ownPrefix();
      const stores = backend.stores();
      const ids = ["one", "batch", "metadata", "only metadata", "times", "trimmed"].map(
        (name) => prefix + name,
      );
      const [one = "", batch = "", metadata = "", only = "", times = "", trimmed = ""] = ids;
      await stores.open(one).addMessages([user("a")]);
      await stores.open(batch).addMessages(numbered(40));
      await stores
        .open(metadata)
        .commit({ append: numbered(2), metadata: { title: "trams", at: new Date(0) } });
      await stores.open(only).commit({ metadata: "alone" });
      await stores.open(times).addMessages(numbered(1), { createdAt: 1_000 });
      await stores.open(times).addMessages(numbered(2), { createdAt: 500 });
      await backend.stores({ maxMessages: 3 }).open(trimmed).addMessages(numbered(10));
      if (backend.driver.capabilities.expiry) {
        ids.push(`${prefix}brief`);
        await backend.stores({ ttlMs: 3_600_000 }).open(`${prefix}brief`).addMessages(numbered(3));
      }
      for (const reader of [stores, backend.otherStores()]) {
        const listed = await listAll(reader, { prefix });
        expect(listed.map(({ threadId }) => threadId).sort()).toEqual(ids.toSorted());
        for (const info of listed)
          expect(info, info.threadId).toStrictEqual(await infoOf(reader, info.threadId));
        const sized = await listAll(reader, { prefix, sizes: true });
        const bytes = new Map(sized.map((info) => [info.threadId, info.bytes]));
        for (const { bytes: size, ...info } of sized) {
          expect(listed).toContainEqual(info);
          // All threads have a size, or none.
          expect(typeof size).toBe(typeof bytes.get(one));
          if (size !== undefined) expect(size, info.threadId).toBeGreaterThan("alone".length);
        }
        // The records of 40 messages are larger than those of 3 and of 1.
        const [large = 3, middle = 2, small = 1] = [batch, trimmed, one].map((id) => bytes.get(id));
        expect(large > middle && middle > small, `${large}, ${middle}, ${small} bytes`).toBe(true);
      }
    });

    test("pages of any size list every thread", async (backend) => {
      const { prefix, ids, stores } = await manyThreads(backend, 23);
      for (const limit of [1, 2, 7, 22, 23, 24, 1_000])
        expect(await listIds(stores, { prefix, limit }), `pages of ${limit}`).toEqual(ids);
      expect(await listIds(stores, { prefix })).toEqual(ids);
    });

    test("300 threads are listed completely, 100 a page by default, also by two clients in turn", async (backend) => {
      const { prefix, ids, stores } = await manyThreads(backend, 300);
      const others = backend.otherStores();
      expect(await listIds(stores, { prefix })).toEqual(ids);
      expect(await listIds(others, { prefix, limit: 37 })).toEqual(ids);
      let turn = 0;
      const next = () => (turn++ % 2 === 0 ? others : stores);
      expect(await listIds(stores, { prefix, limit: 29, next })).toEqual(ids);
    });

    test("a page takes a bounded number of requests at any number of threads", async (backend) => {
      backend.requireRequests();
      const limit = 5;
      const { stores } = await manyThreads(backend, 20);
      const most = async () => {
        let requests = 0;
        let cursor: string | undefined;
        for (let pages = 0; pages < 12; pages++) {
          const options = { limit, ...(cursor !== undefined && { cursor }) };
          const sent = await backend.requestsOf(async () => {
            cursor = (await stores.listThreads(options)).cursor;
          });
          requests = Math.max(requests, sent ?? 0);
          if (cursor === undefined) break;
        }
        return requests;
      };
      const few = await most();
      const { ids } = threadIdsOf(280);
      await fillThreads(stores, ids);
      const look = `requests of a page of ${limit}; look at \`list\` of the driver`;
      // A few for each thread, and a few for the page.
      const bound = 4 * limit + 10;
      expect(few, look).toBeLessThanOrEqual(bound);
      expect(await most(), look).toBeLessThanOrEqual(bound);
    });

    test("a prefix is literal, with any characters", async (backend) => {
      const base = ownPrefix();
      const ids = [
        ...new Set([
          base,
          ...hostile.flatMap((end) => [`${base}${end}`, `${base}${end}x`, `${base}x${end}`]),
        ]),
      ];
      const stores = backend.stores();
      await fillThreads(stores, ids);
      const others = backend.otherStores();
      for (const prefix of [base, base.slice(0, -1), ...hostile.map((end) => base + end), `${base}x%`]) {
        const expected = ids.filter((id) => id.startsWith(prefix)).sort();
        expect(await listIds(others, { prefix }), JSON.stringify(prefix)).toEqual(expected);
      }
      for (const prefix of [
        `${base}%x%`,
        `${base}no`,
        `${base}\u{10ffff}\u{10ffff}\u{10ffff}`,
        base.toUpperCase(),
      ])
        expect(await listIds(others, { prefix }), JSON.stringify(prefix)).toEqual([]);
    });

    test("ids that are prefixes of each other are each found by their own prefix", async (backend) => {
      const base = ownPrefix();
      const longest = base + "l".repeat(1_024 - base.length);
      const ids = [base, `${base}a`, `${base}aa`, `${base}aaa`, `${base}aab`, `${base}b`, longest];
      const stores = backend.stores();
      await fillThreads(stores, ids);
      for (const prefix of ids)
        for (const limit of [1, 3, 100])
          expect(await listIds(stores, { prefix, limit }), prefix).toEqual(
            ids.filter((id) => id.startsWith(prefix)).sort(),
          );
      expect(await listIds(stores, { prefix: `${longest}l` }), "a prefix longer than any id").toEqual([]);
    });

    test("without a prefix exactly the threads of the factory are listed", async (backend) => {
      const [one, two] = [await backend.freshHarness(), await backend.freshHarness()];
      const [ones, twos] = [createStores(one.driver), createStores(two.driver)];
      expect(await listIds(ones)).toEqual([]);
      await fillThreads(ones, ["both", "one", "one:two", "💬"]);
      await fillThreads(twos, ["both", "two"]);
      expect(await listIds(ones)).toEqual(["both", "one", "one:two", "💬"].sort());
      expect(await listIds(ones, { prefix: "" })).toEqual(["both", "one", "one:two", "💬"].sort());
      expect(await listIds(twos)).toEqual(["both", "two"]);
      await twos.deleteThread("both");
      expect(await listIds(ones, { prefix: "both" })).toEqual(["both"]);
    });

    test("a thread that was cleared or emptied is listed", async (backend) => {
      const prefix = ownPrefix();
      const stores = backend.stores();
      const cleared = stores.open(`${prefix}cleared`);
      await cleared.commit({ append: numbered(3), metadata: "title" });
      await cleared.clear();
      const popped = stores.open(`${prefix}popped`);
      await popped.addMessages(numbered(1));
      await popped.popMessage();
      const emptied = stores.open(`${prefix}emptied`);
      await emptied.commit({ append: numbered(3), metadata: "title" });
      await emptied.replaceMessages([]);
      const listed = await listAll(stores, { prefix });
      const shown = listed.map(({ threadId, count, metadata }) => [
        threadId.slice(prefix.length),
        count,
        metadata,
      ]);
      expect(shown.sort()).toEqual([
        ["cleared", 0, undefined],
        ["emptied", 0, "title"],
        ["popped", 0, undefined],
      ]);
    });

    test("a thread that was opened, read or refused a write is not listed", async (backend) => {
      const prefix = ownPrefix();
      const store = backend.stores().open(`${prefix}none`);
      await store.read();
      await store.addMessages([]);
      await store.popMessage();
      await store.expire(null);
      await rejection(store.addMessages([user("a")], { expectedRevision: "other.1" }), "CONFLICT");
      await backend.stores().deleteThread(store.threadId);
      expect(await listIds(backend.stores(), { prefix })).toEqual([]);
    });

    test("metadata is read with the factory's codec", async (backend) => {
      const prefix = ownPrefix();
      for (const [name, codec] of Object.entries(codecs)) {
        const stores = backend.stores({ codec });
        const metadata = { title: name, tags: new Set(["a"]), at: new Date(0) };
        await stores.open(`${prefix}${name}.`).commit({ append: numbered(1), metadata });
        const listed = await listAll(backend.otherStores({ codec }), { prefix: `${prefix}${name}.` });
        expect(listed.map((thread) => thread.metadata)).toStrictEqual([metadata]);
      }
    });

    test("damaged metadata fails a listing with CORRUPT; with onCorruptRecord the threads are listed", async (backend) => {
      const prefix = ownPrefix();
      const plain = backend.stores();
      await plain.open(`${prefix}plain`).commit({ append: numbered(2), metadata: "title" });
      const sealed = backend.stores({ codec: encrypting("other-key") });
      await sealed.open(`${prefix}sealed`).commit({ append: numbered(1), metadata: "secret title" });
      const error = await rejection(listAll(plain, { prefix }), "CORRUPT");
      expect(error.message).toContain(`${prefix}sealed`);
      expect(error.message).not.toContain("secret");
      const reported: string[] = [];
      const lenient = backend.stores({ onCorruptRecord: ({ code }) => reported.push(code) });
      const listed = await listAll(lenient, { prefix });
      expect(reported).toEqual(["CORRUPT"]);
      expect(listed.map(({ threadId, count, metadata }) => [threadId, count, metadata]).sort()).toEqual([
        [`${prefix}plain`, 2, "title"],
        [`${prefix}sealed`, 1, undefined],
      ]);
    });

    changingListings(test);
  },
};
