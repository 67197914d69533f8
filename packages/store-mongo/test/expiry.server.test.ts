import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { DocumentDriver } from "@scrollback/documents";
import { createStores } from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { documentsOf, makeCollection } from "./collection.ts";
import { users } from "./messages.ts";

const HOUR = 60 * 60 * 1_000;

/** Makes the server look for expired documents once a second instead of once a minute. */
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

test("the server deletes only documents past their time, heads and pages", async () => {
  // A server of its own, because its monitor of expired documents is changed.
  await using server = await startServer("mongodb");
  await hastenExpiry(server);
  await using collection = makeCollection(server.url);
  const { url, database, collectionName } = collection;
  const place = { url, database, collectionName };
  // A process of two days ago: what it wrote with a short ttlMs may be deleted by now.
  const past = {
    ...systemClock,
    wall: () => Date.now() - 48 * HOUR,
    monotonic: () => performance.now(),
    sleep: (ms: number) => sleep(ms),
  };
  const driver = new DocumentDriver(new MongoDocuments(parseOptions(place).collection), { clock: past });
  await createStores(driver, { ttlMs: HOUR }).open("expired").addMessages(users(100));
  await createStores(driver, { ttlMs: 96 * HOUR })
    .open("alive")
    .addMessages(users(100));
  await createStores(driver).open("deleted").addMessages(users(1));
  await createStores(driver).deleteThread("deleted");
  await driver.close();
  await using stores = createMongoStores(place);
  await stores.open("lasting").addMessages(users(100));
  for (const id of ["expired", "alive", "lasting"])
    expect((await documentsOf(collection, id)).length).toBeGreaterThan(1);
  await stores.setup();
  const isGone = async (id: string) => (await documentsOf(collection, id)).length === 0;
  const gone = async () => [await isGone("expired"), await isGone("deleted")];
  await expect.poll(gone, { timeout: 100_000, interval: 100 }).toEqual([true, true]);
  expect(await stores.open("expired").read()).toMatchObject({ entries: [], revision: null });
  for (const id of ["alive", "lasting"]) expect(await stores.open(id).listMessages()).toEqual(users(100));
  await stores.open("expired").addMessages(users(1));
  expect(await stores.open("expired").listMessages()).toEqual(users(1));
});
