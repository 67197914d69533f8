import { createMemoryStores, createStores, MemoryDriver, StoreError } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { Agent, SessionManager } from "@strands-agents/sdk";
import { InMemoryStorage } from "@strands-agents/sdk/storage";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { ScrollbackStorage } from "../src/index.ts";
import { EchoModel } from "./echo-model.ts";
import { declareStorageTests } from "./storage-tests.ts";

withoutChance();

const memoryDriver = new MemoryDriver();
declareStorageTests("memory", async () => createStores(memoryDriver));
const url = scratchUrl();
declareStorageTests("SQLite", async () => createSqliteStores({ url }));

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

test("a deleted session leaves no value and no name", async () => {
  const stores = createMemoryStores();
  const storage = new ScrollbackStorage({ stores });
  for (const sessionId of ["ada", "bob"]) {
    const sessionManager = new SessionManager({ sessionId, storage });
    const agent = new Agent({ model: new EchoModel(), sessionManager, printer: false });
    await agent.invoke("Which tram?");
    await storage.flush();
    if (sessionId === "ada") await sessionManager.deleteSession();
  }
  const keys = await storage.list("");
  expect(keys.length).toBeGreaterThan(0);
  for (const one of keys) expect(one).toContain("bob");
  const group = keys[0]?.split("/").slice(0, 2).join("/").replace("bob", "ada");
  const list = stores.open(`strands:keys:${encodeURIComponent(`${group}/`)}`);
  expect(await list.read()).toMatchObject({ revision: null, entries: [] });
  const groups = JSON.stringify((await stores.open("strands:groups").read()).entries);
  expect(groups).toContain("session/bob");
  expect(groups).not.toContain("session/ada");
});

test("a deletion by another process leaves no name, also if the writer's notes arrive later", async () => {
  const stores = createMemoryStores();
  for (const isNoted of [false, true]) {
    const [writer, deleter] = [1, 2].map(() => new ScrollbackStorage({ stores })) as [
      ScrollbackStorage,
      ScrollbackStorage,
    ];
    await writer.write("session/deleted/a", new Uint8Array([1]));
    // The note of the write is in the list after 1 second; the mark stays open for 30 seconds.
    if (isNoted) await new Promise((resolve) => setTimeout(resolve, 1_200));
    await deleter.delete("session/deleted/a");
    await deleter.flush();
    await writer.flush();
    const left: string[] = [];
    for await (const { threadId } of stores.iterateThreads()) left.push(threadId);
    expect(left).toEqual(["strands:groups"]);
    expect(JSON.stringify(await stores.open("strands:groups").read())).not.toContain("deleted");
  }
});

test("a key that two processes create concurrently is listed once, and one deletion removes it", async () => {
  const stores = createMemoryStores();
  const pair = [1, 2].map(() => new ScrollbackStorage({ stores }));
  for (let round = 0; round < 5; round++) {
    const keys = [`s/${round}/a`, `s/${round}/b`];
    await Promise.all(
      keys.flatMap((one) => pair.map((storage, index) => storage.write(one, new Uint8Array([index])))),
    );
    for (const storage of pair) await storage.flush();
    expect(await pair[0]?.list(`s/${round}/`)).toEqual(keys);
    for (const one of keys) await pair[round % 2]?.delete(one);
    expect(await pair[1]?.list(`s/${round}/`)).toEqual([]);
    for (const one of keys) expect(await pair[0]?.read(one)).toBeNull();
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
  expect(threads.sort()).toEqual(["strands:keys:", "strands:value:large"]);
  expect((await storage.read("large"))?.length).toBe(large.length);
  await storage.write("large", new Uint8Array([1]));
  expect(await storage.read("large")).toEqual(new Uint8Array([1]));
});

test("a write over a known value is one commit and a mark every 30 seconds; a list is one read", async () => {
  const driver = new MemoryDriver();
  const calls: string[] = [];
  for (const name of ["commit", "read"] as const) {
    const method = driver[name].bind(driver) as (request: { threadId: string }) => never;
    driver[name] = (request: { threadId: string }) => {
      calls.push(`${name} ${request.threadId}`);
      return method(request);
    };
  }
  const storage = new ScrollbackStorage({ stores: createStores(driver) });
  await storage.write("s/1/a", new Uint8Array([1]));
  await storage.flush();
  calls.length = 0;
  for (let turn = 0; turn < 3; turn++) await storage.write("s/1/a", new Uint8Array([turn]));
  const [mark, ...commits] = calls;
  expect(mark).toBe("commit strands:keys:s%2F1%2F");
  expect(commits).toEqual(Array(3).fill("commit strands:value:s%2F1%2Fa"));
  await storage.flush();
  calls.length = 0;
  expect(await storage.list("s/1/")).toEqual(["s/1/a"]);
  expect(calls).toEqual(["read strands:keys:s%2F1%2F"]);
});

test("after a process died while creating a key, other processes list the key", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const dying = new ScrollbackStorage({ stores });
  const { commit } = driver;
  let isDead = false;
  driver.commit = async (request) => {
    if (isDead) throw new StoreError("ABORTED", "the process died");
    const outcome = await commit.call(driver, request);
    isDead ||= request.threadId === "strands:value:s%2F1%2Fa";
    return outcome;
  };
  await expect(dying.write("s/1/a", new Uint8Array([1]))).rejects.toThrow(StoreError);
  driver.commit = commit;
  expect(await new ScrollbackStorage({ stores }).list("s/1/")).toEqual(["s/1/a"]);
  expect(await new ScrollbackStorage({ stores }).list("")).toEqual(["s/1/a"]);
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
