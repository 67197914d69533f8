import { startServer } from "@scrollback/conformance/servers";
import { createStores, RecordLogDriver } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { keysFrom, toRow } from "../src/document.ts";
import { createMongoStores } from "../src/index.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type Gate, GatedLog } from "./gated-log.ts";
import { user } from "./messages.ts";

const DAY = 24 * 60 * 60 * 1_000;
const keys = { _id: keysFrom("tthread", 1, Number.POSITIVE_INFINITY) };

async function rowsOf({ rows }: TestCollection) {
  return (await rows.find(keys).sort({ _id: 1 }).toArray()).map(toRow);
}

test("what is blank goes from the collection in time, and a writer that was held up all the while loses and hides nothing", async () => {
  await using server = await startServer("mongodb");
  await using collection = makeCollection(server.url);
  const { url, database, collectionName, rows } = collection;
  await using stores = createMongoStores({ url, database, collectionName });
  // The drivers live in the past, so that what they let go tomorrow is over today.
  let time = Date.now() - 40 * DAY;
  const clock = { wall: () => time, monotonic: () => time };
  const gate: Gate = { before: async () => undefined };
  const slowLog = new GatedLog(collection, { before: (verb) => gate.before(verb) });
  const busyLog = new GatedLog(collection, { before: async () => undefined });
  const options = { maxMessages: 3, trimming: "exact" } as const;
  await using busyStores = createStores(new RecordLogDriver(busyLog, clock), options);
  await using slowStores = createStores(new RecordLogDriver(slowLog, clock), options);
  const [busy, slow] = [busyStores.open("thread"), slowStores.open("thread")];

  for (let commit = 1; commit <= 5; commit++) await busy.addMessages([user(`early ${commit}`)]);
  await slow.addMessages([user("slow 1")]);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let isHeld = false;
  gate.before = async (verb) => {
    if (verb !== "insert" || isHeld) return;
    isHeld = true;
    await held;
  };
  const late = slow.addMessages([user("slow 2")]);
  await expect.poll(() => isHeld).toBe(true);

  // The slow one is about to insert number 7.
  for (let commit = 1; commit <= 160; commit++) await busy.addMessages([user(`busy ${commit}`)]);
  // As the server does once a minute where there is the index.
  await rows.deleteMany({ ...keys, expiresAt: { $lte: new Date() } });
  const kept = (await rowsOf(collection)).map(({ number }) => number);
  expect(kept).not.toContain(7);
  expect(kept.length).toBeLessThanOrEqual(64 + 2 * 32);
  expect(kept.filter((number) => number > 166 - 64)).toHaveLength(64);

  time += DAY;
  release();
  await late;
  const expected = ["busy 159", "busy 160", "slow 2"];
  expect((await busy.listMessages()).map(({ content }) => content)).toEqual(expected);
  expect((await stores.open("thread").listMessages()).map(({ content }) => content)).toEqual(expected);
  // It did insert number 7, saw that it was too late, and took back what stood there.
  expect((await rowsOf(collection)).find(({ number }) => number === 7)).toMatchObject({ texts: [] });
}, 60_000);
