import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { makeCollection } from "./collection.ts";
import { user, users } from "./messages.ts";

const server = sharedServer("mongodb");

const page = readFileSync(new URL("../../../docs/reference/store-mongo.md", import.meta.url), "utf8");
const [, section = ""] = page.split("\n## Queries\n");
const queries = [...(section.split("\n## ")[0] ?? "").matchAll(/```js\n(.*?)```/gs)].map(
  ([, code = ""]) => code,
);

test("the queries of the documentation find what they say, but for the change stream, which needs a replica set", async () => {
  await using collection = makeCollection((await server).url);
  const { heads, url, database, collectionName } = collection;
  await using stores = createMongoStores({ url, database, collectionName });
  await stores.open("chat-1").addMessages([...users(99), { role: "assistant", content: "Yes." }]);
  await stores.open("chat-2").addMessages(users(2));
  await stores.open("chat-3").addMessages(users(1));
  await stores.deleteThread("chat-3");
  await using brief = createMongoStores({ url, database, collectionName, ttlMs: 3_600_000 });
  await brief.open("brief").addMessages([user("bye")]);
  // As mongosh has it.
  const shell = {
    find: (filter: object, projection: object) => heads.find(filter, { projection }),
    aggregate: (pipeline: object[]) => heads.aggregate(pipeline),
  };
  const found = await Promise.all(
    queries.slice(0, -1).map((code) =>
      runInNewContext(code, {
        db: { scrollback_messages: shell },
        // The newest month, whatever the page's one is.
        ISODate: () => new Date(Date.now() - 30 * 86_400_000),
        Date,
      }).toArray(),
    ),
  );
  expect(queries.at(-1)).toContain(".watch(");
  const [ofUsers = [], bySize, newest, expiring] = found;
  expect(ofUsers).toHaveLength(99 + 2 + 1);
  expect(ofUsers).toContainEqual({
    thread: "chat-1",
    n: 1,
    record: expect.stringContaining('"content":"1"'),
  });
  expect(bySize[0]).toEqual({ _id: "chat-1", bytes: expect.any(Number) });
  expect(bySize).toHaveLength(4);
  expect(newest.map((one: { _id: string; newest: { n: number } }) => [one._id, one.newest.n])).toEqual([
    ["chat-1", 100],
    ["chat-2", 2],
  ]);
  expect(expiring).toEqual([{ _id: "brief", expiresAt: expect.any(Date) }]);
});
