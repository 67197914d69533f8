import { PGlite } from "@electric-sql/pglite";
import type { MessageStore, StoreFactory } from "@scrollback/store-core";
import { afterAll, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { type PgliteClient, parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";
import { user } from "./messages.ts";

const pglite = await PGlite.create();
afterAll(() => pglite.close());
const client: PgliteClient = pglite;
const others = createPostgresStores({ client });
await others.setup();

/** A message of which a reply of 4 MiB has four. */
const large = (name: string | number) => user(`${name} ${"x".repeat(1024 ** 2)}`);
const larges = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => large(from + index));
const nameOf = (message: unknown) => (message as { content: string }).content.split(" ")[0];

/** Stores that run `before` before each request, with its number. */
function storesWith(before: (request: number) => Promise<unknown>): { stores: StoreFactory; sent: string[] } {
  const sent: string[] = [];
  const watched = {
    exec: (text: string) => client.exec(text),
    async query(...asked: Parameters<PgliteClient["query"]>) {
      sent.push(/\.(\w+)\(/.exec(asked[0])?.[1] ?? asked[0]);
      await before(sent.length);
      return await client.query(...asked);
    },
  };
  return { stores: createPostgresStores({ client: watched, onCorruptRecord: () => undefined }), sent };
}

const time = { createdAt: 1_000 };

/** A thread of ten messages, which are read four, four and two at a time. */
async function tenMessages(): Promise<MessageStore> {
  const store = others.open();
  await store.addMessages(larges(1, 10), time);
  return store;
}

const trimTo = (maxMessages: number) => async (store: MessageStore) =>
  await createPostgresStores({ client, maxMessages, trimming: "exact" })
    .open(store.threadId)
    .addMessages([user("11")]);

type Change = (store: MessageStore) => Promise<unknown>;

test.each<[what: string, change: Change]>([
  ["appends", (store) => store.addMessages([large(11)])],
  ["a drop of what was read", (store) => store.commit({ drop: 4, append: [user("new")] })],
  ["trimming of what was read", trimTo(7)],
])("a read of several replies goes on at its revision after %s", async (_, change) => {
  const store = await tenMessages();
  const { revision } = await store.read({ limit: 0 });
  // Newest 4, oldest 4, the rest.
  const { stores, sent } = storesWith(async (request) => request === 3 && (await change(store)));
  const page = await stores.open(store.threadId).read();
  expect(page.revision).toBe(revision);
  expect(page.entries.map(({ message }) => nameOf(message))).toEqual(larges(1, 10).map(nameOf));
  expect(page.entries.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(sent).toEqual(["read_v1", "read_on_v1", "read_on_v1"]);
});

test.each<[what: string, change: Change]>([
  ["others were written", (store) => store.commit({ drop: 5, append: larges(20, 24) })],
  ["the same were written again", (store) => store.commit({ drop: 7, append: larges(4, 10) }, time)],
  ["they were dropped", (store) => store.commit({ drop: 7 })],
  ["the thread was cleared", (store) => store.clear()],
  ["the thread was deleted", (store) => others.deleteThread(store.threadId)],
  [
    "the thread was begun again",
    async (store) => {
      await others.deleteThread(store.threadId);
      await store.addMessages(larges(1, 10), time);
    },
  ],
  ["they were trimmed", trimTo(3)],
  ["all but the newest of them were trimmed", trimTo(6)],
])("a read of several replies is that of the new revision if of what was left %s", async (_, change) => {
  const store = await tenMessages();
  const { stores, sent } = storesWith(async (request) => request === 3 && (await change(store)));
  const page = await stores.open(store.threadId).read();
  expect(page).toEqual(await others.open(store.threadId).read());
  expect(sent.filter((name) => name === "read_v1")).toHaveLength(2);
});

test("a read ends while the thread is written anew all the time", async () => {
  const store = await tenMessages();
  const { stores, sent } = storesWith(async (request) => {
    if (request > 1) await store.replaceMessages(larges(100 * request, 100 * request + 9));
  });
  const page = await stores.open(store.threadId).read();
  expect(page).toEqual(await store.read());
  expect(sent).toEqual(["read_v1", "read_on_v1", "read_v1", "read_on_v1", "read_v1"]);
});

test("a part of a thread, also with a message that trimming kept, is read in several replies", async () => {
  const id = crypto.randomUUID();
  const trimmed = createPostgresStores({ client, maxMessages: 10 });
  await trimmed.open(id).addMessages([{ role: "system", content: "Be brief." }, ...larges(2, 14)]);
  const sequences = [1, 6, 7, 8, 9, 10, 11, 12, 13, 14];
  const driver = new PostgresDriver(parseOptions({ client }).used);
  for (const limit of [1, 6, 9, 10, Number.POSITIVE_INFINITY])
    for (const [before, after] of [[], [14], [10], [undefined, 0], [undefined, 1], [undefined, 7]]) {
      const part = { before, after };
      const { entries } = await driver.read({
        threadId: id,
        limit,
        ...part,
        metadata: false,
        signal: undefined,
      });
      const wanted = sequences.filter((number) => number < (before ?? 99) && number > (after ?? 0));
      expect(
        entries.map(({ sequence }) => sequence),
        JSON.stringify({ limit, ...part }),
      ).toEqual(after === undefined ? wanted.slice(-limit) : wanted.slice(0, limit));
    }
  const sequencesAfter = async (change: Change) => {
    const { stores, sent } = storesWith(async (request) => request === 2 && (await change(others.open(id))));
    const { older: after = "" } = await others.open(id).read({ limit: 9 });
    const { entries } = await stores.open(id).read({ after });
    return { sequences: entries.map(({ sequence }) => sequence), sent: sent.length };
  };
  expect(await sequencesAfter((store) => store.addMessages(larges(15, 15)))).toEqual({
    sequences: sequences.slice(2),
    sent: 2,
  });
  expect(await sequencesAfter((store) => store.commit({ drop: 2 }))).toEqual({
    sequences: sequences.slice(3, -1),
    sent: 4,
  });
});

test("messages that are missing for good are reported, and the others read", async () => {
  const store = await tenMessages();
  await pglite.query(
    "DELETE FROM scrollback.messages m USING scrollback.threads t WHERE t.id = $1 AND m.life = t.life AND sequence IN (1, 3, 6)",
    [store.threadId],
  );
  const { stores } = storesWith(async () => undefined);
  const { entries } = await stores.open(store.threadId).read();
  expect(entries.map(({ sequence }) => sequence)).toEqual([2, 4, 5, 7, 8, 9, 10]);
});
