import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createStores,
  type ListThreadsOptions,
  type StoreFactory,
  type ThreadInfo,
} from "@scrollback/store-core";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import type { Clause } from "../clause.ts";
import { codecs, encrypting } from "../codecs.ts";
import { rejection } from "../errors.ts";
import { AFTER_MS } from "../lifetime.ts";
import { listAll, listIds } from "../listings.ts";
import { meanwhile } from "../meanwhile.ts";
import { numbered, user } from "../messages.ts";

/** Far below any timeout of a client, and far above what a busy machine delays a timer. */
const PROMPTLY_MS = 1_000;

/** What a prefix may end in: patterns, operators, separators, and the ends of the order of characters. */
const hostile = [
  ...[
    "%",
    "_",
    "*",
    "?",
    "[",
    "]",
    "[a-z]",
    "[^a]",
    "\\",
    "\\%",
    ":",
    "::",
    "{",
    "}",
    "{a}",
    "(",
    ")",
    "^",
    "$",
    ".",
  ],
  ...[
    ".*",
    "/",
    "//",
    "'",
    "''",
    '"',
    "`",
    ";",
    "-- ",
    "|",
    "#",
    "~",
    "!",
    " ",
    "\t",
    "\n",
    "\0",
    "\0\0",
    "\x7f",
    "\x01",
  ],
  ...[
    "a",
    "A",
    "é",
    "e\u0301",
    "è",
    "ß",
    "ÿ",
    "ż",
    "\u07ff",
    "\u0800",
    "\ud7ff",
    "\ue000",
    "\ufffd",
    "\uffff",
  ],
  ...[
    "💬",
    "💭",
    "\u{10000}",
    "\u{10ffff}",
    "\u{10ffff}\u{10ffff}",
    "\uffff\uffff",
    "$set",
    "__proto__",
    "scrollback",
  ],
];

/** A prefix that no other test's threads have. */
const ownPrefix = () => `list ${randomUUID()} `;

/** Writes one message to each thread, a few at a time. */
async function fillThreads(stores: StoreFactory, threadIds: readonly string[]): Promise<void> {
  const rest = [...threadIds];
  const work = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop())
      await stores.open(id).addMessages([user(id)]);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** So many thread ids under a prefix of their own. */
function threadIdsOf(count: number) {
  const prefix = ownPrefix();
  const ids = Array.from({ length: count }, (_, index) => prefix + String(index).padStart(4, "0"));
  return { prefix, ids };
}

/** So many threads under a prefix of their own. */
async function manyThreads(backend: Backend, count: number) {
  const { prefix, ids } = threadIdsOf(count);
  const stores = backend.stores();
  await fillThreads(stores, ids);
  return { prefix, ids, stores };
}

/** What `read` says of a thread that is listed. */
async function infoOf(stores: StoreFactory, threadId: string): Promise<Omit<ThreadInfo, "bytes">> {
  const { count, createdAt = 0, updatedAt = 0, ...page } = await stores.open(threadId).read({ limit: 0 });
  return {
    ...{ threadId, count, createdAt, updatedAt },
    ...(page.expiresAt !== undefined && { expiresAt: page.expiresAt }),
    ...("metadata" in page && { metadata: page.metadata }),
  };
}

