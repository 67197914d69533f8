import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { ChatStore } from "../src/index.ts";
import { dialogue, listedIds, message, storeError, textsIn } from "./contract/values.ts";

/** Accepts 5 messages per commit, and dies after a number of commits to chats. */
class SmallDriver extends KeptDriver {
  commitsLeft = Number.POSITIVE_INFINITY;
  override readonly capabilities = { ...new MemoryDriver().capabilities, maxCommitMessages: 5 };

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    if (args[0].threadId.startsWith("chats:chat:")) {
      if (this.commitsLeft === 0) throw new Error("the process died");
      this.commitsLeft -= 1;
    }
    return await super.commit(...args);
  }
}

const ids = Array.from({ length: 23 }, (_, index) => `m${index}`);

async function setUp() {
  const driver = new SmallDriver();
  let time = 1_000_000;
  const connect = () => new ChatStore({ stores: createStores(driver), now: () => time }).of("ada");
  const mine = connect();
  await mine.create({ id: "c" });
  for (let index = 0; index < ids.length; index += 5)
    await mine.append("c", dialogue(...ids).slice(index, index + 5));
  const wait = (ms: number) => {
    time += ms;
  };
  return { driver, connect, mine, wait };
}

const fork = { id: "copy", operationId: "op" };

test("a fork has the times of its source", async () => {
  const { driver } = await setUp();
  let time = 2_000_000;
  const mine = new ChatStore({ stores: createStores(driver), now: () => time++ }).of("ada");
  const { createdAt, updatedAt, activeAt } = await mine.fork("c", { at: "m1" });
  expect([updatedAt, activeAt]).toEqual([createdAt, createdAt]);
});

test("messages too large for one commit are copied in several", async () => {
  const { mine } = await setUp();
  const made = await mine.fork("c", fork);
  expect(made).toMatchObject({ messageCount: 23, lastMessage: { id: "m22" } });
  expect(made).not.toHaveProperty("copying");
  expect(await textsIn(mine as never, "copy")).toEqual(ids);
  expect(await mine.fork("c", fork)).toEqual(made);
});

test("a fork and an import without an operation id are also copied in several commits", async () => {
  const { mine } = await setUp();
  const { id } = await mine.fork("c");
  expect(await textsIn(mine as never, id)).toEqual(ids);
  await mine.fork("c", { id: "named" });
  expect(await textsIn(mine as never, "named")).toEqual(ids);
  const imported = await mine.import(await mine.export("c"));
  expect(await textsIn(mine as never, imported.id)).toEqual(ids);
});

for (const commits of [1, 2, 4, 7]) {
  test(`a copy that dies after ${commits} commits is visible to no reader, and the same call completes it`, async () => {
    const { driver, connect, mine } = await setUp();
    driver.commitsLeft = commits;
    await expect(mine.fork("c", fork)).rejects.toThrow();
    driver.commitsLeft = Number.POSITIVE_INFINITY;
    const theirs = connect();
    expect(await theirs.get("copy")).toBeUndefined();
    expect(await theirs.read("copy")).toBeUndefined();
    expect(await listedIds(theirs as never)).toEqual(["c"]);
    await expect(theirs.append("copy", [message("x")])).rejects.toMatchObject(storeError("NOT_FOUND"));
    await expect(theirs.create({ id: "copy" })).rejects.toMatchObject(storeError("CONFLICT", /taken/));
    await expect(theirs.fork("c", { id: "copy" })).rejects.toMatchObject(storeError("CONFLICT", /taken/));
    await theirs.fork("c", fork);
    expect(await textsIn(theirs as never, "copy")).toEqual(ids);
    expect((await listedIds(theirs as never)).toSorted()).toEqual(["c", "copy"]);
  });
}

test("a copy restarts if the source changed during it", async () => {
  const { driver, connect, mine } = await setUp();
  driver.commitsLeft = 3;
  await expect(mine.fork("c", fork)).rejects.toThrow();
  driver.commitsLeft = Number.POSITIVE_INFINITY;
  const theirs = connect();
  await theirs.edit("c", "m1", message("m1", "assistant", "changed"));
  await theirs.fork("c", fork);
  expect(await textsIn(theirs as never, "copy")).toEqual(["m0", "changed"]);
});

