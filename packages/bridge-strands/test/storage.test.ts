import { iterateEntries, rebuildLists } from "@scrollback/collections";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { InMemoryStorage } from "@strands-agents/sdk/storage";
import fc from "fast-check";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ScrollbackStorage } from "../src/index.ts";
import { declareStorageTests } from "./storage-tests.ts";

const memoryDriver = new MemoryDriver();
declareStorageTests("memory", async () => createStores(memoryDriver));

const key = fc.constantFrom("a", "b/c", "s/1/a", "s/1/b", "s/2/a", "s/2/a/deep");
const step = fc.oneof(
  fc.record({ kind: fc.constant("write" as const), key, data: fc.uint8Array({ maxLength: 3 }) }),
  fc.record({ kind: fc.constantFrom("read" as const, "delete" as const), key }),
  fc.record({
    kind: fc.constant("list" as const),
    key: fc.constantFrom("", "s", "s/", "s/1", "s/1/", "s/2/a", "b/", "x/y/z"),
  }),
  fc.record({ kind: fc.constant("flush" as const), key }),
);

test("any steps of two processes have the same outcomes as with InMemoryStorage", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 20 }), async (steps) => {
      const stores = createMemoryStores();
      const ours = [1, 2].map(() => new ScrollbackStorage({ stores }));
      const theirs = new InMemoryStorage();
      for (const [one, isOther] of steps) {
        const storage = ours[isOther ? 1 : 0];
        if (!storage) continue;
        if (one.kind === "write") {
          await Promise.all([storage.write(one.key, one.data), theirs.write(one.key, one.data)]);
        } else if (one.kind === "delete") {
          await Promise.all([storage.delete(one.key), theirs.delete(one.key)]);
        } else if (one.kind === "flush") await storage.flush();
        else expect(await storage[one.kind](one.key)).toEqual(await theirs[one.kind](one.key));
      }
      expect(await ours[0]?.list("")).toEqual(await theirs.list(""));
      for (const storage of ours) await storage.flush();
    }),
    { numRuns: 150 },
  );
});

test("after a backend has lost its indexes, a rebuild lists all keys again", async () => {
  const stores = createMemoryStores();
  const storage = new ScrollbackStorage({ stores });
  const keys = ["a", "s/1/a", `s/1/${"x".repeat(300)}`];
  for (const one of keys) await storage.write(one, new Uint8Array());
  for await (const { index, entry } of iterateEntries(stores))
    await stores.index(index).remove({ key: entry.key, id: entry.id });
  expect(await storage.list("")).toEqual([]);
  expect(await rebuildLists(stores)).toEqual({ listed: 3, rebuilt: 3 });
  expect(await storage.list("")).toEqual(keys);
  await storage.flush();
});

test("a deletion by another process leaves no name, also if a reader tells the list later", async () => {
  const stores = createMemoryStores();
  for (const isTold of [false, true]) {
    const [writer, reader, deleter] = [1, 2, 3].map(() => new ScrollbackStorage({ stores })) as [
      ScrollbackStorage,
      ScrollbackStorage,
      ScrollbackStorage,
    ];
    await writer.write("session/deleted/a", new Uint8Array([1]));
    // Its first read tells the list within a second, in case that the writer died before it did.
    await reader.read("session/deleted/a");
    if (isTold) await reader.flush();
    await deleter.delete("session/deleted/a");
    for (const storage of [deleter, reader, writer]) await storage.flush();
    expect((await stores.listThreads()).threads).toEqual([]);
    expect((await stores.listIndexes()).names).toEqual([]);
  }
});

test("a value of several megabytes is one commit, and a value that is too large changes nothing", async () => {
  const stores = createMemoryStores();
  const storage = new ScrollbackStorage({ stores });
  const large = new Uint8Array(20 * 1_024 ** 2).map((_, index) => index % 251);
  await storage.write("large", large);
  expect(Buffer.compare((await storage.read("large")) ?? new Uint8Array(), large)).toBe(0);
  const tooLarge = new Uint8Array(60 * 1_024 ** 2);
  await expect(storage.write("large", tooLarge)).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(storage.write("new/large/one", tooLarge)).rejects.toMatchObject({ code: "TOO_LARGE" });
  const threads: string[] = [];
  for await (const { threadId } of stores.iterateThreads()) threads.push(threadId);
  expect(threads).toEqual(["strands:value:large"]);
  expect((await stores.listIndexes()).names).toEqual(["strands:keys:"]);
  expect((await storage.read("large"))?.length).toBe(large.length);
  await storage.write("large", new Uint8Array([1]));
  expect(await storage.read("large")).toEqual(new Uint8Array([1]));
});

