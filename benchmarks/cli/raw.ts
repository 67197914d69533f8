import { DatabaseSync } from "node:sqlite";
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  QueryCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { Redis } from "ioredis";
import { MongoClient } from "mongodb";
import { Pool } from "pg";

/** The equivalent written by hand: threads as rows of text, through the raw client, without the promises. */
export interface RawThreads extends AsyncDisposable {
  write(threadId: string, messages: readonly string[]): Promise<void>;
  read(threadId: string): Promise<string[]>;
  /** The threads, each with the numbers of its messages. */
  list(): Promise<Map<string, number>>;
}

/** The threads of a raw client at a location. */
export type OpenRaw = (url: string) => Promise<RawThreads>;

export const openRaw: Readonly<Record<string, OpenRaw>> = {
  async sqlite(url) {
    const database = new DatabaseSync(`${url.slice("sqlite:".length)}.raw`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    database.exec(
      "CREATE TABLE IF NOT EXISTS raw (thread TEXT, number INT, body TEXT, PRIMARY KEY (thread, number)) WITHOUT ROWID",
    );
    const insert = database.prepare("INSERT INTO raw VALUES (?, ?, ?)");
    const select = database.prepare("SELECT body FROM raw WHERE thread = ? ORDER BY number");
    const count = database.prepare("SELECT thread, count(*) AS messages FROM raw GROUP BY thread");
    return {
      async write(threadId, messages) {
        database.exec("BEGIN IMMEDIATE");
        messages.forEach((body, number) => void insert.run(threadId, number, body));
        database.exec("COMMIT");
      },
      read: async (threadId) => select.all(threadId).map(({ body }) => String(body)),
      list: async () =>
        new Map(count.all().map(({ thread, messages }) => [String(thread), Number(messages)])),
      [Symbol.asyncDispose]: async () => database.close(),
    };
  },
  async redis(url) {
    const client = new Redis(url, { keyPrefix: "raw:" });
    return {
      write: async (threadId, messages) => void (await client.rpush(threadId, ...messages)),
      read: (threadId) => client.lrange(threadId, 0, -1),
      async list() {
        const counts = new Map<string, number>();
        for await (const keys of client.scanStream({ match: "raw:*", count: 1_000 })) {
          const ids = (keys as string[]).map((key) => key.slice("raw:".length));
          const lengths = await Promise.all(ids.map((id) => client.llen(id)));
          ids.forEach((id, index) => void counts.set(id, lengths[index] ?? 0));
        }
        return counts;
      },
      [Symbol.asyncDispose]: async () => client.disconnect(),
    };
  },
  async mongodb(url) {
    const client = await MongoClient.connect(url);
    const rows = client.db().collection<{ _id: string; thread: string; number: number; body: string }>("raw");
    await rows.createIndex({ thread: 1, number: 1 });
    return {
      async write(thread, messages) {
        await rows.insertMany(
          messages.map((body, number) => ({ _id: `${thread}:${number}`, thread, number, body })),
        );
      },
      read: async (thread) =>
        (await rows.find({ thread }).sort({ number: 1 }).toArray()).map(({ body }) => body),
      async list() {
        const groups = await rows
          .aggregate([{ $group: { _id: "$thread", messages: { $sum: 1 } } }])
          .toArray();
        return new Map(groups.map(({ _id, messages }) => [String(_id), Number(messages)]));
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  },
  async postgres(url) {
    const pool = new Pool({ connectionString: url });
    await pool.query(
      "CREATE TABLE IF NOT EXISTS raw (thread text, number int, body text, PRIMARY KEY (thread, number))",
    );
    return {
      async write(thread, messages) {
        const numbers = messages.map((_, number) => number);
        await pool.query("INSERT INTO raw SELECT $1, * FROM unnest($2::int[], $3::text[])", [
          thread,
          numbers,
          messages,
        ]);
      },
      async read(thread) {
        const { rows } = await pool.query("SELECT body FROM raw WHERE thread = $1 ORDER BY number", [thread]);
        return rows.map(({ body }) => String(body));
      },
      async list() {
        const { rows } = await pool.query(
          "SELECT thread, count(*)::int AS messages FROM raw GROUP BY thread",
        );
        return new Map(rows.map(({ thread, messages }) => [String(thread), Number(messages)]));
      },
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },
  async dynamodb(url) {
    const { host, searchParams } = new URL(url);
    const client = new DynamoDBClient({
      endpoint: searchParams.get("endpoint") ?? "",
      region: "eu-central-1",
    });
    const TableName = `${host}-raw`;
    await client
      .send(
        new CreateTableCommand({
          TableName,
          BillingMode: "PAY_PER_REQUEST",
          KeySchema: [
            { AttributeName: "thread", KeyType: "HASH" },
            { AttributeName: "number", KeyType: "RANGE" },
          ],
          AttributeDefinitions: [
            { AttributeName: "thread", AttributeType: "S" },
            { AttributeName: "number", AttributeType: "N" },
          ],
        }),
      )
      .catch((error: Error) => {
        if (error.name !== "ResourceInUseException") throw error;
      });
    return {
      async write(thread, messages) {
        const rows = messages.map((body, number) => ({
          PutRequest: { Item: { thread: { S: thread }, number: { N: String(number) }, body: { S: body } } },
        }));
        await client.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: rows } }));
      },
      async read(thread) {
        const { Items = [] } = await client.send(
          new QueryCommand({
            TableName,
            ConsistentRead: true,
            KeyConditionExpression: "thread = :thread",
            ExpressionAttributeValues: { ":thread": { S: thread } },
          }),
        );
        return Items.map(({ body }) => body?.S ?? "");
      },
      async list() {
        const counts = new Map<string, number>();
        let ExclusiveStartKey: Record<string, never> | undefined;
        do {
          const page = await client.send(
            new ScanCommand({
              TableName,
              ProjectionExpression: "thread",
              ...(ExclusiveStartKey && { ExclusiveStartKey }),
            }),
          );
          for (const { thread } of page.Items ?? []) {
            const id = thread?.S ?? "";
            counts.set(id, (counts.get(id) ?? 0) + 1);
          }
          ExclusiveStartKey = page.LastEvaluatedKey as Record<string, never> | undefined;
        } while (ExclusiveStartKey);
        return counts;
      },
      [Symbol.asyncDispose]: async () => client.destroy(),
    };
  },
};
