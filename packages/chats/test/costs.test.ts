import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test, vi } from "vitest";
import { ChatStore } from "../src/index.ts";
import { dialogue, message } from "./contract/values.ts";
import { CountingDriver } from "./counting-driver.ts";

const READ = "read chat";
const COMMIT = "commit chat";
const INSERT = "insertEntry";
const TELL = "updateEntry";
const REMOVE = "removeEntry";
const ERASE_STREAM = "delete stream";
const LIST = "listEntries";
const PART = "commit chats";

function setUp() {
  const driver = new CountingDriver();
  const connect = () => {
    const chats = new ChatStore<ReturnType<typeof message>>({ stores: createStores(driver) });
    return { chats, mine: chats.of("ada") };
  };
  return { driver, connect, ...connect() };
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

describe("requests", () => {
  test("create: a read, its entry, a commit, and the entry again", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue("q") });
    expect(driver.take()).toEqual([READ, INSERT, COMMIT, TELL]);
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

  test("each write: a read and a commit, and its entry: at once for an update, otherwise within a second", async () => {
    const { driver, chats, connect } = setUp();
    await connect().mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
    const { mine } = connect();
    driver.take();
    await mine.update("c", { title: "T" });
    expect(driver.take()).toEqual([READ, COMMIT, TELL]);
    const writes = [
      () => mine.touch("c"),
      () => mine.append("c", [message("q3")]),
      () => mine.upsert("c", message("q3", "user", "other")),
      () => mine.updateMessage("c", "a", { metadata: 1 }),
    ];
    for (const write of writes) {
      await write();
      expect(driver.take()).toEqual([READ, COMMIT]);
    }
    // Beside the caller: whether a process that died has left a copy of what is dropped.
    const drops = [
      () => mine.edit("c", "q3", message("q4")),
      () => mine.truncate("c", { from: "q4" }),
      () => mine.dropAnswer("c"),
    ];
    for (const drop of drops) {
      await drop();
      expect(driver.take()).toEqual([READ, COMMIT, LIST]);
    }
    await vi.waitFor(() => expect(driver.take()).toEqual([TELL]), 2_000);
    await chats.flush();
  });

  test("one message: a read; a deletion also a commit and its entry; a move", async () => {
    const { driver, chats, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue("q", "a") });
    driver.take();
    await mine.readMessage("c", "q");
    expect(driver.take()).toEqual([READ]);
    await mine.deleteMessage("c", "q");
    expect(driver.take()).toEqual([READ, COMMIT, TELL, LIST]);
    await chats.move("c", { from: "ada", to: "eve" });
    expect(driver.take()).toHaveLength(14);
  });

  test("update to another list: another entry, and the first one is removed", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c" });
    driver.take();
    await mine.update("c", { archived: true });
    expect(driver.take()).toEqual([READ, INSERT, COMMIT, TELL, REMOVE]);
    await mine.update("c", { title: "T" });
    // A process that died would not have told the new list, nor removed it from the old one.
    expect(driver.take()).toEqual([READ, READ, TELL, REMOVE, COMMIT, TELL]);
    await mine.update("c", { title: "U" });
    expect(driver.take()).toEqual([READ, COMMIT, TELL]);
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

  test("the entries of several writes are told once", async () => {
    const { driver, chats, mine } = setUp();
    for (const id of ids(5)) await mine.create({ id });
    for (const id of ids(5)) for (let time = 0; time < 3; time++) await mine.touch(id);
    driver.take();
    await chats.flush();
    expect(driver.take()).toEqual(Array(5).fill(TELL));
  });

  test("delete: a read, its entry, the thread, what belongs to it, and the entry again", async () => {
    const { driver, connect, chats, mine } = setUp();
    await mine.create({ id: "c" });
    await mine.create({ id: "kept" });
    await chats.flush();
    driver.take();
    await connect().mine.delete("c");
    expect(driver.take()).toEqual([READ, TELL, "delete chat", LIST, ERASE_STREAM, LIST, REMOVE]);
    await connect().mine.delete("c");
    // What an expired chat may have left.
    expect(driver.take()).toEqual([READ, "delete chat", LIST, ERASE_STREAM, LIST, "entriesOf", "entriesOf"]);
  });

  test("siblings: to keep one costs two requests more; a read none; a switch three before and three behind it", async () => {
    const { driver, chats, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue("q", "a") });
    driver.take();
    const run = await mine.begin("c", { keep: 1, keepSibling: true }, { messageId: "b" });
    expect(driver.take()).toEqual([READ, INSERT, PART, COMMIT, TELL]);
    await run.end({ message: message("b", "assistant"), status: "complete" });
    expect(driver.take()).toEqual([COMMIT, TELL]);
    await mine.siblings("c", "a");
    await mine.read("c");
    expect(driver.take()).toEqual([READ, READ]);
    await mine.switchTo("c", "a");
    await chats.flush();
    const sweep = [LIST, READ, "read chats", "delete chats", REMOVE];
    expect(driver.take()).toEqual([READ, "read chats", INSERT, PART, COMMIT, ...sweep, TELL]);
  });

  test("fork: a read and a creation; export: a read; import: a creation", async () => {
    const { driver, chats, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(200)) });
    await chats.flush();
    driver.take();
    await mine.fork("c", { at: "m100" });
    expect(driver.take()).toEqual([READ, INSERT, COMMIT, TELL]);
    const data = await mine.export("c");
    expect(driver.take()).toEqual([READ]);
    await mine.import(data);
    expect(driver.take()).toEqual([INSERT, COMMIT, TELL]);
  });

  test("begin to end: a read and a commit, one request for each beat, a commit; the entry twice", async () => {
    const { driver, mine } = setUp();
    await mine.create({ id: "c", messages: dialogue(...ids(200)) });
    driver.take();
    const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
    expect(driver.take()).toEqual([READ, COMMIT, TELL]);
    for (const text of ["one", "one two"]) {
      run.update(message("a", "assistant", text));
      await run.save();
      expect(driver.take()).toEqual([COMMIT]);
    }
    await run.end({ message: message("a", "assistant", "all"), status: "complete" });
    expect(driver.take()).toEqual([COMMIT, TELL]);
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

  test("list: one request, and one concurrent read for each chat with a run", async () => {
    const { driver, connect, chats, mine } = setUp();
    for (const id of ids(300)) await mine.create({ id });
    await chats.flush();
    driver.take();
    let page = await connect().mine.list({ limit: 30 });
    expect(page.chats).toHaveLength(30);
    expect(driver.take()).toEqual(["listEntries"]);
    page = await connect().mine.list({ limit: 30, cursor: String(page.cursor) });
    expect(page.chats).toHaveLength(30);
    expect(driver.take()).toEqual(["listEntries"]);
    const runs = [await mine.begin("m1", { append: [message("q")] }), await mine.begin("m2", {})];
    driver.take();
    await connect().mine.list();
    expect(driver.take()).toEqual(["listEntries", READ, READ]);
    for (const run of runs) await run.end({ status: "stopped" });
  });

  test("list: a page of an indexed label reads only chats with it; another label at most 500 chats", async () => {
    const driver = new CountingDriver();
    const mine = new ChatStore({ stores: createStores(driver), indexedLabels: ["kind"] }).of("ada");
    for (const [index, id] of ids(620).entries())
      await mine.create({ id, labels: { kind: index % 10, mood: index % 10 } });
    driver.take();
    expect((await mine.list({ labels: { kind: 3 }, limit: 62 })).chats).toHaveLength(62);
    expect(driver.take()).toEqual(["listEntries"]);
    const page = await mine.list({ labels: { mood: 3 }, limit: 62 });
    expect(page.chats).toHaveLength(50);
    expect(driver.take()).toEqual(Array(5).fill("listEntries"));
    const rest = await mine.list({ labels: { mood: 3 }, limit: 62, cursor: String(page.cursor) });
    expect(rest.chats).toHaveLength(12);
    expect(rest).not.toHaveProperty("cursor");
    const both = { labels: { kind: 3, mood: 3 }, pinned: false, limit: 10 };
    const { chats, cursor = "" } = await mine.list(both);
    expect((await mine.list({ ...both, cursor })).chats.map(({ id }) => id)).not.toContain(chats.at(-1)?.id);
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

describe("requests for files", () => {
  const ANNOUNCE = INSERT;
  const USE = INSERT;
  const PLACE = INSERT;
  const LOOK = "entriesOf";
  const ADVANCE = "updateEntry";
  const SWEEP = LIST;

  test("a new one: five before the commit; a stored one: four; two behind it", async () => {
    const { driver, chats, mine } = setUp();
    for (const id of ["c", "d"]) await mine.create({ id, messages: dialogue("q") });
    await chats.flush();
    driver.take();
    const photo = `data:image/png;base64,${Buffer.alloc(100_000).toString("base64")}`;
    const add = async (id: string) => {
      await mine.append(id, [{ ...message("photo"), photo } as never]);
      await chats.flush();
      // The entry of the chat's list is told last.
      return driver.take().slice(0, -1);
    };
    expect(await add("c")).toEqual([
      ...[READ, ANNOUNCE, USE, LOOK, "commit content", PLACE],
      ...[COMMIT, ADVANCE, SWEEP],
    ]);
    expect(await add("d")).toEqual([READ, ANNOUNCE, USE, LOOK, ADVANCE, COMMIT, ADVANCE, SWEEP]);
    await mine.read("c");
    expect(driver.take()).toEqual([READ, LOOK, "read content"]);
    await mine.read("c", { files: "references" });
    expect(driver.take()).toEqual([READ]);
    const drop = async (id: string) => {
      await mine.truncate(id, { from: "photo" });
      await chats.flush();
      return driver.take().slice(0, -1);
    };
    // The parts of the chat, and its files.
    const sweeps = [LIST, SWEEP];
    expect(await drop("d")).toEqual([READ, ADVANCE, COMMIT, REMOVE, LOOK, REMOVE, ...sweeps]);
    expect(await drop("c")).toEqual([
      ...[
        READ,
        ADVANCE,
        COMMIT,
        REMOVE,
        LOOK,
        ADVANCE,
        LOOK,
        "read content",
        "delete content",
        ADVANCE,
        REMOVE,
      ],
      ...sweeps,
    ]);
  });
});