test("a new key takes 4 requests, a write over a known one 1, and a list of a session 1", async () => {
  const driver = new WatchedDriver(new MemoryDriver());
  const stores = createStores(driver);
  const storage = new ScrollbackStorage({ stores });
  const requests = () => {
    const { reads, commits, deletions, entries } = driver;
    const all = [...reads.map(({ threadId }) => `read ${threadId}`), ...commits, ...deletions, ...entries];
    driver.reset();
    return all;
  };
  const [thread, index] = ["strands:value:s%2F1%2Fa", "strands:keys:s%2F1%2F"];
  await storage.write("s/1/a", new Uint8Array([1]));
  expect(requests()).toEqual([`read ${thread}`, thread, `insertEntry ${index}`, `updateEntry ${index}`]);
  for (let turn = 0; turn < 3; turn++) await storage.write("s/1/a", new Uint8Array([turn]));
  await storage.flush();
  expect(requests()).toEqual([thread, thread, thread]);
  for (const sessionId of [1, 2, 3, 4]) await storage.write(`other/${sessionId}/a`, new Uint8Array());
  requests();
  expect(await storage.list("s/1/")).toEqual(["s/1/a"]);
  expect(requests()).toEqual([`listEntries ${index}`]);
  expect(await storage.list("s/")).toEqual(["s/1/a"]);
  expect(requests()).toEqual(["listIndexes strands:keys:", `listEntries ${index}`]);
  // A process tells an entry once, in case that its creator died before it did.
  const other = new ScrollbackStorage({ stores });
  for (let turn = 0; turn < 3; turn++) await other.read("s/1/a");
  await other.flush();
  expect(requests()).toEqual([...Array(3).fill(`read ${thread}`), `updateEntry ${index}`]);
  await storage.delete("s/1/a");
  expect(requests()).toEqual([`read ${thread}`, thread, `updateEntry ${index}`, `removeEntry ${index}`]);
});

test("all keys of a long list are returned, of sessions with long names too", async () => {
  const storage = new ScrollbackStorage({ stores: createMemoryStores() });
  const long = `${"x".repeat(300)}/1/`;
  const keys = Array.from({ length: 250 }, (_, index) => `${long}${index}`);
  for (const one of keys) await storage.write(one, new Uint8Array());
  expect(await storage.list(long)).toEqual(keys.sort());
  expect(await storage.list("x")).toEqual(keys);
  expect(await storage.list("y")).toEqual([]);
});

test("after a process died at any request of a creation, a key is listed if it can be read", async () => {
  const outcomes: boolean[] = [];
  for (let writesLeft = 0; writesLeft < 4; writesLeft++) {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    const watched = new WatchedDriver(driver);
    watched.writesLeft = writesLeft;
    const writing = new ScrollbackStorage({ stores: createStores(watched) }).write("s/1/a", new Uint8Array());
    await Promise.race([writing, watched.death]);
    const storage = new ScrollbackStorage({ stores });
    outcomes.push((await storage.read("s/1/a")) !== null);
    for (const prefix of ["s/1/", ""])
      expect(await storage.list(prefix)).toEqual(outcomes.at(-1) ? ["s/1/a"] : []);
    await storage.flush();
  }
  expect(outcomes).toEqual([false, false, true, true]);
});

test("a key whose value is damaged can be deleted, and one whose list could not be told is written", async () => {
  const driver = new MemoryDriver();
  const failures: unknown[] = [];
  const index = wrappedIndex(driver.index, async (verb, run) => {
    if (verb === "updateEntry" && failures.length === 0)
      throw new StoreError("ABORTED", "the reply was lost");
    return await run();
  });
  const stores = createStores(Object.assign(driver, { index }));
  const storage = new ScrollbackStorage({ stores, onError: (error) => failures.push(error) });
  await storage.write("s/1/a", new Uint8Array([1]));
  expect(failures).toHaveLength(1);
  await stores.open("strands:value:s%2F1%2Fa").commit({ metadata: "damaged" });
  await expect(storage.read("s/1/a")).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await storage.list("s/1/")).toEqual(["s/1/a"]);
  await storage.delete("s/1/a");
  expect((await stores.listThreads()).threads).toEqual([]);
  expect(await storage.list("s/1/")).toEqual([]);
});

test("invalid input is refused before any I/O, and bytes are copied", async () => {
  const stores = createMemoryStores();
  for (const options of [
    undefined,
    {},
    { stores: {} },
    { stores: createMemoryStores({ maxMessages: 9 }) },
    { stores: createMemoryStores({ ttlMs: 9 }) },
    { stores, more: 1 },
  ])
    expect(() => new ScrollbackStorage(options as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: expect.stringMatching(/^ScrollbackStorage: /),
      }),
    );
  const storage = new ScrollbackStorage({ stores });
  const data = new Uint8Array([1]);
  const writing = storage.write("a", data);
  data[0] = 2;
  await writing;
  expect(await storage.read("a")).toEqual(new Uint8Array([1]));
  const buffer = Buffer.from("at the call");
  const writingBuffer = storage.write("b", buffer);
  buffer.fill("x");
  await writingBuffer;
  expect(Buffer.from((await storage.read("b")) ?? []).toString()).toBe("at the call");
  await storage.flush();
  await stores.close();
  const calls = [
    storage.write("", data),
    storage.write("a", "text" as never),
    storage.write("x".repeat(1_025), data),
    storage.read("\ud800"),
    storage.delete(5 as never),
    storage.list(undefined as never),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(storage.read("a")).rejects.toMatchObject({ code: "CLOSED" });
});
