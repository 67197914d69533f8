import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChatMessage, createStores, type MessageStore, StoreError } from "@scrollback/store-core";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import type { Clause } from "../clause.ts";
import { rejection } from "../errors.ts";
import { AFTER_MS, beforeExpiry } from "../lifetime.ts";
import { listIds } from "../listings.ts";
import { meanwhile } from "../meanwhile.ts";
import { numbered, textsIn, user } from "../messages.ts";
import { wrapDriver } from "../wrapped-driver.ts";

const MIB = 1024 ** 2;
const gone = { entries: [], revision: null, count: 0 };

/** A text that stands nowhere else. */
const secretText = () => `secret ${randomUUID()}`;

/** Asserts that none of these texts is stored for a thread, and that no client sees anything of it. */
async function expectGone(backend: Backend, threadId: string, secrets: readonly string[]): Promise<void> {
  const dump = await backend.harness.raw.dump(threadId);
  expect(
    secrets.filter((secret) => dump.includes(secret)),
    "content at rest",
  ).toEqual([]);
  for (const stores of [backend.stores(), backend.otherStores()]) {
    const store = stores.open(threadId);
    expect(await store.read()).toStrictEqual(gone);
    expect(await store.listMessages({ limit: 2 })).toEqual([]);
    expect(await store.popMessage()).toBeUndefined();
    expect(await listIds(stores, { prefix: threadId })).not.toContain(threadId);
  }
}

/** Threads of every shape, whose content has the given text. */
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

/** A writer's messages, one a commit, and when each call began and ended. */
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

/** Asserts that each writer's messages of a reading are some that it wrote one after the other. */
function expectRuns(texts: readonly string[], names: readonly string[]): void {
  for (const name of names) {
    const numbers = texts
      .filter((text) => text.startsWith(`${name} `))
      .map((text) => Number(text.split(" ")[1]));
    const [first = 0] = numbers;
    expect(numbers, `messages of ${name} in one reading`).toEqual(numbers.map((_, index) => first + index));
  }
}

