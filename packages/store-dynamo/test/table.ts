import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  paginateQuery,
} from "@aws-sdk/client-dynamodb";
import { type Item, keyOf } from "../src/item.ts";
import { parseOptions } from "../src/options.ts";
import { tablesOf } from "../src/setup.ts";

// DynamoDB Local accepts any credentials; the clients get them through the standard chain, as in production.
export const secret = "the-secret-of-the-suite";
process.env.AWS_ACCESS_KEY_ID = "suite";
process.env.AWS_SECRET_ACCESS_KEY = secret;

/** An unused table, the one of its index, and a separate client to inspect it. */
export interface TestTable extends AsyncDisposable {
  readonly tableName: string;
  readonly url: string;
  readonly raw: DynamoDBClient;
  /** The table's URL through another endpoint: a proxy. */
  urlBy(endpoint: string): string;
  /** Removes an item of a thread. */
  remove(threadId: string, item: string): Promise<void>;
}

export const newTableName = () => `suite-${randomUUID()}`;

export function urlOf(tableName: string, endpoint: string): string {
  return `dynamodb://${tableName}?${new URLSearchParams({ region: "eu-central-1", endpoint })}`;
}

/** A client on an endpoint, with the options of the stores' client. */
export function clientOf(endpoint: string): DynamoDBClient {
  return parseOptions({ url: urlOf("none", endpoint) }).connection.client;
}

export async function makeTable(endpoint: string): Promise<TestTable> {
  const tableName = newTableName();
  const raw = clientOf(endpoint);
  const tables = tablesOf(tableName).map(({ definition }) => definition);
  for (const table of tables) await raw.send(new CreateTableCommand(table));
  return {
    tableName,
    url: urlOf(tableName, endpoint),
    raw,
    urlBy: (other) => urlOf(tableName, other),
    async remove(threadId, item) {
      await raw.send(new DeleteItemCommand({ TableName: tableName, Key: keyOf(threadId, item) }));
    },
    async [Symbol.asyncDispose]() {
      for (const { TableName } of tables) await raw.send(new DeleteTableCommand({ TableName }));
      raw.destroy();
    },
  };
}

/** All items of a thread, in the order of their sort keys. */
export async function itemsOf(
  { raw, tableName }: Pick<TestTable, "raw" | "tableName">,
  threadId: string,
): Promise<Item[]> {
  const items: Item[] = [];
  const query = {
    TableName: tableName,
    KeyConditionExpression: "thread = :thread",
    ExpressionAttributeValues: { ":thread": { S: threadId } },
    ConsistentRead: true,
  };
  for await (const { Items = [] } of paginateQuery({ client: raw }, query)) items.push(...Items);
  return items;
}
