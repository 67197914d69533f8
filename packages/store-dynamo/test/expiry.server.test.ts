import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { startServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/record-log";
import { createStores } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { afterAll, describe, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { createDynamoStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { tablesOn } from "./tables-on.ts";

// A server of its own, because DynamoDB Local deletes only 20 expired items of all tables in 10 seconds.
const server = startServer("dynamodb");
const { ownTable, createWithoutIndex } = tablesOn(server);
/** It waits for a reply longer than the stores' own client, because a new server on a busy machine can be slow. */
const patient = server.then(
  ({ url }) =>
    new DynamoDBClient({ endpoint: url, region: "eu-central-1", requestHandler: { socketTimeout: 60_000 } }),
);
afterAll(async () => {
  (await patient).destroy();
  await (await server).stop();
});

const DAY = 24 * 60 * 60 * 1_000;

describe.concurrent("setup", () => {
  test("lets the server delete only expired items", async ({ expect }) => {
    const { TableName } = await ownTable();
    const client = await patient;
    await using stores = createDynamoStores({ client, tableName: TableName });
    await stores.setup();
    const log = new DynamoRecordLog({ client, tableName: TableName, owned: false });
    for (const number of [1, 2, 3, 4]) {
      const expiresAt = number < 3 ? Date.now() - DAY : Date.now() + DAY;
      await log.insert("a", { number, head: "h", texts: ["text"], ...(number < 4 && { expiresAt }) });
    }
    const numbers = async () => (await log.read("a", 10, 10, true)).map(({ number }) => number);
    await expect.poll(numbers, { timeout: 30_000, interval: 200 }).toEqual([4, 3]);
  });

  test("lets the server delete rows of threads written before and after, which stay intact", async ({
    expect,
  }) => {
    const { TableName } = await ownTable();
    const client = await patient;
    // DynamoDB Local does not delete an expired item that is missing in a sparse index of its table.
    await createWithoutIndex(TableName);
    await using stores = createDynamoStores({ client, tableName: TableName, maxMessages: 5 });
    await stores.setup();
    const log = new DynamoRecordLog({ client, tableName: TableName, owned: false });
    // A process of 40 days ago: rows that it gave an expiry have expired by now.
    const past: Clock = {
      wall: () => Date.now() - 40 * DAY,
      monotonic: () => performance.now(),
      sleep: (ms) => sleep(ms),
    };
    const driver = new RecordLogDriver(log, { clock: past });
    await createStores(driver, { ttlMs: DAY })
      .open("expired")
      .addMessages([user("1")]);
    const trimmed = createStores(driver, { maxMessages: 5 }).open("trimmed");
    for (let number = 1; number <= 40; number++) await trimmed.addMessages([user(`${number}`)]);
    const datedRows = async () => {
      const rows = [
        ...(await log.read("trimmed", Number.POSITIVE_INFINITY, 1_000, true)),
        ...(await log.read("expired", Number.POSITIVE_INFINITY, 1_000, true)),
      ];
      return rows.filter(({ expiresAt }) => expiresAt !== undefined).length;
    };
    // The server deletes 20 items in 10 seconds.
    await expect.poll(datedRows, { timeout: 90_000, interval: 200 }).toBe(0);
    const kept = ["36", "37", "38", "39", "40"].map(user);
    expect(await stores.open("trimmed").listMessages()).toEqual(kept);
    await stores.open("trimmed").addMessages([user("41")]);
    expect(await stores.open("trimmed").listMessages()).toEqual([...kept.slice(1), user("41")]);
    expect(await stores.open("expired").listMessages()).toEqual([]);
    await stores.open("expired").addMessages([user("new")]);
    expect(await stores.open("expired").listMessages()).toEqual([user("new")]);
  });
});
