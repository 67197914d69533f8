// Exceeds 300 lines because it holds all tests of one clause, in the order in which the matrices list them.
import type { Change } from "@scrollback/store-core";
import { createStores, type DeleteRequest, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { codecs } from "../messages/codecs.ts";
import { assistant, numbered, textsIn, user } from "../messages/messages.ts";
import { wrapDriver } from "../wrapped-driver.ts";

/** So many commits that the previous operation id is no longer among the remembered ones. */
const MORE_THAN_REMEMBERED = REMEMBERED_OPERATIONS + 6;

export const exactlyOnce: Clause = {
  title: "Exactly once",
  declare(test) {
    test("the same id with the same change is a no-op that returns the first outcome", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      const change = { append: numbered(2), metadata: { title: "one" } };
      const first = await store.commit(change, { operationId: "op" });
      expect(await store.commit(change, { operationId: "op" })).toBe(first);
      const later = await store.addMessages([user("later")]);
      expect(await others.commit(change, { operationId: "op" })).toBe(first);
      const page = await store.read();
      expect(page.revision).toBe(later);
      expect(page.entries).toHaveLength(3);
    });

    test("every kind of write takes effect once under its id", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(9));
      for (const write of [
        () => store.addMessages([user("added")], { operationId: "add" }),
        () => store.commit({ drop: 2 }, { operationId: "drop" }),
        () => store.commit({ metadata: 1 }, { operationId: "metadata" }),
        () => store.replaceMessages(numbered(4), { operationId: "replace" }),
        () => store.commit({ drop: 1, append: [user("changed")] }, { operationId: "both" }),
        () => store.clear({ operationId: "clear" }),
      ]) {
        const revision = await write();
        const after = await store.read();
        expect(after.revision).toBe(revision);
        expect(await write()).toBe(revision);
        expect(await store.read()).toStrictEqual(after);
      }
    });

    test("the same change is recognized with any codec, and a different one is not", async (backend) => {
      for (const [what, codec] of Object.entries(codecs)) {
        const store = backend.store({ codec });
        const others = backend.otherStores({ codec }).open(store.threadId);
        const change = { append: numbered(2).concat(user("a ".repeat(200))), metadata: { title: "one" } };
        const first = await store.commit(change, { operationId: "op" });
        expect(await others.commit(change, { operationId: "op" }), what).toBe(first);
        expect((await store.read()).entries, what).toHaveLength(3);
        await rejection(store.commit({ ...change, metadata: 2 }, { operationId: "op" }), "CONFLICT");
      }
    });

    test("the same id with another change fails with CONFLICT and changes nothing", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(5));
      const change: Change = { drop: 1, append: [user("a"), user("b")], metadata: { title: "one" } };
      await store.commit(change, { operationId: "op" });
      const before = await store.read();
      const others: Change[] = [
        { ...change, drop: 2 },
        { ...change, drop: "all" },
        { drop: 0, append: [user("a"), user("b")], metadata: { title: "one" } },
        { ...change, append: [user("b"), user("a")] },
        { ...change, append: [user("a")] },
        { ...change, append: [user("a"), user("b"), user("c")] },
        { ...change, append: [user("ab")] },
        { ...change, append: [user("a"), assistant("b")] },
        { ...change, metadata: { title: "two" } },
        { ...change, metadata: null },
        { drop: 1, append: [user("a"), user("b")] },
        { drop: 1, metadata: { title: "one" } },
        { metadata: { title: "one" } },
      ];
      for (const other of others) await rejection(store.commit(other, { operationId: "op" }), "CONFLICT");
      expect(await store.read()).toStrictEqual(before);
    });

    test("the id is looked up before the revision is compared", async (backend) => {
      const store = backend.store();
      const first = await store.addMessages([user("a")], { operationId: "op", expectedRevision: null });
      await store.addMessages([user("b")]);
      const again = { operationId: "op", expectedRevision: null };
      expect(await store.addMessages([user("a")], again)).toBe(first);
      expect(await store.addMessages([user("a")], { operationId: "op", expectedRevision: "other.7" })).toBe(
        first,
      );
      expect(await textsIn(store)).toEqual(["a", "b"]);
      const conflict = await rejection(store.addMessages([user("c")], again), "CONFLICT");
      expect(conflict.message).toContain("operationId");
    });

    test("a write that lost a compare-and-set can be repeated under its id", async (backend) => {
      const store = backend.store();
      const revision = await store.addMessages([user("a")]);
      const operationId = "op";
      const lost = store.addMessages([user("b")], { operationId, expectedRevision: null });
      expect((await rejection(lost, "CONFLICT")).message).toContain("expectedRevision");
      await store.addMessages([user("b")], { operationId, expectedRevision: revision });
      expect(await textsIn(store)).toEqual(["a", "b"]);
    });

    test(`the newest ${REMEMBERED_OPERATIONS} ids of a thread are remembered, also after clear`, async (backend) => {
      const store = backend.store();
      const write = (number: number) =>
        number === 20
          ? store.clear({ operationId: `${number}` })
          : store.addMessages([user(`${number}`)], { operationId: `${number}` });
      const revisions: (string | null)[] = [];
      for (let number = 0; number < REMEMBERED_OPERATIONS; number++) revisions.push(await write(number));
      const before = await store.read();
      for (let number = 0; number < REMEMBERED_OPERATIONS; number++) {
        expect(await write(number), `operation ${number}`).toBe(revisions[number]);
      }
      expect(await store.read()).toStrictEqual(before);
      await rejection(store.addMessages([user("other")], { operationId: "3" }), "CONFLICT");
    });

    test("ids are remembered after trimming", async (backend) => {
      const store = backend.store({ maxMessages: 2 });
      const first = await store.addMessages([user("first")], { operationId: "op" });
      for (let round = 0; round < 10; round++) await store.addMessages(numbered(3, `${round}`));
      expect(await store.addMessages([user("first")], { operationId: "op" })).toBe(first);
      expect(await textsIn(store)).toEqual(["9 2", "9 3"]);
    });

    test("equal messages under different ids or none are all kept", async (backend) => {
      const store = backend.store();
      await store.addMessages([user("again")]);
      await store.addMessages([user("again")]);
      await store.addMessages([user("again"), user("again")], { operationId: "a" });
      await store.addMessages([user("again"), user("again")], { operationId: "b" });
      expect(await textsIn(store)).toEqual(Array(6).fill("again"));
    });

    test("the same write from two clients at the same time takes effect once", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      for (let round = 0; round < 8; round++) {
        const operationId = `op ${round}`;
        const revisions = await Promise.all(
          [store, others, store, others].map((one) => one.addMessages([user(`${round}`)], { operationId })),
        );
        expect(new Set(revisions).size).toBe(1);
      }
      expect(await textsIn(store)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    });

    test("ids belong to one thread, and are compared by every character", async (backend) => {
      const [one, two] = [backend.store(), backend.store()];
      const ids = [
        ...["a", "A", "a ", "a:b", "a\0", "a*", "__proto__", "constructor", "{a}", "é", "e\u0301", "💬"],
        ...["1", "01"],
      ];
      for (const operationId of ids) {
        await one.addMessages([user(`one ${operationId}`)], { operationId });
        await two.addMessages([user(`two ${operationId}`)], { operationId });
      }
      expect(await textsIn(one)).toEqual(ids.map((id) => `one ${id}`));
      expect(await textsIn(two)).toEqual(ids.map((id) => `two ${id}`));
      await one.addMessages([user("longest")], { operationId: "é".repeat(512) });
      await one.addMessages([user("longest")], { operationId: "é".repeat(512) });
      expect(await textsIn(one)).toHaveLength(ids.length + 1);
    });

    test("an empty change does not use up an id", async (backend) => {
      const store = backend.store();
      expect(await store.addMessages([], { operationId: "op" })).toBeNull();
      await store.addMessages([user("a")], { operationId: "op" });
      expect(await textsIn(store)).toEqual(["a"]);
    });

    test("a write whose reply was lost is retried and takes effect once", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(2));
      for (const afterBytes of [0, 1, 5]) {
        const { strikes } = proxy.counters;
        proxy.set({ kind: "cut-reply", afterBytes, times: 1 });
        const revision = await store.addMessages([user(`cut after ${afterBytes}`)]);
        expect(proxy.counters.strikes, "cuts").toBe(strikes + 1);
        expect((await store.read()).revision).toBe(revision);
      }
      const expected = ["message 1", "message 2", "cut after 0", "cut after 1", "cut after 5"];
      expect(await textsIn(store)).toEqual(expected);
      proxy.set({ kind: "cut-reply", times: 1 });
      await store.commit({ drop: 1, append: [user("in its place")], metadata: "set" });
      expect(await textsIn(store)).toEqual([...expected.slice(0, -1), "in its place"]);
    });

    test("a write whose reply was lost takes effect once, also after many other writes before the retry", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const driver = connect();
      let isLost = false;
      const store = createStores(
        wrapDriver(driver, {
          async commit(request) {
            try {
              return await driver.commit(request);
            } catch (error) {
              proxy.set({ kind: "pass" });
              if (isLost) throw error;
              isLost = true;
              for (const message of numbered(MORE_THAN_REMEMBERED)) await others.addMessages([message]);
              // Sent at once: on a busy machine the store itself would no longer retry after these commits.
              return await driver.commit(request);
            }
          },
        }),
      ).open();
      const others = backend.stores().open(store.threadId);
      for (const message of numbered(3, "before")) await store.addMessages([message]);
      // The fault lasts until the driver gets the error: its client may repeat the request by itself, over other connections,
      // which are cut too.
      proxy.set({ kind: "cut-reply" });
      await store.addMessages([user("once")]);
      expect(isLost, "a reply was lost").toBe(true);
      const texts = await textsIn(others);
      expect(texts.filter((text) => text === "once")).toHaveLength(1);
      expect(texts).toHaveLength(3 + MORE_THAN_REMEMBERED + 1);
    });

    test("a write that never arrived is retried and takes effect once", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1));
      for (const afterBytes of [0, 10]) {
        proxy.set({ kind: "cut-request", afterBytes, times: 1 });
        await store.addMessages([user(`cut after ${afterBytes}`)]);
        expect(proxy.mode.kind, "the cut occurred").toBe("pass");
      }
      expect(await textsIn(store)).toEqual(["message 1", "cut after 0", "cut after 10"]);
    });

    test("a request that is repeated too late is done once, or fails as one that the caller can repeat", async (backend) => {
      const { driver } = backend;
      const failed: unknown[] = [];
      const late =
        <R extends Pick<DeleteRequest, "sendBefore">, O>(send: (request: R) => Promise<O>) =>
        (request: R) =>
          send({ ...request, sendBefore: 0 }).catch((error: unknown) => {
            failed.push(error);
            return send(request);
          });
      const stores = createStores(
        wrapDriver(driver, {
          commit: late(driver.commit.bind(driver)),
          delete: late(driver.delete.bind(driver)),
        }),
      );
      const store = stores.open();
      for (const message of numbered(2)) await store.addMessages([message]);
      expect(await textsIn(store)).toEqual(["message 1", "message 2"]);
      await stores.deleteThread(store.threadId);
      expect(await textsIn(store)).toEqual([]);
      for (const error of failed) expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    });

    test("a pop whose reply was lost removes one message", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const driver = connect();
      const cut = { kind: "cut-reply", times: 1 } as const;
      let first = true;
      const store = createStores(
        wrapDriver(driver, {
          commit(request) {
            if (request.drop === 1 && first) proxy.set(cut);
            first &&= request.drop !== 1;
            return driver.commit(request);
          },
        }),
      ).open();
      await store.addMessages(numbered(5));
      const { strikes } = proxy.counters;
      expect(await store.popMessage()).toStrictEqual(user("message 5"));
      expect(proxy.counters.strikes, "cuts").toBe(strikes + 1);
      expect(await textsIn(store)).toEqual(["message 1", "message 2", "message 3", "message 4"]);
      proxy.set(cut);
      expect(await store.popMessage()).toStrictEqual(user("message 4"));
      expect(await textsIn(store)).toEqual(["message 1", "message 2", "message 3"]);
    });

    test("a write whose reply was lost can be aborted and sent again under its id", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1));
      proxy.set({ kind: "drop-reply", times: 1 });
      const operationId = "given up";
      const signal = AbortSignal.timeout(300);
      await rejection(store.addMessages([user("once")], { operationId, signal }), "ABORTED", "UNAVAILABLE");
      expect(proxy.mode.kind, "the reply was lost").toBe("pass");
      const others = backend.stores().open(store.threadId);
      const revision = await others.addMessages([user("once")], { operationId });
      expect(await textsIn(others)).toEqual(["message 1", "once"]);
      expect((await others.read()).revision).toBe(revision);
    });
  },
};
