import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  clientFrom,
  hasMethods,
  invalid,
  REQUEST_TIMEOUT_MS,
  type UsedClient,
} from "@scrollback/store-core/driver";
import { MongoClient } from "mongodb";

/** Options of `createMongoStores`: either `url` or `client`, and the options of every backend. */
export interface MongoStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * A MongoDB connection string, `mongodb://…` or `mongodb+srv://…`, with any option of the driver, and with user name and
   * password percent-encoded. The factory connects at the first call and closes its connections in `close()`.
   */
  url?: string;
  /** A MongoClient of `mongodb` 7, connected or not, for settings that a URL cannot hold. The factory never closes it. */
  client?: MongoClient;
  /** The database. Default: the database of the URL or the client; `"scrollback"` for a URL without one. */
  database?: string;
  /** The collection that holds all threads of these stores. Default `"scrollback_messages"`. */
  collectionName?: string;
}

/** The client, database and collection of the rows. */
export interface MongoCollection extends UsedClient<MongoClient> {
  readonly database: string;
  readonly collectionName: string;
}

/**
 * Timeouts of the factory's own client if its URL does not set them, in milliseconds. They are shorter than store-core's 5
 * seconds of retries, so that a failed or unanswered request is retried, and only one layer decides how long to retry.
 */
const patience = {
  connectTimeoutMS: REQUEST_TIMEOUT_MS,
  socketTimeoutMS: REQUEST_TIMEOUT_MS,
  waitQueueTimeoutMS: REQUEST_TIMEOUT_MS,
  serverSelectionTimeoutMS: 2_000,
  /** The interval of checks for a lost server while calls wait. */
  minHeartbeatFrequencyMS: 100,
};

const URL_FORM = "mongodb://[user:password@]host[:port][/database][?options] or mongodb+srv://…";

const isMongoUrl: Check = (value) =>
  typeof value === "string" && /^mongodb(\+srv)?:\/\//.test(value) ? undefined : `must read ${URL_FORM}`;

const isDatabase: Check = (value) =>
  typeof value === "string" && /^[^/\\. "$*<>:|?\0]+$/.test(value) && Buffer.byteLength(value) <= 63
    ? undefined
    : 'must be the name of a database: 1 to 63 bytes, without spaces and without any of /\\."$*<>:|?';

const isCollectionName: Check = (value) =>
  typeof value === "string" &&
  /^(?!system\.)[^$\0]+$/.test(value) &&
  !/^\.|\.$|\.\./.test(value) &&
  Buffer.byteLength(value) <= 120
    ? undefined
    : 'must be the name of a collection: 1 to 120 bytes without "$", not beginning with "system." or a dot';

const optionChecks: Readonly<Record<Exclude<keyof MongoStoreOptions, keyof StoreOptions>, Check>> = {
  url: isMongoUrl,
  client: hasMethods("db", "connect", "close"),
  database: isDatabase,
  collectionName: isCollectionName,
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: MongoStoreOptions<M>): {
  collection: MongoCollection;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createMongoStores", options, optionChecks);
  const { url, client, database, collectionName = "scrollback_messages", ...storeOptions } = options ?? {};
  const used = clientFrom("createMongoStores", { url, client }, openClient);
  if (used.client.writeConcern?.w === 0) {
    invalid(
      `createMongoStores: ${client ? "client" : "url"} has the write concern w: 0, which acknowledges no write; use w: "majority"`,
    );
  }
  const named = database ?? (client ? client.options.dbName : databaseIn(url ?? ""));
  const problem = isDatabase(named);
  if (problem) invalid(`createMongoStores: the database of ${client ? "client" : "url"} ${problem}`);
  return { collection: { ...used, database: named, collectionName }, storeOptions };
}

/** The database in the path of a URL that the driver has accepted. */
function databaseIn(url: string): string {
  const [, path = ""] = /^[^/]+\/\/[^/?]*\/([^?]*)/.exec(url) ?? [];
  return decodeURIComponent(path) || "scrollback";
}

/** Returns a client for a URL. It does not connect yet. */
function openClient(url: string): MongoClient {
  const [, query = ""] = url.split("?");
  const given = [...new URLSearchParams(query).keys()].map((name) => name.toLowerCase());
  const others = Object.entries(patience).filter(([name]) => !given.includes(name.toLowerCase()));
  try {
    return new MongoClient(url, Object.fromEntries(others));
  } catch {
    // The driver's error may show the URL.
    return invalid(
      `createMongoStores: url is rejected by the driver; it must read ${URL_FORM}, with user name and password percent-encoded, and options that the driver knows`,
    );
  }
}