export const listing: Clause = {
  title: "Listing",
  declare(test) {
    test("every thread is listed with what a read of it says", async (backend) => {
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
        for (const { bytes, ...info } of listed) {
          expect(info, info.threadId).toStrictEqual(await infoOf(reader, info.threadId));
          if (bytes !== undefined) expect(bytes, "bytes").toBeGreaterThan(0);
        }
      }
    });

    test("pages of any size give every thread", async (backend) => {
      const { prefix, ids, stores } = await manyThreads(backend, 23);
      for (const limit of [1, 2, 7, 22, 23, 24, 1_000])
        expect(await listIds(stores, { prefix, limit }), `pages of ${limit}`).toEqual(ids);
      expect(await listIds(stores, { prefix })).toEqual(ids);
    });

    test("300 threads come whole, at 100 a page by default, and by two clients in turn", async (backend) => {
      const { prefix, ids, stores } = await manyThreads(backend, 300);
      const others = backend.otherStores();
      expect(await listIds(stores, { prefix })).toEqual(ids);
      expect(await listIds(others, { prefix, limit: 37 })).toEqual(ids);
      let turn = 0;
      const next = () => (turn++ % 2 === 0 ? others : stores);
      expect(await listIds(stores, { prefix, limit: 29, next })).toEqual(ids);
    });

    test("a page costs a bounded number of requests, however many threads there are", async (backend) => {
      backend.requireRequests();
      const limit = 5;
      const { stores } = await manyThreads(backend, 20);
      const most = async () => {
        let requests = 0;
        let cursor: string | undefined;
        for (let pages = 0; pages < 12; pages++) {
          const options: ListThreadsOptions = { limit, ...(cursor !== undefined && { cursor }) };
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
      const look = `requests of a page of ${limit}; look at \`list\` of the driver, or of a record log at \`streams\``;
      // A few for each thread, and a few for the page.
      const bound = 4 * limit + 10;
      expect(few, look).toBeLessThanOrEqual(bound);
      expect(await most(), look).toBeLessThanOrEqual(bound);
    });

    test("a prefix is taken as it is, whatever its characters", async (backend) => {
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

    test("ids that begin with each other are each found by their own prefix", async (backend) => {
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

    test("without a prefix all threads of the factory are listed, and no others", async (backend) => {
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

    test("a thread is listed by every client as soon as its first commit has returned", async (backend) => {
      const prefix = ownPrefix();
      const [stores, others] = [backend.stores(), backend.otherStores()];
      const ids: string[] = [];
      for (let index = 0; index < 10; index++) {
        ids.push(`${prefix}${index}`);
        await (index % 2 ? others : stores).open(ids.at(-1)).addMessages(numbered(1));
        expect(await listIds(index % 2 ? stores : others, { prefix })).toEqual(ids);
      }
    });

    test("a thread that was cleared or emptied is there, and listed", async (backend) => {
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

    test("a thread that was read, refused or asked nothing of is not listed", async (backend) => {
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

    test("an expired thread is never listed, whether or not the backend has swept it", async (backend) => {
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
    });

    test("a deleted thread is listed no more, by any client, until it is written again", async (backend) => {
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

    test("threads that are there during the whole listing are on it, whatever happens meanwhile", async (backend) => {
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
          // The one that the page ended with, too: a cursor may stand on it.
          const last = threads.findLast(({ threadId }) => doomed.includes(threadId))?.threadId;
          for (const id of new Set([last, doomed[pages * 2], doomed.at(-pages)])) {
            if (id === undefined) continue;
            await stores.deleteThread(id);
            deleted.add(id);
          }
          await stores.open(stable[pages % stable.length]).addMessages(numbered(3));
          await stores.open(stable.at(-pages) ?? "").clear();
          await stores.open(`${prefix}${String(pages).padStart(4, "0")} new`).addMessages(numbered(1));
        },
      });
      expect(
        stable.filter((id) => !listed.includes(id)),
        "not listed",
      ).toEqual([]);
      expect(unwanted, "listed after their deletion").toEqual([]);
    });

    test("a thread that is being written all the time is on every listing", async (backend) => {
      const { prefix, ids, stores } = await manyThreads(backend, 12);
      const writers = backend.otherStores({ maxMessages: 2 });
      const write = async () => {
        for (let round = 0; round < 12; round++)
          await Promise.all(ids.map((id) => writers.open(id).addMessages(numbered(1, `${round}`))));
      };
      await meanwhile(write(), async () => expect(await listIds(stores, { prefix, limit: 5 })).toEqual(ids));
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

    test("metadata that cannot be read is CORRUPT; where that is reported, the threads are listed", async (backend) => {
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

    test("wrong arguments are INVALID_ARGUMENT, before any I/O", async (backend) => {
      const wrong: [string, unknown][] = [
        ...[0, -1, 1.5, 1_001, Number.NaN, Number.POSITIVE_INFINITY, "5", null].map(
          (limit): [string, unknown] => ["limit", { limit }],
        ),
        ...[5, null, "\ud800", ["a"]].map((prefix): [string, unknown] => ["prefix", { prefix }]),
        ...[5, null, "", {}].map((cursor): [string, unknown] => ["cursor", { cursor }]),
        ["signal", { signal: "stop" }],
        ["unknown option", { unknown: 1 }],
        ["options", []],
      ];
      await backend.withoutRequests(async () => {
        for (const [name, options] of wrong) {
          const list = backend.stores().listThreads(options as ListThreadsOptions);
          expect((await rejection(list, "INVALID_ARGUMENT")).message, JSON.stringify(options)).toContain(
            name,
          );
        }
      });
    });

    test("a cursor that is none is INVALID_ARGUMENT", async (backend) => {
      const { prefix, stores } = await manyThreads(backend, 4);
      const { newer = "" } = await stores.open(`${prefix}0000`).read();
      for (const cursor of [
        "none of yours",
        "💬",
        "\0",
        "../..",
        "{}",
        "%",
        "-1",
        "1.5",
        newer,
        "x".repeat(5_000),
      ]) {
        const error = await rejection(stores.listThreads({ prefix, cursor }), "INVALID_ARGUMENT");
        expect(error.message, cursor).toContain("cursor");
      }
    });

    test("iterateThreads gives the threads of all pages, and reads a page when it is needed", async (backend) => {
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
      await backend.withoutRequests(async () => {
        stores.iterateThreads({ prefix });
        const wrong = stores.iterateThreads({ limit: 0 })[Symbol.asyncIterator]();
        await rejection(wrong.next(), "INVALID_ARGUMENT");
        const placed = stores.iterateThreads({ cursor: "a" } as object)[Symbol.asyncIterator]();
        await rejection(placed.next(), "INVALID_ARGUMENT");
      });
    });

    test("an aborted signal rejects with ABORTED, in the middle of a listing too", async (backend) => {
      const { prefix, stores } = await manyThreads(backend, 12);
      await backend.withoutRequests(async () => {
        const reason = new Error("changed my mind");
        const error = await rejection(stores.listThreads({ signal: AbortSignal.abort(reason) }), "ABORTED");
        expect(error.cause).toBe(reason);
      });
      const controller = new AbortController();
      const listing = async () => {
        let seen = 0;
        for await (const _ of stores.iterateThreads({ prefix, limit: 3, signal: controller.signal })) {
          seen += 1;
          controller.abort();
        }
        return seen;
      };
      await rejection(listing(), "ABORTED");
    });

    test("an abort while the backend hangs rejects promptly", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const { prefix } = await manyThreads(backend, 3);
      const stores = createStores(connect());
      await listAll(stores, { prefix });
      proxy.set({ kind: "hang" });
      const controller = new AbortController();
      const hanging = rejection(stores.listThreads({ prefix, signal: controller.signal }), "ABORTED");
      await expect.poll(() => proxy.counters.strikes).toBeGreaterThan(0);
      const start = performance.now();
      controller.abort();
      await hanging;
      expect(performance.now() - start, "milliseconds to reject").toBeLessThan(PROMPTLY_MS);
    });

    test("an outage of a moment is ridden out, and a lasting one is no empty listing", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const { prefix, ids } = await manyThreads(backend, 8);
      const stores = createStores(connect());
      await listAll(stores, { prefix });
      proxy.set({ kind: "cut-reply", times: 1 });
      expect(await listIds(stores, { prefix, limit: 3 })).toEqual(ids);
      expect(proxy.mode.kind, "the cut struck").toBe("pass");
      proxy.set({ kind: "down" });
      await rejection(stores.listThreads({ prefix }), "UNAVAILABLE");
    });

    test("a listing of a closed factory is CLOSED", async (backend) => {
      const stores = await backend.ownStores();
      await stores.close();
      await rejection(stores.listThreads(), "CLOSED");
      await rejection(stores.iterateThreads()[Symbol.asyncIterator]().next(), "CLOSED");
    });
  },
};