test("an abandoned copy is removed by a list after an hour", async () => {
  const { driver, connect, mine, wait } = await setUp();
  driver.commitsLeft = 2;
  await expect(mine.fork("c", fork)).rejects.toThrow();
  driver.commitsLeft = Number.POSITIVE_INFINITY;
  const stores = createStores(driver);
  const store = new ChatStore({ stores, now: () => 1_000_000 + 3_600_001 });
  wait(3_500_000);
  await connect().list();
  expect((await stores.open("chats:chat:ada:copy").read()).revision).not.toBeNull();
  expect(await listedIds(store.of("ada") as never)).toEqual(["c"]);
  await store.flush();
  expect((await stores.open("chats:chat:ada:copy").read()).revision).toBeNull();
});

test("an abandoned copy of a process whose clock is far ahead is removed by a list too", async () => {
  const { driver, connect } = await setUp();
  const stores = createStores(driver);
  const ahead = new ChatStore({ stores, now: () => 1_000_000 + 7_200_000 });
  driver.commitsLeft = 2;
  await expect(ahead.of("ada").fork("c", fork)).rejects.toThrow();
  driver.commitsLeft = Number.POSITIVE_INFINITY;
  await connect().list();
  await expect.poll(async () => (await stores.open("chats:chat:ada:copy").read()).revision).toBeNull();
});

test("a chat in which an old id was used again is forked at the newer message, and its import is refused", async () => {
  const mine = new ChatStore({ stores: createMemoryStores() }).of("ada");
  await mine.create({ id: "c", messages: Array.from({ length: 100 }, (_, n) => message(`m${n}`)) });
  await mine.append("c", [message("m0", "user", "again"), message("end")]);
  await expect(mine.import(await mine.export("c"))).rejects.toMatchObject({ code: "INVALID_STATE" });
  expect((await mine.fork("c", { at: "m0" })).messageCount).toBe(101);
});

test.each([
  ["of JSON", { a: 1 }],
  ["with a date", new Date(0)],
])(
  "a message and metadata nested as deeply as can be stored are written with an operation id, forked, exported and imported: %s",
  async (_, leaf) => {
    const mine = new ChatStore({ stores: createMemoryStores() }).of("ada");
    const nested = (levels: number): unknown => {
      let value: unknown = leaf;
      for (let level = 0; level < levels; level++) value = [value];
      return value;
    };
    // A store accepts 1,000 levels: the envelope, the entry and the message take one each, and so do the head and its metadata.
    const deepest = { ...message("q"), data: nested(996) };
    await expect(
      mine.create({ messages: [{ ...message("q"), data: nested(997) }] as never }),
    ).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /1000 levels/));
    const metadata = { data: nested(997) };
    const call = (operationId: string) => ({ operationId });
    await mine.create({ id: "c", messages: [deepest], metadata }, call("create"));
    await mine.append("c", [{ ...deepest, id: "q2" }], call("append"));
    await mine.upsert("c", { ...deepest, id: "q2" }, call("upsert"));
    await mine.edit("c", "q2", { ...deepest, id: "q3" }, call("edit"));
    const change = { append: [{ ...deepest, id: "q4" }] };
    const run = await mine.begin("c", change, { ...call("begin"), create: { metadata } });
    await run.end({ message: { ...deepest, role: "assistant" } as never, status: "complete" });
    await mine.fork("c", { id: "fork", ...call("fork") });
    const data = await mine.export("c");
    await mine.import(structuredClone(data), { id: "import", ...call("import") });
    const page = await mine.read("c");
    expect(page?.entries).toHaveLength(4);
    expect(page?.chat.metadata).toEqual(metadata);
    for (const id of ["fork", "import"]) {
      const copy = await mine.read(id);
      expect(copy?.entries.map((entry) => entry.message)).toEqual(
        page?.entries.map((entry) => entry.message),
      );
      expect(copy?.chat.metadata).toEqual(metadata);
    }
  },
);
