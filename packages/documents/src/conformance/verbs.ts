import { expect } from "vitest";
import { type DocumentDatabase, type Head, loadedHead, type Page } from "../database.ts";
import { comparable, head, inDays, messages, newThread, page, smallHead, TEXTS } from "./documents.ts";
import type { DeclareTest } from "./harness.ts";

const MIB = 1024 ** 2;
/** More than a database may take in one request. */
const MANY = 2_500;

async function expectHead(database: DocumentDatabase, threadId: string, expected: Head): Promise<void> {
  for (const from of [undefined, { primary: true }]) {
    const found = await database.load(threadId, from);
    expect(found?.token).toBe(loadedHead(expected).token);
    expect(comparable(found?.head ?? {})).toEqual(comparable(expected));
  }
}

const sorted = (pages: readonly Page[]) =>
  pages.map(comparable).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

export function declareVerbs(test: DeclareTest): void {
  test("the size of a document is at least 384 KiB", async ({ capabilities }) => {
    expect(capabilities.maxDocumentBytes).toBeGreaterThanOrEqual(384 * 1024);
  });

  test("a head is read as it was stored", async (database) => {
    for (const one of [
      head(),
      smallHead(),
      smallHead({ isDead: true, tail: [], until: inDays(1) }),
      smallHead({ metadata: { page: "page-1" }, operations: new Uint8Array() }),
    ]) {
      const threadId = newThread();
      expect(await database.load(threadId)).toBeNull();
      expect(await database.swap({ threadId, expected: null, head: one })).toBe(true);
      await expectHead(database, threadId, one);
    }
  });

  test("a swap replaces the expected head alone", async (database) => {
    const threadId = newThread();
    const first = head();
    const others = [
      smallHead({ n: 2 }),
      smallHead({ incarnation: "incarnation-0002" }),
      smallHead({ n: 11 }),
    ];
    for (const other of others)
      expect(await database.swap({ threadId, expected: loadedHead(other), head: first }), "no head").toBe(
        false,
      );
    expect(await database.load(threadId)).toBeNull();
    await database.swap({ threadId, expected: null, head: first });
    for (const expected of [null, ...others.map(loadedHead)])
      expect(await database.swap({ threadId, expected, head: smallHead({ n: 3 }) }), "another").toBe(false);
    await expectHead(database, threadId, first);
    const second = smallHead({ n: 2 });
    expect(await database.swap({ threadId, expected: loadedHead(first), head: second })).toBe(true);
    await expectHead(database, threadId, second);
    expect(await database.swap({ threadId, expected: loadedHead(first), head: second }), "again").toBe(false);
  });

  test("one of many concurrent swaps of a head succeeds", async (database, { connect }) => {
    const databases = [database, connect(), connect()];
    const threadId = newThread();
    let expected: ReturnType<typeof loadedHead> | null = null;
    for (let round = 0; round < 10; round++) {
      const heads = databases.map((_, index) => smallHead({ n: round + 1, createdAt: index }));
      const swaps = heads.map((one, index) => databases[index]?.swap({ threadId, expected, head: one }));
      const results = await Promise.all(swaps);
      expect(results.filter(Boolean)).toHaveLength(1);
      const winner = heads[results.indexOf(true)] ?? smallHead();
      await expectHead(database, threadId, winner);
      expected = loadedHead(winner);
    }
    await Promise.all(databases.slice(1).map((one) => one.close()));
  });

  test("a swap with the difference gives the whole head", async (database) => {
    const threadId = newThread();
    let stored = head({ tail: messages(1, ["a", "b", "c"]) });
    await database.swap({ threadId, expected: null, head: stored });
    const swap = async (pushed: number, fields: Partial<Head>) => {
      const next = { ...stored, n: stored.n + 1, ...fields };
      expect(await database.swap({ threadId, expected: loadedHead(stored), head: next, pushed })).toBe(true);
      await expectHead(database, threadId, next);
      expect(await database.swap({ threadId, expected: loadedHead(stored), head: next, pushed })).toBe(false);
      stored = next;
    };
    await swap(2, { tail: messages(1, ["a", "b", "c", ...TEXTS.slice(0, 2)]), next: 6 });
    await swap(1, { tail: messages(4, ["", "text", "e"]), next: 7, first: 4 });
    await swap(0, { metadata: undefined, expiresAt: undefined, until: undefined, pins: [], leaving: [] });
    await swap(0, { tail: messages(5, ["text", "e"]), first: 5 });
    await swap(1, { tail: messages(7, ["f"]), pages: [], former: undefined, metadata: { page: "p" } });
    await swap(0, { tail: [], until: inDays(3), operations: new Uint8Array(20), leaving: ["a"] });
    await swap(2, { tail: messages(8, ["$push", "h"]), metadata: { text: "$unset" }, pinned: 4 });
  });

  test("a damaged head is not a head, and is replaced only while it is the same", async (database, {
    damage,
  }) => {
    const threadId = newThread();
    await database.swap({ threadId, expected: null, head: head() });
    await damage(threadId);
    const found = await database.load(threadId);
    expect(found).not.toBeNull();
    expect(found?.head).toBeUndefined();
    expect(
      await database.swap({ threadId, expected: loadedHead(smallHead({ n: 7 })), head: smallHead() }),
    ).toBe(false);
    expect(await database.swap({ threadId, expected: null, head: smallHead() })).toBe(false);
    expect(await database.swap({ threadId, expected: found, head: smallHead() })).toBe(true);
    expect(await database.swap({ threadId, expected: found, head: smallHead({ n: 2 }) })).toBe(false);
    await expectHead(database, threadId, smallHead());
  });

  test("pages are read as they were written, and are never overwritten", async (database) => {
    const threadId = newThread();
    const pages = [
      page("a-_1", { messages: messages(1, TEXTS) }),
      page("b", { until: inDays(1) }),
      page("c", { messages: [] }),
    ];
    await database.write(threadId, pages);
    await database.write(threadId, [page("a-_1", { messages: [], until: inDays(5) }), page("d")]);
    const found = await database.read(threadId, ["d", "c", "b", "a-_1", "none"]);
    expect(sorted(found)).toEqual(sorted([...pages, page("d")]));
    expect(await database.read(threadId, [])).toEqual([]);
    expect((await database.keys(threadId)).sort()).toEqual(["a-_1", "b", "c", "d"]);
    expect(await database.load(threadId), "pages are not a head").toBeNull();
  });

  test("pages are removed, others stay", async (database) => {
    const threadId = newThread();
    await database.swap({ threadId, expected: null, head: smallHead() });
    await database.write(threadId, [page("a"), page("b"), page("c")]);
    await database.remove(threadId, ["a", "none", "c"]);
    await database.remove(threadId, ["a"]);
    await database.remove(threadId, []);
    expect(await database.keys(threadId)).toEqual(["b"]);
    await expectHead(database, threadId, smallHead());
  });

  test("an until is only raised", async (database) => {
    const threadId = newThread();
    const untils = [inDays(1), inDays(3), undefined];
    await database.write(
      threadId,
      untils.map((until, index) => page(`${index}`, { until })),
    );
    const read = async () =>
      (await database.read(threadId, ["0", "1", "2"]))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ until }) => until);
    await database.raise(threadId, ["0", "1", "2", "none"], inDays(2));
    expect(await read()).toEqual([inDays(2), inDays(3), undefined]);
    await database.raise(threadId, ["1"], undefined);
    expect(await read()).toEqual([inDays(2), undefined, undefined]);
    expect((await database.keys(threadId)).sort(), "a raise creates nothing").toEqual(["0", "1", "2"]);
  });

  test("what is past its until may be deleted, nothing else", async (database, { sweep }) => {
    const [threadId, dead] = [newThread(), newThread()];
    const past = Date.now() - 10_000;
    await database.swap({ threadId, expected: null, head: smallHead({ expiresAt: past }) });
    await database.write(threadId, [
      page("a", { until: past }),
      page("b", { until: inDays(1) }),
      page("c"),
      page("d", { until: past }),
    ]);
    await database.raise(threadId, ["d"], inDays(1));
    await database.swap({ threadId: dead, expected: null, head: smallHead({ until: past }) });
    for (const one of [threadId, dead]) await sweep(one);
    expect((await database.keys(threadId)).sort()).toEqual(["b", "c", "d"]);
    expect(await database.load(threadId)).not.toBeNull();
    expect(await database.load(dead)).toBeNull();
    expect(await database.swap({ threadId: dead, expected: null, head: smallHead() })).toBe(true);
  });

  test("threads never mix", async (database) => {
    const base = newThread();
    const names = ["", "a", ":", "%", "$a.b", "\0", "é", "e\u0301", "💬", "/a", "A", "é:%".repeat(240)].map(
      (end) => base + end,
    );
    for (const [index, threadId] of names.entries()) {
      await database.swap({ threadId, expected: null, head: smallHead({ n: index + 1 }) });
      await database.write(threadId, [page("same", { messages: messages(index, ["a"]) })]);
    }
    for (const [index, threadId] of names.entries()) {
      await expectHead(database, threadId, smallHead({ n: index + 1 }));
      expect(await database.keys(threadId)).toEqual(["same"]);
      expect((await database.read(threadId, ["same"]))[0]?.messages).toEqual(messages(index, ["a"]));
    }
    await database.remove(names[0] ?? "", ["same"]);
    for (const threadId of names.slice(1)) expect(await database.keys(threadId)).toEqual(["same"]);
  });

  test("documents of the largest size", async (database) => {
    const threadId = newThread();
    const size = database.capabilities.maxDocumentBytes - 128;
    for (const [index, text] of ["x".repeat(size), '"\\'.repeat(size / 2), "é".repeat(size / 2)].entries()) {
      await database.write(threadId, [page(`${index}`, { messages: messages(1, [text]) })]);
      const [found] = await database.read(threadId, [`${index}`]);
      expect(found?.messages[0]?.text === text, `page ${index}`).toBe(true);
    }
    const large = smallHead({
      tail: messages(1, Array(64).fill("y".repeat(2_000))),
      metadata: { text: "m".repeat(16_384) },
    });
    await database.swap({ threadId, expected: null, head: large });
    await expectHead(database, threadId, large);
    await database.write(
      threadId,
      Array.from({ length: 20 }, (_, index) =>
        page(`large${index}`, { messages: messages(1, ["z".repeat(MIB / 4)]) }),
      ),
    );
    expect(await database.keys(threadId)).toHaveLength(23);
  });

  test(`verbs with ${MANY} pages, in few requests`, async (database, harness) => {
    const threadId = newThread();
    const ids = Array.from({ length: MANY }, (_, index) => `page-${index}`);
    const before = harness.requestCount();
    await database.write(
      threadId,
      ids.map((id) => page(id, { until: inDays(1) })),
    );
    await database.raise(threadId, ids, inDays(2));
    const read = await database.read(threadId, ids);
    expect(new Set(read.map(({ id, until }) => `${id} ${until}`)).size).toBe(MANY);
    expect(read.every(({ until }) => until === inDays(2))).toBe(true);
    expect((await database.keys(threadId)).sort()).toEqual(ids.toSorted());
    await database.remove(threadId, ids);
    expect(await database.keys(threadId)).toEqual([]);
    expect(harness.requestCount() - before, "requests").toBeLessThanOrEqual(6 * Math.ceil(MANY / 25));
  });

  test("each verb is one request for few pages", async (database, { requestCount }) => {
    const threadId = newThread();
    // The first one may connect.
    await database.load(threadId);
    const verbs: readonly (() => Promise<unknown>)[] = [
      () => database.load(threadId),
      () => database.swap({ threadId, expected: null, head: head() }),
      () => database.swap({ threadId, expected: loadedHead(head()), head: { ...head(), n: 2 }, pushed: 0 }),
      () => database.write(threadId, [page("a", { until: inDays(1) }), page("b")]),
      () => database.read(threadId, ["a", "b"]),
      () => database.raise(threadId, ["a", "b"], inDays(2)),
      () => database.keys(threadId),
      () => database.remove(threadId, ["a", "b"]),
    ];
    for (const [index, verb] of verbs.entries()) {
      const before = requestCount();
      await verb();
      expect(requestCount() - before, `verb ${index}`).toBe(1);
    }
  });
}
