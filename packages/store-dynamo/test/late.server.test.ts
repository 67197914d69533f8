import { DeleteItemCommand, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { startServer } from "@scrollback/conformance/servers";
import { createStores, RecordLogDriver } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { createDynamoStores } from "../src/index.ts";
import { keyOf, toRow } from "../src/item.ts";
import { user } from "./messages.ts";
import { clientOf, makeTable, type TestTable } from "./table.ts";

const DAY = 24 * 60 * 60 * 1_000;

async function rowsOf(table: TestTable) {
  const query = new QueryCommand({
    TableName: table.tableName,
    ConsistentRead: true,
    KeyConditionExpression: "s = :s",
    ExpressionAttributeValues: { ":s": { S: "tthread" } },
  });
  return ((await table.raw.send(query)).Items ?? []).map(toRow);
}

/** Deletes what expired, as the server does at its leisure: DynamoDB Local takes 20 items in 10 seconds. */
async function sweep(table: TestTable): Promise<void> {
  for (const { number, expiresAt } of await rowsOf(table)) {
    if (expiresAt === undefined || expiresAt > Date.now()) continue;
    const item = { TableName: table.tableName, Key: keyOf("tthread", number) };
    await table.raw.send(new DeleteItemCommand(item));
  }
}

/** A client whose next PutItem waits until it is let go. */
function slowClientOf(endpoint: string) {
  const client = clientOf(endpoint);
  const hold = { isNext: false, release: undefined as (() => void) | undefined };
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (hold.isNext && context.commandName === "PutItemCommand") {
        hold.isNext = false;
        await new Promise<void>((resolve) => {
          hold.release = resolve;
        });
      }
      return await next(args);
    },
    { step: "initialize" },
  );
  return { client, hold };
}

test("what is blank goes from the table in time, and a writer that was held up all the while loses and hides nothing", async () => {
  await using server = await startServer("dynamodb");
  await using table = await makeTable(server.url);
  await using stores = createDynamoStores({ url: table.url });
  await stores.setup();
  // The drivers live in the past, so that what they let go tomorrow the server deletes today.
  let time = Date.now() - 40 * DAY;
  const clock = { wall: () => time, monotonic: () => time };
  const openStore = (client: DynamoDBClient) => {
    const log = new DynamoRecordLog({ client, tableName: table.tableName, owned: true });
    return createStores(new RecordLogDriver(log, clock), { maxMessages: 3, trimming: "exact" }).open(
      "thread",
    );
  };
  const { client: slowClient, hold } = slowClientOf(server.url);
  const [busy, slow] = [openStore(clientOf(server.url)), openStore(slowClient)];

  for (let commit = 1; commit <= 5; commit++) await busy.addMessages([user(`early ${commit}`)]);
  await slow.addMessages([user("slow 1")]);
  hold.isNext = true;
  const late = slow.addMessages([user("slow 2")]);
  await expect.poll(() => hold.release).toBeDefined();

  // The slow one is about to insert number 7.
  for (let commit = 1; commit <= 160; commit++) await busy.addMessages([user(`busy ${commit}`)]);
  await expect.poll(async () => (await rowsOf(table)).length, { timeout: 30_000 }).toBeLessThan(166);
  await sweep(table);
  const kept = (await rowsOf(table)).map(({ number }) => number);
  expect(kept).not.toContain(7);
  expect(kept.length).toBeLessThanOrEqual(64 + 2 * 32);
  expect(kept.filter((number) => number > 166 - 64)).toHaveLength(64);

  time += DAY;
  hold.release?.();
  await late;
  const expected = ["busy 159", "busy 160", "slow 2"];
  expect((await busy.listMessages()).map(({ content }) => content)).toEqual(expected);
  expect((await stores.open("thread").listMessages()).map(({ content }) => content)).toEqual(expected);
  // It did insert number 7, saw that it was too late, and took back what stood there.
  expect((await rowsOf(table)).find(({ number }) => number === 7)).toMatchObject({ texts: [] });
}, 120_000);
