import { randomUUID } from "node:crypto";
import {
  type AttributeValue,
  BatchWriteItemCommand,
  DeleteTableCommand,
  DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBChatMessageHistory } from "@langchain/community/stores/message/dynamodb";
import {
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessageData,
} from "@langchain/core/messages";
import { createDynamoStores } from "@scrollback/store-dynamo";
import type { Contestant, Location } from "../backend.ts";
import { Bulk, overridden } from "../bulk.ts";
import { toLangChainTexts } from "../langchain.ts";
import { scrollback, scrollbackLog } from "../scrollback.ts";
import { versionOf } from "../versions.ts";
import type { Definition } from "./network.ts";
import { HEAD, type RawLog, type RawRow, rawLog } from "./raw-log.ts";

type Item = Record<string, AttributeValue>;

/** The maximum number of items of a BatchWriteItem request. */
const BATCH_WRITE = 25;
const BATCHES_AT_ONCE = 4;

/** One item per commit, of the same size as Scrollback's; a read is one consistent query from the end. */
function rawItems(client: DynamoDBClient, TableName: string): RawLog {
  const toItem = ({ threadId, number, texts }: RawRow): Item => ({
    s: { S: `r${threadId}` },
    n: { N: String(number) },
    h: { S: HEAD },
    c: { L: texts.map((text) => ({ B: Buffer.from(text) })) },
  });
  return {
    insert: (row) => client.send(new PutItemCommand({ TableName, Item: toItem(row) })),
    insertMany: (rows) => putAll(client, TableName, rows.map(toItem)),
    async read(threadId, Limit) {
      const items: Item[] = [];
      let ExclusiveStartKey: Item | undefined;
      do {
        const page = await client.send(
          new QueryCommand({
            TableName,
            KeyConditionExpression: "s = :s",
            ExpressionAttributeValues: { ":s": { S: `r${threadId}` } },
            ScanIndexForward: false,
            ConsistentRead: true,
            Limit,
            ExclusiveStartKey,
          }),
        );
        items.push(...(page.Items ?? []));
        ExclusiveStartKey = page.LastEvaluatedKey;
      } while (ExclusiveStartKey && items.length < Limit);
      return items.map(({ c }) => (c?.L ?? []).map(({ B }) => Buffer.from(B ?? []).toString()));
    },
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
      partitionKey: "s",
      sortKey: "n",
      // The sort key is a number, as in the table of the other contestants.
      key: { s: { S: `l${sessionId}` }, n: { N: "1" } },
      config,
    });
  return {
    longest: 10,
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
    expected: (messages) =>
      mapStoredMessagesToChatMessages(
        mapChatMessagesToStoredMessages(toLangChainTexts(messages)).map(({ type, data }) => ({
          type,
          data: { role: undefined, content: data.content, additional_kwargs: {} } as StoredMessageData,
        })),
      ),
    close: async () => undefined,
  };
}

function configOf(endpoint: string) {
  const credentials = { accessKeyId: "none", secretAccessKey: "none" };
  return { endpoint, region: "local", credentials };
}

/** A DynamoDB at an endpoint. Each contestant has a separate client with the same options. */
export function defineDynamo({ url, product, version, run }: Location): Definition {
  const tableName = `scrollback-bench-${run}`;
  const numbers = new Map<string, number>();
  const clientOf = (endpoint: string) => new DynamoDBClient(configOf(endpoint));
  return {
    key: "dynamodb",
    title: product,
    versions: [
      `${product} ${version}`,
      `@aws-sdk/client-dynamodb ${versionOf("@aws-sdk/client-dynamodb")}, reads strongly consistent`,
      `LangChain.js: @langchain/community ${versionOf("@langchain/community")}; its one item a session ends at 400 KB, and it cannot read tool results back, so it gets tool calls and results as text`,
    ],
    baseline: "PutItem of an item of the same bytes; Query from the end and JSON.parse",
    connect: {
      raw: async (url) => rawLog(rawItems(clientOf(url), tableName), numbers),
      async Scrollback(url) {
        const client = clientOf(url);
        const stores = createDynamoStores({ client, tableName });
        const contestant = scrollback(stores, "dynamodb", async () => client.destroy());
        return scrollbackLog(contestant, async () => {
          const sending = clientOf(url);
          const bulk = new Bulk<Item>(BATCH_WRITE * BATCHES_AT_ONCE, (items) =>
            putAll(sending, tableName, items),
          );
          const client = overridden(sending, {
            async send(...sent: Parameters<DynamoDBClient["send"]>) {
              const [command] = sent;
              if (command instanceof PutItemCommand) return await bulk.add(command.input.Item ?? {});
              bulk.assertFlushed();
              return await sending.send(...sent);
            },
          });
          const stores = createDynamoStores({ client, tableName });
          return { stores, flush: () => bulk.flush(), close: async () => sending.destroy() };
        });
      },
      "LangChain.js": async (url) => langChainItems(configOf(url), tableName),
    },
    async prepare() {
      const client = clientOf(url);
      await createDynamoStores({ client, tableName }).setup();
      client.destroy();
    },
    async remove() {
      const client = clientOf(url);
      await client.send(new DeleteTableCommand({ TableName: tableName }));
      client.destroy();
    },
  };
}
