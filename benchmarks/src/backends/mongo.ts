import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { MongoDBChatMessageHistory } from "@langchain/mongodb";
import { createMongoStores } from "@scrollback/store-mongo";
import { type Collection, type Document, MongoClient } from "mongodb";
import type { Location } from "../backend.ts";
import { Bulk, overridden } from "../bulk.ts";
import { langChain, toLangChain } from "../langchain.ts";
import { scrollback, scrollbackLog } from "../scrollback.ts";
import { versionOf } from "../versions.ts";
import type { Definition } from "./network.ts";
import { HEAD, type RawLog, type RawRow, rawLog } from "./raw-log.ts";

const DATABASE = "scrollback_bench";
const INSERTS_AT_ONCE = 1_000;

interface RawDocument {
  readonly _id: string;
  readonly head: string;
  readonly texts: readonly string[];
}

/** One document per commit, of the same size as Scrollback's; a read is one query from the end. */
function rawDocuments(documents: Collection<RawDocument>, close: () => Promise<unknown>): RawLog {
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

/** A client whose `insertOne` sends many documents in a request. */
function inBulk(client: MongoClient, bulkOf: (documents: Collection) => Bulk<Document>): MongoClient {
  const collection = (database: ReturnType<MongoClient["db"]>) => (name: string) => {
    const documents = database.collection(name);
    const bulk = bulkOf(documents);
    return overridden(documents, {
      insertOne: (document: Document) => bulk.add(document),
      find(...asked: Parameters<Collection["find"]>) {
        bulk.assertFlushed();
        return documents.find(...asked);
      },
    });
  };
  return overridden(client, {
    db(name: string) {
      const database = client.db(name);
      return overridden(database, { collection: collection(database) });
    },
  });
}

/** A MongoDB. Each contestant has a separate client with the same options. */
export function defineMongo({ url, product, version, run }: Location): Definition {
  const name = `bench-${run}`;
  const numbers = new Map<string, number>();
  const storesOn = (client: MongoClient) =>
    createMongoStores({
      // The same class for the adapter, whose types come from another copy of mongodb.
      client: client as unknown as NonNullable<Parameters<typeof createMongoStores>[0]["client"]>,
      database: DATABASE,
      collectionName: `${name}-scrollback`,
    });
  const onServer = async (use: (client: MongoClient) => Promise<unknown>) => {
    const client = clientOf(url);
    await use(client);
    await client.close();
  };
  return {
    key: "mongodb",
    title: product === "MongoDB" ? product : `MongoDB (${product})`,
    versions: [
      `${product} ${version}`,
      `mongodb ${versionOf("mongodb")}, write concern majority`,
      `LangChain.js: @langchain/mongodb ${versionOf("@langchain/mongodb")}, @langchain/core ${versionOf("@langchain/core")}; its one document a session ends at 16 MB`,
    ],
    baseline: "insertOne of a document of the same bytes; find from the end and JSON.parse",
    connect: {
      async raw(url) {
        const client = await clientOf(url).connect();
        const documents = client.db(DATABASE).collection<RawDocument>(`${name}-raw`);
        return rawLog(
          rawDocuments(documents, () => client.close()),
          numbers,
        );
      },
      async Scrollback(url) {
        const client = clientOf(url);
        const contestant = scrollback(storesOn(client), "mongodb", () => client.close());
        return scrollbackLog(contestant, async () => {
          const sending = clientOf(url);
          let bulk: Bulk<Document> | undefined;
          const client = inBulk(sending, (documents) => {
            bulk = new Bulk(INSERTS_AT_ONCE, (rows) => documents.insertMany([...rows]));
            return bulk;
          });
          const flush = async () => await bulk?.flush();
          return { stores: storesOn(client), flush, close: () => sending.close() };
        });
      },
      async "LangChain.js"(url) {
        const client = await clientOf(url).connect();
        const sessions = client.db(DATABASE).collection(`${name}-langchain`);
        // It requires a collection of mongodb 6, but uses only methods that mongodb 7 has too.
        type Theirs = ConstructorParameters<typeof MongoDBChatMessageHistory>[0]["collection"];
        const collection = sessions as unknown as Theirs;
        return langChain((sessionId) => new MongoDBChatMessageHistory({ collection, sessionId }), {
          longest: 10_000,
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
    },
    prepare: () =>
      onServer(async (client) => {
        await storesOn(client).setup();
        await client.db(DATABASE).collection(`${name}-langchain`).createIndex({ sessionId: 1 });
      }),
    remove: () =>
      onServer(async (client) => {
        for (const one of ["scrollback", "langchain", "raw"])
          await client.db(DATABASE).collection(`${name}-${one}`).drop();
      }),
  };
}
