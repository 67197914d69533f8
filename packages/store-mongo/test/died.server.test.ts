import { randomBytes } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createStores, RecordLogDriver, type StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { GatedLog } from "./gated-log.ts";
import { user } from "./messages.ts";

const server = startServer("mongodb");
let collection: TestCollection;
beforeAll(async () => {
  collection = makeCollection((await server).url);
});
afterAll(async () => {
  await collection[Symbol.asyncDispose]();
  await (await server).stop();
});

function openStores(): StoreFactory {
  const { url, database, collectionName } = collection;
  return createMongoStores({ url, database, collectionName });
}

/**
 * Stores of a process that dies before its request number `survived + 1`: that and all later ones never leave. `dead`
 * resolves when it has come to that, and what had left before is done.
 */
function dyingStores(survived: number, options = {}): { stores: StoreFactory; dead: Promise<void> } {
  const { promise: dead, resolve } = Promise.withResolvers<void>();
  let [sent, underWay, isDying] = [0, 0, false];
  const log = new GatedLog(collection, {
    async before() {
      if (sent === survived) {
        isDying = true;
        if (underWay === 0) resolve();
        await new Promise<never>(() => {});
      }
      sent += 1;
      underWay += 1;
    },
    async after() {
      underWay -= 1;
      if (isDying && underWay === 0) resolve();
    },
  });
  return { stores: createStores(new RecordLogDriver(log), options), dead };
}

const textsIn = async (stores: StoreFactory, threadId: string) =>
  (await stores.open(threadId).listMessages()).map(({ content }) => String(content));

/** Text that takes up so much of a row. */
const noise = (bytes: number) => randomBytes(bytes / 2).toString("hex");

describe("a client that dies between two requests", () => {
  // More than a document, and cut in two.
  const large = [noise(9_500_000), noise(3_000_000)];
  const prepared = ["0", "1", "2"];
  const changes: Record<string, (stores: StoreFactory, threadId: string) => Promise<unknown>> = {
    "of a commit in parts": (stores, threadId) => stores.open(threadId).addMessages(large.map(user)),
    "of a clear": (stores, threadId) => stores.open(threadId).clear(),
    "of a replacement in parts": (stores, threadId) => stores.open(threadId).replaceMessages(large.map(user)),
  };
  const outcomes: Record<string, string[]> = {
    "of a commit in parts": [...prepared, ...large],
    "of a clear": [],
    "of a replacement in parts": large,
  };

  test.each(Object.keys(changes))(
    "%s leaves the thread as before or after",
    async (change) => {
      await using others = openStores();
      for (let survived = 0; ; survived++) {
        const threadId = crypto.randomUUID();
        await others.open(threadId).addMessages(prepared.map(user));
        const { stores: dying, dead } = dyingStores(survived);
        const isDone = await Promise.race([
          changes[change]?.(dying, threadId).then(() => true),
          dead.then(() => false),
        ]);
        await dying.close();
        const texts = await textsIn(others, threadId);
        const isAfter = JSON.stringify(texts) === JSON.stringify(outcomes[change]);
        if (!isAfter) expect(texts).toEqual(prepared);
        if (isDone) expect(isAfter).toBe(true);
        await others.open(threadId).addMessages([user("next")]);
        expect(await textsIn(others, threadId)).toEqual([...texts, "next"]);
        if (isDone) return expect(survived).toBeGreaterThan(1);
      }
    },
    120_000,
  );

  test("while it makes room leaves what later commits blank", async () => {
    await using others = openStores();
    for (let survived = 0; survived < 4; survived++) {
      const threadId = crypto.randomUUID();
      const store = others.open(threadId);
      for (let commit = 0; commit < 31; commit++) await store.addMessages([user(`secret ${commit}`)]);
      const { stores: dying, dead } = dyingStores(survived, { maxMessages: 3, trimming: "exact" });
      await Promise.race([dying.open(threadId).addMessages([user("32")]), dead]);
      await dying.close();
      const seen = await textsIn(others, threadId);
      expect([31, 3]).toContain(seen.length);
      const { url, database, collectionName, rows } = collection;
      await using trimming = createMongoStores({
        url,
        database,
        collectionName,
        maxMessages: 3,
        trimming: "exact",
      });
      for (let commit = 0; commit < 64; commit++)
        await trimming.open(threadId).addMessages([user(`later ${commit}`)]);
      expect(await textsIn(others, threadId)).toEqual(["later 61", "later 62", "later 63"]);
      const left = await rows.find({ _id: { $regex: threadId } }).toArray();
      expect(left.filter(({ texts }) => texts.join("").includes("secret"))).toEqual([]);
    }
  });

  test("leaves parts that later commits collect", async () => {
    await using others = openStores();
    const threadId = crypto.randomUUID();
    await others.open(threadId).addMessages(prepared.map(user));
    const { stores: dying, dead } = dyingStores(4);
    void dying
      .open(threadId)
      .addMessages(large.map(user))
      .catch(() => undefined);
    await dead;
    await dying.close();
    const bytesLeft = async () => {
      const rows = await collection.rows.find({ _id: { $regex: threadId } }).toArray();
      return rows.reduce((sum, { texts }) => sum + texts.join("").length, 0);
    };
    expect(await bytesLeft()).toBeGreaterThan(3_000_000);
    for (let commit = 0; commit < 64 + 32; commit++) await others.open(threadId).addMessages([user("later")]);
    expect(await bytesLeft()).toBeLessThan(100_000);
    expect(await textsIn(others, threadId)).toHaveLength(3 + 96);
  });
});