export const deletion: Clause = {
  title: "Deletion",
  declare(test) {
    test("content is gone at rest when the deletion returns, whatever the thread is like", async (backend) => {
      for (const [what, make] of Object.entries(shapes)) {
        const secret = secretText();
        const store = backend.store();
        await make(backend, store, secret);
        await backend.stores().deleteThread(store.threadId);
        await expectGone(backend, store.threadId, [secret]).catch((cause) => {
          throw new Error(`of ${what} something is left`, { cause });
        });
      }
    });

    test("content is there at rest before the deletion", async (backend) => {
      // Else the test above would prove nothing.
      const secret = secretText();
      const store = backend.store();
      await store.commit({ append: [user(`${secret} a`)], metadata: `${secret} b` });
      const dump = await backend.harness.raw.dump(store.threadId);
      expect(dump).toContain(`${secret} a`);
      expect(dump).toContain(`${secret} b`);
    });

    test("a short time later nothing at all is left of a thread", async (backend) => {
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
      await sleep(deletedWithinMs && deletedWithinMs + AFTER_MS);
      for (const { what, threadId } of made) {
        const dump = () => backend.harness.raw.dump(threadId);
        // A backend that forgets within a second may be in the middle of it.
        await expect.poll(dump, { timeout: 1_000, message: `what is left of ${what}` }).toBe("");
      }
    });

    test("other threads stay as they are", async (backend) => {
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

    test("a thread that is not there is deleted without an error, and leaves nothing", async (backend) => {
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

    test("deleting twice is as deleting once", async (backend) => {
      const stores = backend.stores();
      const secret = secretText();
      const store = backend.store();
      await store.addMessages(numbered(5, secret));
      await stores.deleteThread(store.threadId);
      await stores.deleteThread(store.threadId);
      await backend.otherStores().deleteThread(store.threadId);
      await expectGone(backend, store.threadId, [secret]);
    });

    test("what an expired thread left behind is removed too", async (backend) => {
      backend.requireExpiry();
      const secret = secretText();
      const store = backend.store({ ttlMs: 300 });
      const old = await store.commit({ append: numbered(3, secret), metadata: secret });
      await sleep(300 + AFTER_MS);
      await rejection(backend.stores().deleteThread(store.threadId, { expectedRevision: old }), "CONFLICT");
      await backend.stores().deleteThread(store.threadId, { expectedRevision: null });
      await expectGone(backend, store.threadId, [secret]);
    });

    test("a thread with records that cannot be read is deleted", async (backend) => {
      const stores = backend.stores();
      for (const record of ["garbage", "2u0000000001000{}", "1u"]) {
        const secret = secretText();
        const store = backend.store();
        await store.commit({ append: numbered(3, secret), metadata: secret });
        const { entries } = await store.read();
        await backend.harness.raw.plant(store.threadId, entries[1]?.sequence ?? 0, record);
        await rejection(store.read(), "CORRUPT");
        await stores.deleteThread(store.threadId);
        await expectGone(backend, store.threadId, [secret]);
        await store.addMessages([user("new")], { expectedRevision: null });
        expect(await textsIn(store)).toEqual(["new"]);
      }
    });

    test("expectedRevision: the thread's deletes, another one is CONFLICT and changes nothing", async (backend) => {
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

    test("what comes later is a new thread: no revision, message or metadata of the old one", async (backend) => {
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

    test("a cursor of a deleted thread finds only what is newer", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(8));
      const { newer = "", older = "" } = await store.read({ limit: 2 });
      await backend.stores().deleteThread(store.threadId);
      expect(await store.read({ after: newer })).toStrictEqual(gone);
      expect(await store.read({ before: older })).toStrictEqual(gone);
      await store.addMessages(numbered(12, "new"));
      expect(
        (await store.read({ after: newer, limit: 2 })).entries.map(({ message }) => message.content),
      ).toEqual(["new 1", "new 2"]);
      expect((await store.read({ after: newer })).entries).toHaveLength(12);
      for (const before of [older, newer]) expect((await store.read({ before })).entries).toEqual([]);
    });

    test("clients that know the old thread write to and read the new one", async (backend) => {
      const [one, two] = [backend.stores(), backend.otherStores()];
      const { threadId } = backend.store();
      for (let round = 0; round < 6; round++) {
        const [writer, deleter] = round % 2 ? [two, one] : [one, two];
        await writer.open(threadId).addMessages(numbered(3, `${round}`));
        await deleter.open(threadId).addMessages([user(`${round} other`)]);
        await writer.open(threadId).addMessages([user(`${round} last`)]);
        for (const stores of [one, two]) expect(await textsIn(stores.open(threadId))).toHaveLength(5);
        await deleter.deleteThread(threadId);
        expect(await writer.open(threadId).read()).toStrictEqual(gone);
        await writer.open(threadId).addMessages([user(`${round} new`)]);
        for (const stores of [one, two])
          expect(await textsIn(stores.open(threadId)), `round ${round}`).toEqual([`${round} new`]);
        await writer.deleteThread(threadId);
      }
    });

    test("a write that comes again after the deletion is the one of before, and begins no thread", async (backend) => {
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

    test("a write whose reply is lost on the network is not made again in the thread begun since", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const others = backend.otherStores();
      for (const begins of [true, false]) {
        const { threadId } = backend.store();
        await stores.open(threadId).read();
        const other = others.open(threadId);
        if (!begins) await other.addMessages([user("old")]);
        proxy.set({ kind: "cut-reply" });
        const write = stores.open(threadId).addMessages([user("written before")]);
        await expect.poll(() => textsIn(other), { timeout: 5_000, interval: 5 }).toContain("written before");
        await others.deleteThread(threadId);
        await other.addMessages([user("new")]);
        proxy.set({ kind: "pass" });
        await write;
        expect(await textsIn(other)).toEqual(["new"]);
      }
    });

    test("a deletion whose reply is lost on the network does not delete the thread begun since", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const others = backend.otherStores();
      for (const isExpected of [false, true]) {
        const { threadId } = backend.store();
        const other = others.open(threadId);
        const expectedRevision = await stores.open(threadId).addMessages(numbered(3));
        proxy.set({ kind: "cut-reply" });
        const deletion = stores.deleteThread(threadId, isExpected ? { expectedRevision } : {});
        await expect.poll(() => textsIn(other), { timeout: 5_000, interval: 5 }).toEqual([]);
        await other.addMessages([user("new")]);
        // Sent again, once more without a reply.
        const { strikes } = proxy.counters;
        await expect.poll(() => proxy.counters.strikes, { timeout: 5_000 }).toBeGreaterThan(strikes);
        proxy.set({ kind: "pass" });
        await deletion;
        expect(await textsIn(other)).toEqual(["new"]);
        // One that is made now is another one.
        await stores.deleteThread(threadId);
        expect(await other.read()).toStrictEqual(gone);
      }
    });

    test("a deletion that comes again after it was refused is made", async (backend) => {
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

    test("a deletion whose reply is lost on the network is made once", async (backend) => {
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

    test("an outage is UNAVAILABLE, and what was not deleted is deleted by the next call", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const secret = secretText();
      const store = stores.open();
      await store.addMessages(numbered(3, secret));
      proxy.set({ kind: "down" });
      await rejection(stores.deleteThread(store.threadId), "UNAVAILABLE");
      expect(await textsIn(backend.stores().open(store.threadId))).toHaveLength(3);
      proxy.set({ kind: "pass" });
      await stores.deleteThread(store.threadId);
      await expectGone(backend, store.threadId, [secret]);
    });

    test("writers race with deletions: each acknowledged write is in a thread of its time, whole", async (backend) => {
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
      await meanwhile(Promise.all([write, deleteAll()]), async () =>
        expectRuns(await textsIn(reader), names),
      );
      const left = await textsIn(reader);
      expectRuns(left, names);
      const last = deletions.at(-1) ?? { began: 0, ended: 0 };
      const inTime = written.filter(({ began }) => began > last.ended).map(({ text }) => text);
      const before = written.filter(({ ended }) => ended < last.began).map(({ text }) => text);
      expect(
        inTime.filter((text) => !left.includes(text)),
        "acknowledged after the last deletion, and lost",
      ).toEqual([]);
      expect(
        left.filter((text) => before.includes(text)),
        "deleted, and there again",
      ).toEqual([]);
      // Of what each has written, the rest: nothing of the new thread is lost.
      for (const name of names) {
        const own = left.filter((text) => text.startsWith(`${name} `));
        if (own.length > 0) expect(own.at(-1)).toBe(`${name} 24`);
      }
    });

    test("of a deletion and a write that expect the same revision exactly one succeeds", async (backend) => {
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

    test("writers in other processes race with deletions, and lose nothing that came after them", async (backend) => {
      const start = backend.requireProcesses();
      const { threadId } = backend.store();
      const [stores, others] = [backend.stores(), backend.otherStores()];
      const [batches, batchSize] = [40, 3];
      const remotes = ["p", "q"].map((writer) => start("append", { threadId, writer, batches, batchSize }));
      for (const { progress } of remotes)
        await expect.poll(() => progress.length, { timeout: 20_000 }).toBeGreaterThan(2);
      for (let time = 0; time < 5; time++) {
        await (time % 2 ? stores : others).deleteThread(threadId);
        await sleep(15);
      }
      const acknowledged = remotes.map(({ progress }) => progress.length);
      await Promise.all(remotes.map(({ result }) => result));
      const left = await textsIn(stores.open(threadId));
      for (const [index, writer] of ["p", "q"].entries()) {
        const own = left.filter((text) => text.startsWith(`${writer}/`));
        const numbers = own.map(
          (text) => Number(text.split("/")[1]) * batchSize + Number(text.split("/")[2]),
        );
        const [first = 0] = numbers;
        expect(first % batchSize, "a batch begins").toBe(0);
        expect(numbers).toEqual(numbers.map((_, place) => first + place));
        if ((acknowledged[index] ?? 0) < batches - 2)
          expect(own.at(-1)).toBe(`${writer}/${batches - 1}/${batchSize - 1}`);
      }
    });

    test("wrong arguments are INVALID_ARGUMENT, before any I/O", async (backend) => {
      const stores = backend.stores();
      await backend.withoutRequests(async () => {
        for (const threadId of ["", 7, null, undefined, "x".repeat(1_025), "\ud800"])
          await rejection(stores.deleteThread(threadId as string), "INVALID_ARGUMENT");
        for (const options of [
          { expectedRevision: 7 },
          { expectedRevision: "" },
          { signal: 1 },
          { unknown: 1 },
          [],
        ])
          await rejection(stores.deleteThread("a", options as object), "INVALID_ARGUMENT");
        await rejection(stores.deleteThread("a", { signal: AbortSignal.abort() }), "ABORTED");
      });
    });

    test("a deletion by a closed factory is CLOSED", async (backend) => {
      const stores = await backend.ownStores();
      await stores.close();
      await rejection(stores.deleteThread("a"), "CLOSED");
    });

    test("deletions that are aborted at any moment happened as a whole or not at all", async (backend) => {
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

    test("expire sets and removes the expiry, and leaves the rest alone", async (backend) => {
      backend.requireExpiry();
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      const first = await store.commit({ append: numbered(3), metadata: "title" });
      const before = await store.read();
      const ttlMs = 3_600_000;
      const earliest = Date.now() + ttlMs - 5_000;
      const revision = await store.expire(ttlMs);
      expect(revision).not.toBe(first);
      const { expiresAt = 0, updatedAt: _, ...page } = await others.read();
      expect(expiresAt).toBeGreaterThan(earliest);
      expect(expiresAt).toBeLessThan(earliest + 20_000);
      const { updatedAt: __, ...same } = { ...before, revision };
      expect(page).toStrictEqual(same);
      expect((await others.expire(2 * ttlMs)) === revision, "the same revision again").toBe(false);
      expect((await store.read()).expiresAt).toBeGreaterThan(expiresAt);
      await others.expire(null);
      expect("expiresAt" in (await store.read())).toBe(false);
      await store.expire(ttlMs);
      await store.addMessages([user("a write without ttlMs")]);
      expect("expiresAt" in (await store.read())).toBe(false);
    });

    test("a thread expires as expire said, without a write", async (backend) => {
      backend.requireExpiry();
      await beforeExpiry(async ({ ttlMs, afterMs, write, inTime }) => {
        const [store, kept] = [backend.store(), backend.store()];
        const brief = backend.stores({ ttlMs }).open(kept.threadId);
        for (const one of [store, brief])
          await write(() => one.commit({ append: numbered(3), metadata: "title" }));
        await write(() => store.expire(ttlMs));
        await inTime(() => kept.expire(null));
        await inTime(async () => expect(await textsIn(store)).toHaveLength(3));
        await sleep(afterMs);
        expect(await store.read()).toStrictEqual(gone);
        expect(await backend.otherStores().open(store.threadId).read()).toStrictEqual(gone);
        expect(await kept.read()).toMatchObject({ count: 3, metadata: "title" });
      });
    });

    test("expire of a thread that is not there is null, and begins none", async (backend) => {
      const { expiry } = backend.driver.capabilities;
      const store = backend.store();
      const isAbsent = async (id: string) => {
        for (const ttlMs of expiry ? [1_000, null] : [null]) {
          const one = backend.stores().open(id);
          expect(await one.expire(ttlMs)).toBeNull();
          expect(await one.expire(ttlMs, { expectedRevision: null })).toBeNull();
          await rejection(one.expire(ttlMs, { expectedRevision: "other.1" }), "CONFLICT");
          expect(await one.read()).toStrictEqual(gone);
        }
      };
      await isAbsent(store.threadId);
      await store.addMessages(numbered(2));
      await backend.stores().deleteThread(store.threadId);
      await isAbsent(store.threadId);
    });

    test("expire with expectedRevision is a compare-and-set", async (backend) => {
      backend.requireExpiry();
      const store = backend.store();
      const first = await store.addMessages(numbered(1));
      const second = await store.addMessages(numbered(1));
      const before = await store.read();
      for (const expectedRevision of [first, null, "other.1"])
        await rejection(store.expire(60_000, { expectedRevision }), "CONFLICT");
      expect(await store.read()).toStrictEqual(before);
      const third = await store.expire(60_000, { expectedRevision: second });
      expect((await store.read()).revision).toBe(third);
      await rejection(store.addMessages(numbered(1), { expectedRevision: second }), "CONFLICT");
    });

    test("expire while others write loses nothing", async (backend) => {
      backend.requireExpiry();
      const store = backend.store();
      await store.addMessages([user("begun")]);
      const others = backend.otherStores().open(store.threadId);
      const messages: ChatMessage[] = [];
      const write = async () => {
        for (let number = 0; number < 20; number++) {
          const [message = user("")] = numbered(1, "message", number);
          await others.addMessages([message]);
          messages.push(message);
        }
      };
      await meanwhile(write(), () => store.expire(600_000));
      expect(await store.listMessages()).toEqual([user("begun"), ...messages]);
    });

    test("a wrong ttlMs of expire is refused before any I/O, and any where threads cannot expire", async (backend) => {
      const store = backend.store();
      await backend.withoutRequests(async () => {
        for (const ttlMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", undefined]) {
          const error = await rejection(store.expire(ttlMs as number), "INVALID_ARGUMENT");
          expect(error.message).toContain("ttlMs");
        }
        await rejection(store.expire(null, { operationId: "a" } as object), "INVALID_ARGUMENT");
        if (!backend.driver.capabilities.expiry) await rejection(store.expire(5), "UNSUPPORTED");
      });
    });
  },
};
