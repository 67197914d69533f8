import { randomUUID } from "node:crypto";
import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { MongoDBChatMessageHistory } from "@langchain/mongodb";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createMongoStores } from "@scrollback/store-mongo";
import { type Collection, type Db, MongoClient } from "mongodb";
import type { Backend, Contestant, Contestants } from "../backend.ts";
import { toLangChain } from "../langchain.ts";
import { countRoundTrips } from "../round-trips.ts";
import { HEAD_BYTES, scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";

const DATABASE = "scrollback_bench";
/** More commits than any thread has. */
const MANY = 1_000_000;

interface RawRow {
  readonly _id: string;
  readonly head: string;
  readonly texts: readonly string[];
}

/** As many bytes as ours keeps beside the messages. */
const head = "h".repeat(HEAD_BYTES);

/**
 * A document a commit, as many bytes as ours; a read is one query from the end and JSON.parse. Nothing is trimmed.
 *
 * @param numbers how many commits each thread has.
 */
function raw(rows: Collection<RawRow>, numbers: Map<string, number>): Contestant {
  const keyOf = (threadId: string, number: number) => `${threadId}:${String(number).padStart(16, "0")}`;
  const insert = (threadId: string, messages: readonly ChatMessage[]) => {
    const number = (numbers.get(threadId) ?? 0) + 1;
    numbers.set(threadId, number);
    const texts = messages.map((message) => JSON.stringify(message));
    return rows.insertOne({ _id: keyOf(threadId, number), head, texts });
  };
  return {
    fill: insert,
    open(threadId) {
      const keys = { _id: { $gte: keyOf(threadId, 0), $lte: keyOf(threadId, Number.MAX_SAFE_INTEGER) } };
      const read = async (limit: number) => {
        const found = await rows.find(keys, { limit, batchSize: limit }).sort({ _id: -1 }).toArray();
        return found.reverse().flatMap(({ texts }) => texts.map((text): unknown => JSON.parse(text)));
      };
      return {
        append: (messages) => () => insert(threadId, messages),
        newest: (count) => async () => (await read(count)).slice(-count),
        all: () => () => read(MANY),
      };
    },
    expected: (messages) => [...messages],
  };
}

/** LangChain.js' own history: one document a session, which ends at 16 MB. */
function langChain(sessions: Collection): Contestant {
  // It asks for a collection of mongodb 6, and uses of it what mongodb 7 has too.
  const collection = sessions as unknown as ConstructorParameters<
    typeof MongoDBChatMessageHistory
  >[0]["collection"];
  return {
    longest: 10_000,
    // What addMessages would write, but not one by one.
    fill: (sessionId, messages) =>
      sessions.updateOne(
        { sessionId },
        { $push: { messages: { $each: mapChatMessagesToStoredMessages(toLangChain(messages)) } } } as object,
        { upsert: true },
      ),
    open(sessionId) {
      const history = new MongoDBChatMessageHistory({ collection, sessionId });
      return {
        append(messages) {
          const converted = toLangChain(messages);
          return () => history.addMessages(converted);
        },
        newest: (count) => async () => (await history.getMessages()).slice(-count),
        all: () => () => history.getMessages(),
      };
    },
    expected: (messages) => toLangChain(messages),
  };
}

/** A URL by which a client asks for nothing by itself: looking after the server is not to be counted. */
function lasting(url: URL): URL {
  const used = new URL(url);
  used.searchParams.set("directConnection", "true");
  used.searchParams.set("heartbeatFrequencyMS", "600000");
  return used;
}

/** A MongoDB at a URL. Each contestant has a client of its own, with the same options. */
export async function openMongo(server: {
  url: string;
  host: string;
  port: number;
  product: string;
  version: string;
}): Promise<Backend> {
  const name = `bench-${randomUUID()}`;
  const clients: MongoClient[] = [];
  const factories: StoreFactory[] = [];
  const numbers = new Map<string, number>();
  const connect = async (url: URL): Promise<Db> => {
    const client = new MongoClient(lasting(url).href, { writeConcern: { w: "majority" } });
    clients.push(client);
    await client.connect();
    return client.db(DATABASE);
  };
  const connectAll = async (url: URL): Promise<Contestants> => {
    const stores = createMongoStores({
      url: lasting(url).href,
      database: DATABASE,
      collectionName: `${name}-scrollback`,
    });
    factories.push(stores);
    // As a server has it that is in use.
    await stores.setup();
    const sessions = (await connect(url)).collection(`${name}-langchain`);
    await sessions.createIndex({ sessionId: 1 });
    return {
      raw: raw((await connect(url)).collection<RawRow>(`${name}-raw`), numbers),
      Scrollback: scrollback(stores, "mongodb"),
      "LangChain.js": langChain(sessions),
    };
  };
  const counter = await countRoundTrips(server);
  const counted = new URL(server.url);
  counted.host = `127.0.0.1:${counter.port}`;
  return {
    name: `MongoDB's protocol: ${server.product}`,
    versions: [
      `${server.product} ${server.version}`,
      `mongodb ${versionOf("mongodb")}, write concern majority`,
      `LangChain.js: @langchain/mongodb ${versionOf("@langchain/mongodb")}, @langchain/core ${versionOf("@langchain/core")}; its one document a session ends at 16 MB`,
    ],
    baseline: "insertOne of a document of the same bytes; find from the end and JSON.parse",
    targets: { commit: 1.25, read: 1.25, batchLead: 10 },
    contestants: await connectAll(new URL(server.url)),
    counted: { contestants: await connectAll(counted), roundTrips: counter.count },
    async close() {
      const [client] = clients;
      for (const one of ["scrollback", "langchain", "raw"]) {
        await client?.db(DATABASE).collection(`${name}-${one}`).drop();
      }
      for (const open of [...clients, ...factories]) await open.close();
      await counter.close();
    },
  };
}
