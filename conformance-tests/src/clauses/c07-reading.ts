// Exceeds 300 lines because it holds all tests of one clause, in the order in which the matrices list them.
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage, MessageStore } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, system, textsIn, textsOf, user } from "../messages/messages.ts";

const LONG = 5_000;

/** Fills a thread in a few commits, as fast as the backend allows. */
async function fill(store: MessageStore, count: number): Promise<void> {
  for (let from = 1; from <= count; from += 1_000) {
    await store.addMessages(numbered(Math.min(1_000, count - from + 1), "message", from));
  }
}

const textsOfPage = (page: { entries: { message: ChatMessage }[] }) =>
  textsOf(page.entries.map(({ message }) => message));

/** All pages, read from the newest back to the beginning of the thread, oldest message first. */
async function readBackwards(
  store: MessageStore,
  limit: number,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  let page = await store.read({ limit });
  const texts = textsOfPage(page);
  while (page.older !== undefined) {
    await between();
    page = await store.read({ limit, before: page.older });
    expect(page.entries.length, "messages of an older page").toBeGreaterThan(0);
    texts.unshift(...textsOfPage(page));
    // Without this, a broken backend would page forever.
    expect(texts.length).toBeLessThanOrEqual(LONG);
  }
  return texts;
}

export const reading: Clause = {
  title: "Reading",
  declare(test) {
    test("listMessages returns the whole thread or the newest messages, oldest first", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(12));
      const all = textsOf(numbered(12));
      expect(await textsIn(store)).toEqual(all);
      for (const limit of [1, 2, 5, 11, 12, 13, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        expect(await textsIn(store, limit)).toEqual(all.slice(-limit));
      }
      expect(await textsIn(store, 0)).toEqual([]);
    });

    test("an unknown thread is empty and has no revision", async (backend) => {
      const store = backend.store();
      for (const limit of [undefined, 0, 1, 50]) {
        expect(await textsIn(store, limit)).toEqual([]);
        const page = await store.read(limit === undefined ? {} : { limit });
        expect(page).toStrictEqual({ entries: [], revision: null, count: 0 });
      }
    });

    test("paging backwards from the end covers the thread, and older is absent on the first page", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(10));
      const all = textsOf(numbered(10));
      for (const limit of [1, 3, 5, 10]) {
        expect(await readBackwards(store, limit), `pages of ${limit}`).toEqual(all);
      }
      const whole = await store.read();
      expect(whole.older).toBeUndefined();
      expect("older" in whole).toBe(false);
      expect((await store.read({ limit: 10 })).older).toBeUndefined();
      expect((await store.read({ limit: 9 })).older).toBeDefined();
    });

    test("newer is on every page of a thread that has messages", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(4));
      const newest = await store.read({ limit: 2 });
      const oldest = await store.read({ limit: 2, before: newest.older ?? "" });
      const nothing = await store.read({ limit: 0 });
      const end = await store.read({ after: newest.newer ?? "" });
      for (const page of [newest, oldest, nothing, end]) expect(typeof page.newer).toBe("string");
      expect(end.entries).toEqual([]);
      expect(nothing.entries).toEqual([]);
      expect(textsOfPage(await store.read({ after: oldest.newer ?? "" }))).toEqual(textsOfPage(newest));
      expect(textsOfPage(await store.read({ before: end.older ?? "" }))).toEqual(textsOf(numbered(4)));
      expect(textsOfPage(await store.read({ before: nothing.older ?? "" }))).toEqual(textsOf(numbered(4)));
    });

    test("after returns newer messages, with a limit the oldest of them", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(10));
      const { older } = await store.read({ limit: 9 });
      const first = await store.read({ before: older ?? "" });
      const middle = await store.read({ after: first.newer ?? "", limit: 3 });
      expect(textsOfPage(middle)).toEqual(["message 2", "message 3", "message 4"]);
      const next = await store.read({ after: middle.newer ?? "", limit: 3 });
      expect(textsOfPage(next)).toEqual(["message 5", "message 6", "message 7"]);
      expect(textsOfPage(await store.read({ before: next.older ?? "" }))).toEqual(textsOf(numbered(4)));
      const rest = await store.read({ after: next.newer ?? "", limit: 30 });
      expect(textsOfPage(rest)).toEqual(["message 8", "message 9", "message 10"]);
      expect((await store.read({ after: rest.newer ?? "", limit: 0 })).entries).toEqual([]);
    });

    test("a reader at the end finds new messages by its cursor, on any client", async (backend) => {
      const store = backend.store();
      const reader = backend.otherStores().open(store.threadId);
      await store.addMessages(numbered(2));
      let cursor = (await store.read()).newer ?? "";
      const seen: string[] = [];
      const follow = async () => {
        const page = await reader.read({ after: cursor });
        seen.push(...textsOfPage(page));
        cursor = page.newer ?? cursor;
      };
      await follow();
      await store.addMessages(numbered(2, "a"));
      await follow();
      await follow();
      await store.replaceMessages(numbered(3, "b"));
      await follow();
      await store.clear();
      await follow();
      await store.addMessages(numbered(1, "c"));
      await follow();
      expect(seen).toEqual(["a 1", "a 2", "b 1", "b 2", "b 3", "c 1"]);
    });

    test("paging backwards is stable while other clients append", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      await store.addMessages(numbered(30));
      const seen = await readBackwards(store, 4, () => others.addMessages(numbered(3, "meanwhile")));
      expect(seen).toEqual(textsOf(numbered(30)));
    });

    test("paging forwards returns everything once, in order, while other clients append", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      await store.addMessages(numbered(1));
      const write = async () => {
        for (let batch = 0; batch < 15; batch++) await others.addMessages(numbered(4, `${batch}`));
      };
      let page = await store.read({ limit: 1 });
      const seen = textsOfPage(page);
      const follow = async () => {
        page = await store.read({ after: page.newer ?? "", limit: 3 });
        expect(page.entries.length).toBeLessThanOrEqual(3);
        seen.push(...textsOfPage(page));
      };
      await meanwhile(write(), follow);
      for (let rest = 0; rest < 25; rest++) await follow();
      expect(seen).toEqual(await textsIn(store));
    });

    test("paging backwards keeps its position while the beginning is trimmed", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(20));
      const page = await store.read({ limit: 5 });
      const trimming = backend.stores({ maxMessages: 12, trimming: "exact" }).open(store.threadId);
      await trimming.addMessages([user("21")]);
      const older = await store.read({ limit: 30, before: page.older ?? "" });
      expect(textsOfPage(older)).toEqual(textsOf(numbered(6, "message", 10)));
      expect(older.older).toBeUndefined();
      await trimming.addMessages(numbered(12, "later"));
      const gone = await store.read({ before: page.older ?? "" });
      expect(gone.entries).toEqual([]);
      expect(gone.older).toBeUndefined();
      expect(textsOfPage(await store.read({ after: gone.newer ?? "" }))).toEqual(
        textsOf(numbered(12, "later")),
      );
    });

    test("paging crosses the gap that trimming leaves behind a system message", async (backend) => {
      const store = backend.store({ maxMessages: 5 });
      await store.addMessages([system("rules"), ...numbered(20)]);
      const expected = ["rules", "message 17", "message 18", "message 19", "message 20"];
      for (const limit of [1, 2, 3, 4, 5, 6]) {
        expect(await readBackwards(store, limit), `pages of ${limit}`).toEqual(expected);
        expect(await textsIn(store, limit)).toEqual(expected.slice(-limit));
      }
      const { older } = await store.read({ limit: 4 });
      const first = await store.read({ limit: 3, before: older ?? "" });
      expect(textsOfPage(first)).toEqual(["rules"]);
      expect(textsOfPage(await store.read({ limit: 2, after: first.newer ?? "" }))).toEqual(
        expected.slice(1, 3),
      );
    });

    test("a sequence number identifies the same message on every page", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(9));
      const { entries } = await store.read();
      const newest = await store.read({ limit: 4 });
      const before = await store.read({ limit: 4, before: newest.older ?? "" });
      expect([...before.entries, ...newest.entries]).toStrictEqual(entries.slice(1));
    });

    test(
      "a cursor of an expired thread finds only newer messages",
      async (backend) => {
        backend.requireExpiry();
        const lasting = backend.store();
        await lasting.addMessages(numbered(8));
        const { newer, older } = await lasting.read({ limit: 2 });
        // Not earlier, because a slow backend may need longer than the ttl to read.
        await backend.stores({ ttlMs: 150 }).open(lasting.threadId).addMessages(numbered(1, "last"));
        await sleep(300);
        const nothing = { entries: [], revision: null, count: 0 };
        expect(await lasting.read({ after: newer ?? "" })).toStrictEqual(nothing);
        expect(await lasting.read({ before: older ?? "" })).toStrictEqual(nothing);
        await lasting.addMessages(numbered(3, "new"));
        expect(textsOfPage(await lasting.read({ after: newer ?? "" }))).toEqual(textsOf(numbered(3, "new")));
        expect(textsOfPage(await lasting.read({ after: newer ?? "", limit: 2 }))).toEqual(["new 1", "new 2"]);
        for (const options of [
          { before: older ?? "" },
          { before: newer ?? "" },
          { after: newer ?? "", limit: 0 },
        ]) {
          const page = await lasting.read(options);
          expect(page.entries).toEqual([]);
          expect(page.older, "older than an expired thread's cursor").toBeUndefined();
          expect(textsOfPage(await lasting.read({ after: page.newer ?? "" }))).toEqual(
            textsOf(numbered(3, "new")),
          );
        }
      },
      { concurrent: true },
    );

    test("reads return more messages than the backend's page size", async (backend) => {
      const store = backend.store();
      await fill(store, LONG);
      const all = textsOf(numbered(LONG));
      expect(await textsIn(store)).toEqual(all);
      expect(await textsIn(store, 3_000)).toEqual(all.slice(-3_000));
      expect(await readBackwards(store, 1_700)).toEqual(all);
      const { older } = await store.read({ limit: LONG - 1 });
      const first = await store.read({ before: older ?? "" });
      expect(textsOfPage(await store.read({ after: first.newer ?? "" }))).toEqual(all.slice(1));
      // Few messages, but more bytes than a page of any known backend.
      const large = backend.store();
      const texts = Array.from({ length: 12 }, (_, index) => `${index}${"x".repeat(300_000)}`);
      for (const text of texts) await large.addMessages([user(text)]);
      expect(await textsIn(large)).toEqual(texts);
      expect(await textsIn(large, 11)).toEqual(texts.slice(1));
    });

    test("reading the newest messages takes the same number of requests at any thread length", async (backend) => {
      backend.requireRequests();
      for (const length of [30, LONG]) {
        const store = backend.store();
        await fill(store, length);
        // The first requests may load scripts into a server, separately for each node of a cluster.
        await store.listMessages({ limit: 20 });
        await store.read({ limit: 20 });
        for (const limit of [1, 20]) {
          const list = () => store.listMessages({ limit });
          await backend.expectRequests("read", `the newest ${limit} of ${length} messages`, list);
          const page = () => store.read({ limit });
          await backend.expectRequests("read", `a page of ${limit} of ${length} messages`, page);
        }
      }
    });

    test("reading the newest messages takes about the same number of bytes at any thread length", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const bytesOfRead = async (length: number, newest: number) => {
        const store = stores.open();
        await fill(store, length);
        for (const message of numbered(newest, "newest")) await store.addMessages([message]);
        await store.listMessages({ limit: 10 });
        const before = proxy.counters.replyBytes;
        await store.listMessages({ limit: 10 });
        return proxy.counters.replyBytes - before;
      };
      // A backend may read some more of the newest messages, and a list of where the others are. 5,000 messages would be some hundred
      // thousand bytes.
      const most = (bytes: number) => bytes * 1.5 + 16 * 1_024;
      const look =
        "bytes of replies to a read of the newest 10; look at the limit that `read` gives the backend";
      expect(await bytesOfRead(LONG, 12), look).toBeLessThan(most(await bytesOfRead(20, 12)));
      // A backend may store a large batch in one piece, but must not read that piece once for each requested message.
      expect(await bytesOfRead(LONG, 0), look).toBeLessThan(most(await bytesOfRead(2_000, 0)));
    });
  },
};
