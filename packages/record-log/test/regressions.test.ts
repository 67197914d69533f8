import type { Change, MessageStore } from "@scrollback/store-core";
import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import {
  addEach,
  assistant,
  bytesOf,
  contentsOf,
  DAY,
  openReference,
  Scene,
  system,
  THREAD,
  user,
} from "./scenes.ts";

// Threads in everyday use. The backend deletes their dead and expired rows each day.

describe.each(["turns", "exact"] as const)("trimming %s, 40 messages a day", (trimming) => {
  /** Compares the thread with the memory driver's after each of ten days. On day 3 it also commits `changes`. */
  async function compareForTenDays(...changes: Change[]): Promise<void> {
    const options = { maxMessages: 200, trimming };
    const scene = new Scene();
    const { store } = scene.open(options);
    const reference = openReference(options);
    const both = async (run: (thread: MessageStore) => Promise<unknown>) => {
      await run(store);
      await run(reference);
    };
    for (let day = 1; day <= 10; day++) {
      for (let turn = 0; turn < 20; turn++) {
        await both((thread) => thread.addMessages([user(`question ${day}.${turn}`)]));
        await both((thread) => thread.addMessages([assistant(`answer ${day}.${turn}`)]));
      }
      for (const change of day === 3 ? changes : []) await both((thread) => thread.commit(change));
      scene.wait(DAY);
      expect(await contentsOf(store), `day ${day}`).toEqual(await contentsOf(reference));
      expect((await store.read()).metadata, `day ${day}`).toBe((await reference.read()).metadata);
    }
  }

  test("C6 200 messages stay after one answer was regenerated", async () => {
    await compareForTenDays({ drop: 1, append: [assistant("regenerated")] });
  });

  test("C6 200 messages stay after a drop of 30 messages", async () => {
    await compareForTenDays({ drop: 30 });
  });

  test("C18 200 messages stay after the metadata was replaced once", async () => {
    await compareForTenDays({ metadata: "a title" }, { metadata: "another title" });
  });
});

test("C11 all messages stay while stores with a ttl of 30 days and of 7 days write to one thread", async () => {
  const scene = new Scene();
  const [long, short] = [scene.open({ ttlMs: 30 * DAY }), scene.open({ ttlMs: 7 * DAY })];
  const added = await addEach(long.store, 1, "long ");
  for (let day = 1; day <= 60; day++) {
    added.push(...(await addEach(short.store, 1, `day ${day}, `)));
    scene.wait(DAY);
    expect(await contentsOf(short.store), `day ${day}`).toEqual(added);
  }
});

test("C11 a large message stays when a store without ttl commits between its fragments", async () => {
  const scene = new Scene(64 * 1024);
  const [expiring, permanent] = [scene.open({ ttlMs: 7 * DAY }), scene.open()];
  const large = "large ".repeat(100_000);
  await expiring.store.addMessages([user("first")]);
  let inserts = 0;
  expiring.log.before = (request) =>
    request.verb === "insert" && ++inserts === 5
      ? permanent.store.addMessages([user("meanwhile")])
      : undefined;
  await expiring.store.addMessages([user(large)]);
  await permanent.store.addMessages([user("last")]);
  scene.wait(60 * DAY);
  expect(await contentsOf(permanent.store)).toEqual(["first", "meanwhile", large, "last"]);
});

test("C12 a message of 1 MiB to a thread that expired long ago is written once", async () => {
  const scene = new Scene();
  await scene.open({ ttlMs: 30 * DAY }).store.addMessages([user("first")]);
  scene.now += 45 * DAY;
  const { log, store } = scene.open();
  const large = "x".repeat(2 ** 20);
  await store.addMessages([user(large)]).catch((error: Error) => expect.soft(error).toBeUndefined());
  const written = log.requests.flatMap((request) => (request.verb === "insert" ? [request.row] : []));
  expect.soft(written.length, "inserts").toBeLessThanOrEqual(8);
  expect
    .soft(
      written.reduce((sum, row) => sum + bytesOf(row), 0),
      "bytes",
    )
    .toBeLessThan(1.1 * 2 ** 20);
  expect(await contentsOf(store)).toEqual([large]);
});

describe("trimming turns with a leading system message", () => {
  test("C6 a cold process trims like others when the newest 65 commits have no messages", async () => {
    const scene = new Scene();
    const first = scene.open({ maxMessages: 3 });
    await first.store.addMessages([system("s"), user("u1"), user("u2"), user("u3")]);
    for (let title = 0; title <= REMEMBERED_OPERATIONS; title++)
      await first.store.commit({ metadata: title });
    expect(await contentsOf(first.store)).toEqual(["s", "u2", "u3"]);
    const second = scene.open({ maxMessages: 3 });
    await second.store.addMessages([user("u4")]);
    expect(await contentsOf(second.store)).toEqual(["s", "u3", "u4"]);
  });

  test("C6 a cold process keeps 700 of 700 messages", async () => {
    const scene = new Scene();
    const first = scene.open({ maxMessages: 700 });
    await first.store.addMessages([system("s")]);
    const added = await addEach(first.store, 750, "u");
    const second = scene.open({ maxMessages: 700 });
    await second.store.addMessages([user("last")]);
    const kept = await contentsOf(second.store);
    expect(kept).toHaveLength(700);
    expect(kept).toEqual(["s", ...added.slice(-698), "last"]);
  });
});

test("C7 a thread of 2,000 messages is read in 20 requests beside a writer that trims", async () => {
  const scene = new Scene();
  const [writer, reader] = [scene.open({ maxMessages: 2_000 }), scene.open({ maxMessages: 2_000 })];
  for (let index = 0; index < 2_000; index++) await writer.store.addMessages([user(`${index}`)]);
  let next = 2_000;
  reader.log.before = async () => {
    for (let count = 0; count < 70 && reader.log.requests.length <= 100; count++) {
      await writer.store.addMessages([user(`${next++}`)]);
    }
  };
  const contents = await contentsOf(reader.store);
  expect(reader.log.requests.length).toBeLessThanOrEqual(20);
  const first = Number(contents[0]);
  expect(contents).toEqual(contents.map((_, index) => `${first + index}`));
  expect(contents).toHaveLength(2_000);
});

test.each<[string, RegExp, string]>([
  ["belongs to another incarnation", /"i":"[^"]+"/, '"i":"another"'],
  ["contradicts the number of its messages", /"s":\d+/, '"s":2'],
  ["names itself as the row below", /"l":\d+/, '"l":0'],
])(
  "C13 a message is damaged, and newer ones are not, if the head of its row %s",
  async (_, field, replacement) => {
    const scene = new Scene();
    const { log, store } = scene.open();
    await addEach(store, 9, "m");
    const damaged = Math.max(...scene.rows.rowsOf(THREAD).map(({ number }) => number)) - 4;
    log.show = (row) =>
      row.number === damaged ? { ...row, head: row.head.replace(field, replacement) } : row;
    await expect(store.listMessages()).rejects.toMatchObject({ code: "CORRUPT", sequence: 5 });
    const newest = await store.listMessages({ limit: 4 });
    expect(newest.map(({ content }) => content)).toEqual(["m5", "m6", "m7", "m8"]);
  },
);
