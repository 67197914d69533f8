import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { MongoDBSaver } from "@langchain/langgraph-checkpoint-mongodb";
import { MongoDBChatMessageHistory } from "@langchain/mongodb";
import { createMongoStores } from "@scrollback/store-mongo";
import { type Collection, MongoClient } from "mongodb";
import { type Definition, HEAD, type Location, type RawLog, type RawRow, rawLog } from "../backend.ts";
import { langChain, toLangChain } from "../langchain.ts";
import { versionOf } from "../versions.ts";

const DATABASE = "scrollback_bench";

interface RawDocument {
  readonly _id: string;
  readonly head: string;
  readonly texts: readonly string[];
}

/** One document for each commit; a read is one query from the end. Ids of threads are in a collection of their own. */
function rawDocuments(
  documents: Collection<RawDocument>,
  ids: Collection<{ _id: string }>,
  close: () => Promise<unknown>,
): RawLog {
  const keyOf = (threadId: string, number: number) => `${threadId}:${String(number).padStart(16, "0")}`;
  const toDocument = ({ threadId, number, texts }: RawRow) => ({
    _id: keyOf(threadId, number),
    head: HEAD,
    texts,
  });
  return {
    insert: (row) => documents.insertOne(toDocument(row)),
    insertMany: (rows) => documents.insertMany(rows.map(toDocument)),
    async read(threadId, limit) {
      const keys = { _id: { $gte: keyOf(threadId, 0), $lte: keyOf(threadId, Number.MAX_SAFE_INTEGER) } };
      const found = await documents.find(keys, { limit, batchSize: limit }).sort({ _id: -1 }).toArray();
      return found.map(({ texts }) => texts);
    },
    fillThreads: (threadIds) => ids.insertMany(threadIds.map((_id) => ({ _id }))),
    list: async (count) => (await ids.find({}, { limit: count }).sort({ _id: 1 }).toArray()).length,
    close,
  };
}

/** A client that sends no requests by itself: its monitoring of the server must not be counted. */
function clientOf(url: string): MongoClient {
  const used = new URL(url);
  used.searchParams.set("directConnection", "true");
  used.searchParams.set("heartbeatFrequencyMS", "600000");
  return new MongoClient(used.href, { writeConcern: { w: "majority" } });
}

/** A MongoDB, with write concern majority. */
export function defineMongo({ url, product, version, run }: Location): Definition {
  const name = `bench-${run}`;
  const checkpoints = `scrollback_bench_${run}`;
  const numbers = new Map<string, number>();
  const storesOn = (client: MongoClient, maxMessages?: number) =>
    createMongoStores({
      // The same class for the adapter, whose types come from another copy of mongodb.
      client: client as unknown as NonNullable<Parameters<typeof createMongoStores>[0]["client"]>,
      database: DATABASE,
      collectionName: `${name}-scrollback`,
      ...(maxMessages !== undefined && { maxMessages }),
    });
  const onServer = async (use: (client: MongoClient) => Promise<unknown>) => {
    const client = clientOf(url);
    await use(client);
    await client.close();
  };
  return {
    title: product === "MongoDB" ? product : `MongoDB (${product})`,
    versions: [
      `${product} ${version}`,
      `mongodb ${versionOf("mongodb")}, write concern majority`,
      `@langchain/mongodb ${versionOf("@langchain/mongodb")}`,
      `@langchain/langgraph-checkpoint-mongodb ${versionOf("@langchain/langgraph-checkpoint-mongodb")}`,
    ],
    baseline: "`insertOne` of a document; `find` from the end and `JSON.parse`; nothing is trimmed",
    other: "LangChain.js",
    async raw(url) {
      const client = await clientOf(url).connect();
      const database = client.db(DATABASE);
      const ids = database.collection<{ _id: string }>(`${name}-ids`);
      return rawLog(
        rawDocuments(database.collection<RawDocument>(`${name}-raw`), ids, () => client.close()),
        numbers,
      );
    },
    stores(url, maxMessages) {
      const client = clientOf(url);
      return { stores: storesOn(client, maxMessages), close: () => client.close() };
    },
    async compared(url) {
      const client = await clientOf(url).connect();
      const sessions = client.db(DATABASE).collection(`${name}-langchain`);
      // It requires a collection of mongodb 6, but uses only methods that mongodb 7 has too.
      type Theirs = ConstructorParameters<typeof MongoDBChatMessageHistory>[0]["collection"];
      const collection = sessions as unknown as Theirs;
      return langChain((sessionId) => new MongoDBChatMessageHistory({ collection, sessionId }), {
        // The documents of addMessages, but not written one by one.
        fill: (sessionId, messages) =>
          sessions.updateOne(
            { sessionId },
            {
              $push: { messages: { $each: mapChatMessagesToStoredMessages(toLangChain(messages)) } },
            } as object,
            { upsert: true },
          ),
        close: () => client.close(),
      });
    },
    async saver(url) {
      const client = clientOf(url);
      type Theirs = ConstructorParameters<typeof MongoDBSaver>[0]["client"];
      const saver = new MongoDBSaver({ client: client as unknown as Theirs, dbName: checkpoints });
      await saver.setup();
      return { saver, close: () => client.close() };
    },
    prepare: () =>
      onServer(async (client) => {
        await storesOn(client).setup();
        await client.db(DATABASE).collection(`${name}-langchain`).createIndex({ sessionId: 1 });
      }),
    remove: () =>
      onServer(async (client) => {
        await client.db(checkpoints).dropDatabase();
        for (const one of ["scrollback", "langchain", "raw", "ids"])
          await client.db(DATABASE).collection(`${name}-${one}`).drop();
      }),
  };
}
