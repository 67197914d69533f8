import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores, createStores } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { dialogue, message } from "../src/contract/values.ts";
import { ChatStore } from "../src/index.ts";
import { CountingDriver } from "./counting-driver.ts";

const READ = "read chat";
const COMMIT = "commit chat";
const NOTE = "commit directory";

function setUp() {
  const driver = new CountingDriver();
  const connect = () => {
    const chats = new ChatStore<ReturnType<typeof message>>({ stores: createStores(driver) });
    return { chats, mine: chats.of("ada") };
  };
  return { driver, connect, ...connect() };
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

withoutChance();

describe("requests", () => {
  test("create: a read, a mark and a commit", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue("q") });
    expect(driver.take()).toEqual([READ, NOTE, COMMIT]);
  });

  test("get and read: one read", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(200)) });
    driver.take();
    await mine.get("c");
    expect(driver.take()).toEqual([READ]);
    await mine.read("c");
    expect(driver.take()).toEqual([READ]);
    await mine.read("c", { limit: 2 });
    expect(driver.take()).toEqual([READ]);
  });

  test("each write: a read and a commit, and a mark for the first", async () => {
    const { driver, connect } = setUp();
    await connect().mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
    const { mine } = connect();
    driver.take();
    await mine.touch("c");
    expect(driver.take()).toEqual([READ, NOTE, COMMIT]);
    const writes = [
      () => mine.update("c", { title: "T" }),
      () => mine.touch("c"),
      () => mine.append("c", [message("q3")]),
      () => mine.upsert("c", message("q3", "user", "other")),
      () => mine.edit("c", "q3", message("q4")),
      () => mine.truncate("c", { from: "q4" }),
      () => mine.dropAnswer("c"),
    ];
    for (const write of writes) {
      await write();
      expect(driver.take()).toEqual([READ, COMMIT]);
    }
  });

  test("a message further back: one more read for each doubling of the distance", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(600)) });
    driver.take();
    for (const [id, reads] of [
      ["m599", 1],
      ["m536", 1],
      ["m535", 2],
      ["m472", 2],
      ["m471", 3],
      ["m0", 5],
    ] as const) {
      await mine.upsert("c", message(id, "user", "new"));
      expect(driver.take()).toEqual([...Array(reads).fill(READ), COMMIT]);
    }
  });

  test("the notes of several writes are one request within a second", async () => {
    const { driver, chats, mine } = setUp();
    for (const id of ids(5)) await mine.create({ id });
    driver.take();
    await chats.flush();
    expect(driver.take()).toEqual([NOTE]);
  });

  test("delete: a read, a mark and a deletion, then a read and a commit of the directory", async () => {
    const { driver, connect, chats, mine } = setUp();
    await mine.create({ id: "c" });
    await mine.create({ id: "kept" });
    await chats.flush();
    driver.take();
    await connect().mine.delete("c");
    expect(driver.take()).toEqual([READ, NOTE, "delete chat", "read directory", NOTE]);
    await connect().mine.delete("c");
    // What an expired chat may have left.
    expect(driver.take()).toEqual([READ, "delete chat", "read directory"]);
  });

  test("fork: a read, a mark and a commit; export: a read; import: a mark and a commit", async () => {
    const { driver, chats, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(200)) });
    await chats.flush();
    driver.take();
    await mine.fork("c", { at: "m100" });
    expect(driver.take()).toEqual([READ, NOTE, COMMIT]);
    const data = await mine.export("c");
    expect(driver.take()).toEqual([READ]);
    await mine.import(data);
    expect(driver.take()).toEqual([NOTE, COMMIT]);
  });

  test("begin to end: a read and a commit, one request for each beat, a commit", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(200)) });
    driver.take();
    const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
    expect(driver.take()).toEqual([READ, COMMIT]);
    for (const text of ["one", "one two"]) {
      run.update(message("a", "assistant", text));
      await run.save();
      expect(driver.take()).toEqual([COMMIT]);
    }
    await run.end({ message: message("a", "assistant", "all"), status: "complete" });
    expect(driver.take()).toEqual([COMMIT]);
  });

  test("a beat without changes: a read, and a commit before the lease ends", async () => {
    const driver = new CountingDriver();
    let time = 1_000_000;
    const stores = createStores(driver);
    const chats = new ChatStore({ stores, now: () => time, beatMs: 20, leaseMs: 60_000 });
    const run = await chats.of("ada").begin("c", { append: [message("q")] });
    driver.take();
    await sleep(150);
    expect(new Set(driver.take())).toEqual(new Set([READ]));
    for (const ms of [20_000, 59_000]) {
      time += ms;
      await expect.poll(() => driver.take()).toContain(COMMIT);
      expect((await chats.of("ada").get("c"))?.run?.state).toBe("running");
    }
    await run.end({ status: "stopped" });
    driver.take();
    await sleep(100);
    expect(driver.take().filter((one) => one.endsWith("chat"))).toEqual([]);
  });

  test("follow: one read per interval, one more for a change, one at once for a write of this process", async () => {
    const { driver, connect, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(100)) });
    const controller = new AbortController();
    const { signal } = controller;
    const theirs = connect().mine.follow("c", { everyMs: 200, signal })[Symbol.asyncIterator]();
    driver.take();
    await theirs.next();
    expect(driver.take()).toEqual([READ]);
    const next = theirs.next();
    await mine.touch("c");
    expect(driver.take()).toEqual([READ, COMMIT]);
    expect((await next).value).toMatchObject({ type: "changed", index: 100, entries: [] });
    expect(driver.take()).toEqual([READ, READ]);
    const own = mine.follow("c", { everyMs: 60_000, signal })[Symbol.asyncIterator]();
    await own.next();
    const change = own.next();
    driver.take();
    await mine.append("c", [message("new")]);
    expect((await change).value).toMatchObject({ index: 100, entries: [{ message: { id: "new" } }] });
    expect(driver.take()).toEqual([READ, COMMIT, READ]);
    controller.abort();
  });

  test("list: one read, then one concurrent read for each chat with a write in progress", async () => {
    const { driver, connect, chats, mine } = setUp();
    for (const id of ids(5)) await mine.create({ id });
    await chats.flush();
    driver.take();
    await connect().mine.list();
    expect(driver.take()).toEqual(["read directory"]);
    await mine.touch("m1");
    await mine.touch("m2");
    driver.take();
    await connect().mine.list();
    expect(driver.take()).toEqual(["read directory", READ, READ]);
  });

  test("list: the newest chats are one read for any number of chats; older pages read leaves", async () => {
    vi.restoreAllMocks();
    const { driver, connect, chats, mine } = setUp();
    // Each note starts the compaction into leaves with some probability: after 600 notes it has run.
    for (let round = 0; round < 2; round++) {
      for (const id of ids(300)) await (round === 0 ? mine.create({ id }) : mine.touch(id));
      await chats.flush();
    }
    driver.take();
    const reader = connect().mine;
    let page = await reader.list({ limit: 30 });
    expect(page.chats).toHaveLength(30);
    expect(driver.take()).toEqual(["read directory"]);
    for (let listed = 30; listed < 300; listed += page.chats.length) {
      if (page.cursor === undefined) throw new Error(`${listed} chats of 300`);
      page = await reader.list({ limit: 30, cursor: page.cursor });
      const [first, ...leaves] = driver.take();
      expect(first).toBe("read directory");
      expect(leaves.filter((one) => one !== "read leaf")).toEqual([]);
      expect(leaves.length).toBeLessThanOrEqual(2);
    }
  });
});

test("deleteAll lets other events of the process run between chats", async () => {
  const mine = new ChatStore({ stores: createMemoryStores() }).of("ada");
  for (let index = 0; index < 64; index++) await mine.create({ id: `c${index}` });
  let ticks = 0;
  let isOver = false;
  const tick = () => {
    ticks += 1;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await mine.deleteAll();
  isOver = true;
  expect(ticks).toBeGreaterThanOrEqual(8);
});
