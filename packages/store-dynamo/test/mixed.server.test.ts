import { sharedServer } from "@scrollback/conformance/servers";
import { StoreError } from "@scrollback/store-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import type { Item } from "../src/item.ts";
import { openGateway } from "./gateway.ts";
import { user } from "./messages.ts";
import { makeTable, type TestTable } from "./table.ts";

// A query may see a part of a transaction. DynamoDB Local never shows one, so a gateway mixes two replies.

const server = sharedServer("dynamodb");
let table: TestTable;
beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(() => table[Symbol.asyncDispose]());

const textsOf = (messages: readonly { content: unknown }[]) => messages.map(({ content }) => content);
const isHead = ({ item }: Item) => item?.S === "~head";

/** The reply of a query with the head of one moment and the rows of another. */
const headOf = (head: readonly Item[], rows: readonly Item[]) => [
  ...head.filter(isHead),
  ...rows.filter((item) => !isHead(item)),
];

test.each([
  ["an append", { append: [user("4"), user("5")] }, ["1", "2", "3", "4", "5"]],
  ["a pop", { drop: 1 }, ["1", "2"]],
  ["another message under the same number", { drop: 1, append: [user("other")] }, ["1", "2", "other"]],
  ["a clear", { drop: "all", append: [user("new")] }, ["new"]],
  ["metadata", { metadata: "second" }, ["1", "2", "3"]],
] as const)(
  "C2 a read that sees one half of %s reads again, and returns one revision",
  async (_, change, after) => {
    await using gateway = await openGateway((await server).url);
    await using reading = createDynamoStores({ url: table.urlBy(gateway.url) });
    await using writing = createDynamoStores({ url: table.url });
    for (const sees of ["the old head", "the old rows"]) {
      const store = writing.open();
      await store.commit({ append: ["1", "2", "3"].map(user), metadata: "first" });
      let replies: Item[][] = [];
      gateway.change = (action, reply) => {
        if (action === "Query") replies.push(reply.Items as Item[]);
        return reply;
      };
      const reader = reading.open(store.threadId);
      const before = await reader.read();
      await store.commit(change as object);
      const [old = []] = replies;
      replies = [];
      gateway.change = (action, reply) => {
        if (action !== "Query" || replies.length > 0) return reply;
        const now = reply.Items as Item[];
        replies.push(now);
        return { ...reply, Items: sees === "the old head" ? headOf(old, now) : headOf(now, old) };
      };
      const page = await reader.read();
      const texts = textsOf(page.entries.map(({ message }) => message));
      if (page.revision === before.revision)
        expect([texts, page.metadata]).toEqual([["1", "2", "3"], "first"]);
      else {
        expect([texts, page.metadata]).toEqual([
          after,
          change === undefined || "metadata" in change ? "second" : "first",
        ]);
        expect(page).toEqual(await store.read());
      }
      gateway.change = undefined;
    }
  },
);

test("C16 a row that stays missing under the same head is a damaged message, which can be dropped and trimmed", async () => {
  await using stores = createDynamoStores({ url: table.url });
  const store = stores.open();
  await store.addMessages(["1", "2", "3", "4"].map(user));
  await table.remove(store.threadId, "m#000000000003");
  await expect(store.listMessages()).rejects.toMatchObject({ code: "CORRUPT", sequence: 3 });
  const errors: StoreError[] = [];
  const lenient = createDynamoStores({ url: table.url, onCorruptRecord: (error) => errors.push(error) });
  expect(textsOf(await lenient.open(store.threadId).listMessages())).toEqual(["1", "2", "4"]);
  expect(errors.map((error) => StoreError.is(error, "CORRUPT"))).toEqual([true]);
  await lenient.open(store.threadId, { maxMessages: 3 }).addMessages([user("5")]);
  await lenient.open(store.threadId).commit({ drop: 2 });
  expect(textsOf(await lenient.open(store.threadId).listMessages())).toEqual([]);
  await lenient.open(store.threadId).commit({ drop: 1, append: [user("new")] });
  expect(textsOf(await store.listMessages())).toEqual(["new"]);
  await lenient.close();
});
