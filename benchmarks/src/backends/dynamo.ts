import { randomUUID } from "node:crypto";
import {
  type AttributeValue,
  DeleteTableCommand,
  DynamoDBClient,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBChatMessageHistory } from "@langchain/community/stores/message/dynamodb";
import {
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessageData,
} from "@langchain/core/messages";
import type { ChatMessage } from "@scrollback/store-core";
import { createDynamoStores } from "@scrollback/store-dynamo";
import type { Backend, Contestant, Contestants } from "../backend.ts";
import { toLangChainTexts } from "../langchain.ts";
import { countRoundTrips } from "../round-trips.ts";
import { HEAD_BYTES, scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";

const head = { S: "h".repeat(HEAD_BYTES) };
/** Below what an item takes, so that a commit is one item. */
const MESSAGES_AN_ITEM = 500;

/**
 * An item a commit, as many bytes as ours; a read is one consistent query from the end and JSON.parse. Nothing is trimmed.
 *
 * @param numbers how many commits each thread has.
 */
function raw(client: DynamoDBClient, TableName: string, numbers: Map<string, number>): Contestant {
  const put = (threadId: string, messages: readonly ChatMessage[]) => {
    const number = (numbers.get(threadId) ?? 0) + 1;
    numbers.set(threadId, number);
    const texts = messages.map((message) => ({ B: Buffer.from(JSON.stringify(message)) }));
    const Item = { s: { S: `r${threadId}` }, n: { N: String(number) }, h: head, c: { L: texts } };
    return client.send(new PutItemCommand({ TableName, Item }));
  };
  return {
    async fill(threadId, messages) {
      for (let from = 0; from < messages.length; from += MESSAGES_AN_ITEM) {
        await put(threadId, messages.slice(from, from + MESSAGES_AN_ITEM));
      }
    },
    open(threadId) {
      const read = async (Limit: number) => {
        const items: Record<string, AttributeValue>[] = [];
        let ExclusiveStartKey: Record<string, AttributeValue> | undefined;
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
        return items
          .reverse()
          .flatMap(({ c }) =>
            (c?.L ?? []).map(({ B }): unknown => JSON.parse(Buffer.from(B ?? []).toString())),
          );
      };
      return {
        append: (messages) => () => put(threadId, messages),
        newest: (count) => async () => (await read(count)).slice(-count),
        all: () => () => read(2 ** 31 - 1),
      };
    },
    expected: (messages) => [...messages],
  };
}

/**
 * LangChain.js' own history: one item a session, which ends at 400 KB. It forgets which tool a message called and fails to
 * read a tool's result, so it gets both as text. A session begins anew before it is full.
 */
function langChain(config: ConstructorParameters<typeof DynamoDBClient>[0], tableName: string): Contestant {
  const historyOf = (sessionId: string) =>
    new DynamoDBChatMessageHistory({
      tableName,
      sessionId,
      partitionKey: "s",
      sortKey: "n",
      // The sort key is a number, as in the table of the others.
      key: { s: { S: `l${sessionId}` }, n: { N: "1" } },
      config: config ?? {},
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
  };
}

/** A DynamoDB at an endpoint. Each contestant has a client of its own, with the same options. */
export async function openDynamo(server: {
  url: string;
  host: string;
  port: number;
  product: string;
  version: string;
}): Promise<Backend> {
  const tableName = `scrollback-bench-${randomUUID()}`;
  const clients: DynamoDBClient[] = [];
  const numbers = new Map<string, number>();
  const configOf = (endpoint: string) => ({
    endpoint,
    region: "local",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
  });
  const connect = (endpoint: string) => {
    const client = new DynamoDBClient(configOf(endpoint));
    clients.push(client);
    return client;
  };
  const connectAll = async (endpoint: string): Promise<Contestants> => {
    const stores = createDynamoStores({ client: connect(endpoint), tableName });
    await stores.setup();
    return {
      raw: raw(connect(endpoint), tableName, numbers),
      Scrollback: scrollback(stores, "dynamodb"),
      "LangChain.js": langChain(configOf(endpoint), tableName),
    };
  };
  const counter = await countRoundTrips(server);
  return {
    name: server.product,
    versions: [
      `${server.product} ${server.version}`,
      `@aws-sdk/client-dynamodb ${versionOf("@aws-sdk/client-dynamodb")}, reads strongly consistent`,
      `LangChain.js: @langchain/community ${versionOf("@langchain/community")}; its one item a session ends at 400 KB, and it cannot read tool results back, so it gets tool calls and results as text`,
    ],
    baseline: "PutItem of an item of the same bytes; Query from the end and JSON.parse",
    targets: { commit: 1.25, read: 1.25 },
    contestants: await connectAll(server.url),
    counted: { contestants: await connectAll(`http://127.0.0.1:${counter.port}`), roundTrips: counter.count },
    async close() {
      await clients[0]?.send(new DeleteTableCommand({ TableName: tableName }));
      for (const client of clients) client.destroy();
      await counter.close();
    },
  };
}
