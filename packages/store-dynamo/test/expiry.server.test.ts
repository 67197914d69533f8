import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { startServer } from "@scrollback/conformance/servers";
import { createStores } from "@scrollback/store-core/driver";
import { afterAll, describe, test } from "vitest";
import { DynamoDriver } from "../src/dynamo-driver.ts";
import { createDynamoStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { itemsOf } from "./table.ts";
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

describe("setup", () => {
  test("lets the server delete the items of expired and deleted threads, and no others", async ({
    expect,
  }) => {
    const { TableName } = await ownTable();
    const client = await patient;
    // DynamoDB Local does not delete an expired item that is missing in a sparse index of its table.
    await createWithoutIndex(TableName);
    await using stores = createDynamoStores({ client, tableName: TableName });
    await stores.setup();
    // A process of 40 days ago: what it gave an expiry of a day has expired by now.
    const past = { wall: () => Date.now() - 40 * DAY };
    const driver = new DynamoDriver({ client, tableName: TableName, owned: false }, past);
    const old = createStores(driver);
    await createStores(driver, { ttlMs: DAY })
      .open("expired")
      .commit({ append: [user("1")], metadata: "title" });
    await old.open("deleted").addMessages([user("1")]);
    await old.deleteThread("deleted");
    await createStores(driver, { ttlMs: DAY })
      .open("kept")
      .addMessages([user("1")]);
    await old.open("kept").addMessages([user("2")]);
    await createStores(driver, { ttlMs: 30 * DAY })
      .open("raised")
      .addMessages([user("1")]);
    await createStores(driver, { ttlMs: 60 * DAY })
      .open("raised")
      .addMessages([user("2")]);
    const raw = { raw: client, tableName: TableName };
    const left = async () => [...(await itemsOf(raw, "expired")), ...(await itemsOf(raw, "deleted"))].length;
    await expect.poll(left, { timeout: 90_000, interval: 200 }).toBe(0);
    for (const id of ["kept", "raised"])
      expect(await stores.open(id).listMessages()).toEqual([user("1"), user("2")]);
    expect(await stores.open("expired").listMessages()).toEqual([]);
    await stores.open("expired").addMessages([user("new")]);
    expect(await stores.open("expired").listMessages()).toEqual([user("new")]);
  });
});
