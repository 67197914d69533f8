import { setTimeout as sleep } from "node:timers/promises";
import { type MessageStore, StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { expectGone, GONE, secretText } from "../checks/deleted.ts";
import { rejection } from "../checks/errors.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import type { TcpProxy } from "../proxy/tcp-proxy.ts";
import { wrapDriver } from "../wrapped-driver.ts";

/** A message of a writer, one per commit, with the times at which its call began and ended. */
interface Written {
  readonly text: string;
  readonly began: number;
  readonly ended: number;
}

async function writeAll(store: MessageStore, name: string, count: number, written: Written[]): Promise<void> {
  for (let number = 0; number < count; number++) {
    const text = `${name} ${number}`;
    const began = performance.now();
    await store.addMessages([user(text)]);
    written.push({ text, began, ended: performance.now() });
    await sleep(Math.random() * 3);
  }
}

/** Asserts that each writer's messages in a reading are consecutive ones. */
function expectRuns(texts: readonly string[], names: readonly string[]): void {
  for (const name of names) {
    const numbers = texts
      .filter((text) => text.startsWith(`${name} `))
      .map((text) => Number(text.split(" ")[1]));
    const [first = 0] = numbers;
    expect(numbers, `messages of ${name} in one reading`).toEqual(numbers.map((_, index) => first + index));
  }
}

/** More parts of replies than any call receives between its effect and its return. */
const MOST_PARTS = 50;
const UNTIL_MADE_MS = 1_500;

/** A call that has had its effect and gets no reply about it until `end`. */
interface LostCall {
  end(): Promise<unknown>;
}

/**
 * Runs `attempt` while the reply that reports the effect is lost with all later parts; then while the losses begin one part
 * later, and so on until the call receives all parts. The reply is found without a fixed count: parts of replies are held back
 * one by one until a client outside the proxy sees the effect. So the number of parts that a protocol sends before does not
 * matter.
 */
async function loseReplies(
  proxy: TcpProxy,
  attempt: (
    lose: (call: () => Promise<unknown>, isSeen: () => Promise<boolean>) => Promise<LostCall | undefined>,
  ) => Promise<void>,
): Promise<void> {
  for (let skip = 0; skip < MOST_PARTS; skip++) {
    let isLost = false;
    await attempt(async (call, isSeen) => {
      proxy.set({ kind: "hold-reply" });
      let { strikes } = proxy.counters;
      let isMade = false;
      let isSettled = false;
      const made = call().finally(() => {
        isSettled = true;
      });
      const end = async () => {
        proxy.set({ kind: "pass" });
        return await made;
      };
      const until = performance.now() + UNTIL_MADE_MS;
      while (!isSettled && performance.now() < until) {
        if (proxy.counters.strikes === strikes) {
          await sleep(5);
        } else if (isMade) {
          isLost = true;
          return { end };
        } else {
          const before = proxy.counters.strikes;
          isMade = await isSeen();
          // Parts that arrived meanwhile may belong to an effect later than the check.
          if (!isMade && proxy.counters.strikes > before) continue;
          strikes = proxy.counters.strikes;
          if (!isMade) proxy.set({ kind: "pass" });
          proxy.set(isMade ? { kind: "cut-reply", skip } : { kind: "hold-reply" });
        }
      }
      await end();
      return undefined;
    });
    expect(skip > 0 || isLost, "a reply is lost after its request had its effect").toBe(true);
    if (!isLost) return;
  }
  expect.unreachable(`a call receives more than ${MOST_PARTS} parts of replies after its effect`);
}

/** Tests of repeated deletions, and of deletions during writes. */
export const deletionRaces: Clause["declare"] = (test) => {
  test("a write repeated after the deletion is recognized and does not begin a new thread", async (backend) => {
    backend.requireMemoryOfDeleted();
    const store = backend.store();
    const others = backend.otherStores();
    const first = await store.addMessages(numbered(2), { operationId: "first" });
    const second = await store.commit({ metadata: "title" }, { operationId: "second" });
    await others.deleteThread(store.threadId);
    for (const again of [store, others.open(store.threadId)]) {
      expect(await again.addMessages(numbered(2), { operationId: "first" })).toBe(first);
      expect(await again.commit({ metadata: "title" }, { operationId: "second" })).toBe(second);
      await rejection(again.addMessages([user("other")], { operationId: "first" }), "CONFLICT");
    }
    await expectGone(backend, store.threadId, ["title"]);
  });

  test("a write whose reply was lost is not repeated in a thread begun after the deletion", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const stores = createStores(connect());
    const others = backend.otherStores();
    for (const begins of [true, false]) {
      await loseReplies(proxy, async (lose) => {
        const { threadId } = backend.store();
        await stores.open(threadId).read();
        const other = others.open(threadId);
        if (!begins) await other.addMessages([user("old")]);
        const write = () => stores.open(threadId).addMessages([user("written before")]);
        const lost = await lose(write, async () => (await textsIn(other)).includes("written before"));
        if (!lost) return;
        await others.deleteThread(threadId);
        await other.addMessages([user("new")]);
        await lost.end();
        expect(await textsIn(other)).toEqual(["new"]);
      });
    }
  });

  test("a deletion whose reply was lost does not delete a thread begun after it", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const stores = createStores(connect());
    const others = backend.otherStores();
    for (const isExpected of [false, true]) {
      await loseReplies(proxy, async (lose) => {
        const { threadId } = backend.store();
        const other = others.open(threadId);
        const expectedRevision = await stores.open(threadId).addMessages(numbered(3));
        const deletion = () => stores.deleteThread(threadId, isExpected ? { expectedRevision } : {});
        const lost = await lose(deletion, async () => (await textsIn(other)).length === 0);
        if (!lost) return;
        await other.addMessages([user("new")]);
        await lost.end();
        expect(await textsIn(other)).toEqual(["new"]);
        // A deletion that is called now is a new one.
        await stores.deleteThread(threadId);
        expect(await other.read()).toStrictEqual(GONE);
      });
    }
  });

  test("a deletion that was refused can be repeated", async (backend) => {
    const { driver } = backend;
    const store = backend.store();
    const revision = await store.addMessages(numbered(2));
    let sent = 0;
    const failing = wrapDriver(driver, {
      async delete(request) {
        sent += 1;
        if (sent === 1) throw new StoreError("UNAVAILABLE", "not sent", { retryable: true });
        return await driver.delete(request);
      },
    });
    await createStores(failing).deleteThread(store.threadId, { expectedRevision: revision });
    await expectGone(backend, store.threadId, []);
  });

  test("a deletion whose reply was lost takes effect once", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const stores = createStores(connect());
    const secret = secretText();
    for (const afterBytes of [0, 1]) {
      const { threadId } = backend.store();
      const revision = await stores.open(threadId).addMessages(numbered(3, secret));
      const { strikes } = proxy.counters;
      proxy.set({ kind: "cut-reply", afterBytes, times: 1 });
      await stores.deleteThread(threadId, { expectedRevision: revision });
      expect(proxy.counters.strikes, "cuts").toBe(strikes + 1);
      await expectGone(backend, threadId, [secret]);
    }
  });

  test("during racing deletions each acknowledged write is whole in its incarnation", async (backend) => {
    const { threadId } = backend.store();
    const [stores, others] = [backend.stores(), backend.otherStores()];
    const names = ["a", "b", "c", "d"];
    const written: Written[] = [];
    const deletions: { began: number; ended: number }[] = [];
    const write = Promise.all(
      names.map((name, index) => writeAll((index % 2 ? others : stores).open(threadId), name, 25, written)),
    );
    const deleteAll = async () => {
      for (let time = 0; time < 6; time++) {
        await sleep(10 + Math.random() * 20);
        const began = performance.now();
        await (time % 2 ? stores : others).deleteThread(threadId);
        deletions.push({ began, ended: performance.now() });
      }
    };
    const reader = backend.otherStores().open(threadId);
    await meanwhile(Promise.all([write, deleteAll()]), async () => expectRuns(await textsIn(reader), names));
    const left = await textsIn(reader);
    expectRuns(left, names);
    const last = deletions.at(-1) ?? { began: 0, ended: 0 };
    const inTime = written.filter(({ began }) => began > last.ended).map(({ text }) => text);
    const before = written.filter(({ ended }) => ended < last.began).map(({ text }) => text);
    expect(
      inTime.filter((text) => !left.includes(text)),
      "acknowledged after the last deletion, but lost",
    ).toEqual([]);
    expect(
      left.filter((text) => before.includes(text)),
      "deleted, but visible again",
    ).toEqual([]);
    // The remaining messages of each writer are its last ones: nothing of the new thread is lost.
    for (const name of names) {
      const own = left.filter((text) => text.startsWith(`${name} `));
      if (own.length > 0) expect(own.at(-1)).toBe(`${name} 24`);
    }
  });

  test("a deletion and a write that expect the same revision: exactly one succeeds", async (backend) => {
    const [stores, others] = [backend.stores(), backend.otherStores()];
    for (let round = 0; round < 12; round++) {
      const { threadId } = backend.store();
      const expectedRevision = await stores.open(threadId).addMessages([user("first")]);
      const [deleted, written, again] = await Promise.allSettled([
        stores.deleteThread(threadId, { expectedRevision }),
        others.open(threadId).addMessages([user("second")], { expectedRevision }),
        others.deleteThread(threadId, { expectedRevision }),
      ]);
      const won = [deleted, written, again].filter(({ status }) => status === "fulfilled");
      expect(won, "calls that succeeded").toHaveLength(1);
      for (const lost of [deleted, written, again])
        if (lost.status === "rejected") await rejection(Promise.reject(lost.reason), "CONFLICT");
      const expected = written.status === "fulfilled" ? ["first", "second"] : [];
      expect(await textsIn(stores.open(threadId))).toEqual(expected);
    }
  });
};
