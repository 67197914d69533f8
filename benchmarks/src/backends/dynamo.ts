import { randomUUID } from "node:crypto";
import {
  type AttributeValue,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBChatMessageHistory } from "@langchain/community/stores/message/dynamodb";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { type Definition, HEAD, type Location, type RawLog, type RawRow, rawLog } from "../backend.ts";
import type { Contestant } from "../contestant.ts";
import { toLangChainTexts } from "../langchain.ts";
import { versionOf } from "../versions.ts";

type Item = Record<string, AttributeValue>;

/** The maximum number of items of a BatchWriteItem request. */
const BATCH_WRITE = 25;
const BATCHES_AT_ONCE = 4;
/** The partition of the raw client's ids of threads. */
const IDS = "ids";

/** One item for each commit; a read is one consistent query from the end. Ids of threads are in a partition of their own. */
function rawItems(client: DynamoDBClient, TableName: string): RawLog {
  const toItem = ({ threadId, number, texts }: RawRow): Item => ({
    thread: { S: `r${threadId}` },
    item: { S: String(number).padStart(12, "0") },
    h: { S: HEAD },
    c: { L: texts.map((text) => ({ B: Buffer.from(text) })) },
  });
  const query = async (thread: string, Limit: number, ScanIndexForward: boolean) => {
    const items: Item[] = [];
    let ExclusiveStartKey: Item | undefined;
    do {
      const page = await client.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: "thread = :thread",
          ExpressionAttributeValues: { ":thread": { S: thread } },
          ScanIndexForward,
          ConsistentRead: true,
          Limit,
          ExclusiveStartKey,
        }),
      );
      items.push(...(page.Items ?? []));
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey && items.length < Limit);
    return items;
  };
  return {
    insert: (row) => client.send(new PutItemCommand({ TableName, Item: toItem(row) })),
    insertMany: (rows) => putAll(client, TableName, rows.map(toItem)),
    read: async (threadId, limit) =>
      (await query(`r${threadId}`, limit, false)).map(({ c }) =>
        (c?.L ?? []).map(({ B }) => Buffer.from(B ?? []).toString()),
      ),
    fillThreads: (threadIds) =>
      putAll(
        client,
        TableName,
        threadIds.map((id) => ({ thread: { S: IDS }, item: { S: id } })),
      ),
    list: async (count) => (await query(IDS, count, true)).length,
    close: async () => client.destroy(),
  };
}

async function putAll(client: DynamoDBClient, TableName: string, items: readonly Item[]): Promise<void> {
  const waiting = items.map((Item): WriteRequest => ({ PutRequest: { Item } }));
  const work = async () => {
    while (waiting.length > 0) {
      let requests: WriteRequest[] | undefined = waiting.splice(0, BATCH_WRITE);
      while (requests?.length) {
        const RequestItems = { [TableName]: requests };
        const command: BatchWriteItemCommand = new BatchWriteItemCommand({ RequestItems });
        requests = (await client.send(command)).UnprocessedItems?.[TableName];
      }
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, work));
}

/**
 * LangChain.js' own history: one item per session, of at most 400 KB. It loses which tool a message called and cannot read a
 * tool's result, so it gets both as text. A new session begins before the item is full.
 */
function langChainItems(config: ReturnType<typeof configOf>, tableName: string): Contestant {
  const historyOf = (sessionId: string) =>
    new DynamoDBChatMessageHistory({
      tableName,
      sessionId,
      partitionKey: "thread",
      sortKey: "item",
      key: { thread: { S: `l${sessionId}` }, item: { S: "1" } },
      config,
    });
  return {
    longest: 100,
    fill: (threadId, messages) => historyOf(threadId).addMessages(toLangChainTexts(messages)),
    open(threadId) {
      let history = historyOf(threadId);
      let count = 0;
      return {
        append(messages) {
          const converted = toLangChainTexts(messages);
          count += converted.length;
          if (count > 400) {
            history = historyOf(`${threadId}/${randomUUID()}`);
            count = converted.length;
          }
          const used = history;
          return () => used.addMessages(converted);
        },
        newest: (limit) => async () => (await history.getMessages()).slice(-limit),
        all: () => () => history.getMessages(),
      };
    },
    close: async () => undefined,
  };
}

function configOf(endpoint: string) {
  const credentials = { accessKeyId: "none", secretAccessKey: "none" };
  return { endpoint, region: "local", credentials };
}

/** A DynamoDB at an endpoint. */
export function defineDynamo({ url, product, version, run }: Location): Definition {
  const tableName = `scrollback-bench-${run}`;
  const plainTable = `${tableName}-plain`;
  const numbers = new Map<string, number>();
  const clientOf = (endpoint: string) => new DynamoDBClient(configOf(endpoint));
  const onServer = async (use: (client: DynamoDBClient) => Promise<unknown>) => {
    const client = clientOf(url);
    await use(client);
    client.destroy();
  };
  return {
    title: product,
    versions: [
      `${product} ${version}`,
      `@aws-sdk/client-dynamodb ${versionOf("@aws-sdk/client-dynamodb")}, reads strongly consistent`,
      `@langchain/community ${versionOf("@langchain/community")}; its one item a session ends at 400 KB, so its threads have 100 messages, and tool calls and results are text`,
    ],
    baseline: "`PutItem` of an item; `Query` from the end and `JSON.parse`; nothing is trimmed",
    other: "LangChain.js",
    raw: async (url) => rawLog(rawItems(clientOf(url), plainTable), numbers),
    stores(url, maxMessages) {
      const client = clientOf(url);
      const stores = createDynamoStores({
        client,
        tableName,
        ...(maxMessages !== undefined && { maxMessages }),
      });
      return { stores, close: async () => client.destroy() };
    },
    compared: async (url) => langChainItems(configOf(url), plainTable),
    prepare: () =>
      onServer(async (client) => {
        await createDynamoStores({ client, tableName }).setup();
        await client.send(
          new CreateTableCommand({
            TableName: plainTable,
            BillingMode: "PAY_PER_REQUEST",
            KeySchema: [
              { AttributeName: "thread", KeyType: "HASH" },
              { AttributeName: "item", KeyType: "RANGE" },
            ],
            AttributeDefinitions: ["thread", "item"].map((AttributeName) => ({
              AttributeName,
              AttributeType: "S",
            })),
          }),
        );
      }),
    remove: () =>
      onServer(async (client) => {
        for (const TableName of [tableName, plainTable])
          await client.send(new DeleteTableCommand({ TableName }));
      }),
  };
}
