import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/record-log";
import { createStores } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, rowsOf } from "./collection.ts";
import { user, users } from "./messages.ts";

const HOUR = 60 * 60 * 1_000;

/** Makes the server look for expired rows once a second instead of once a minute. */
async function hastenExpiry({ product, url, exec }: RunningServer): Promise<void> {
  if (product === "FerretDB") {
    const sql =
      "SELECT cron.alter_job(jobid, '1 second') FROM cron.job WHERE jobname = 'documentdb_ttl_task'";
    expect(await exec(["psql", "--username=postgres", "--command", sql])).toContain("(1 row)");
  } else {
    const client = new MongoClient(url);
    await client.db("admin").command({ setParameter: 1, ttlMonitorSleepSecs: 1 });
    await client.close();
  }
}

test("the server deletes only rows past their date, and the thread stays intact", async () => {
  // A server of its own, because its monitor of expired rows is changed.
  await using server = await startServer("mongodb");
  await hastenExpiry(server);
  await using collection = makeCollection(server.url);
  const { url, database, collectionName } = collection;
  const place = { url, database, collectionName };
  // A process of 40 days ago: rows that it gave an expiry have expired by now.
  const past: Clock = {
    wall: () => Date.now() - 40 * 24 * HOUR,
    monotonic: () => performance.now(),
    sleep: (ms) => sleep(ms),
  };
  const log = new MongoRecordLog(parseOptions(place).collection);
  const driver = new RecordLogDriver(log, { clock: past });
  await createStores(driver, { ttlMs: HOUR }).open("expired").addMessages(users(4));
  const trimmed = createStores(driver, { maxMessages: 5 }).open("trimmed");
  for (let number = 1; number <= 150; number++) await trimmed.addMessages([user(`${number}`)]);
  await driver.close();
  await using stores = createMongoStores(place);
  await stores.open("lasting").addMessages(users(3));
  const count = () => collection.rows.countDocuments();
  const before = await count();
  await stores.setup();
  await expect.poll(count, { timeout: 100_000, interval: 100 }).toBeLessThan(before - 50);
  expect(await rowsOf(collection, "expired")).toEqual([]);
  expect(await stores.open("expired").read()).toMatchObject({ entries: [], revision: null });
  expect(await stores.open("lasting").listMessages()).toEqual(users(3));
  const kept = ["146", "147", "148", "149", "150"].map(user);
  expect(await stores.open("trimmed").listMessages()).toEqual(kept);
  await stores.open("trimmed").addMessages([user("151")]);
  expect(await stores.open("trimmed").listMessages()).toEqual([...kept, user("151")]);
  await stores.open("expired").addMessages(users(1));
  expect(await stores.open("expired").listMessages()).toEqual(users(1));
});
