import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { StoreFactory } from "@scrollback/store-core";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { createMongoStores } from "@scrollback/store-mongo";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createRedisStores } from "@scrollback/store-redis";
import { createSqliteStores } from "@scrollback/store-sqlite";

/** In the order of the report. */
export const backendNames = ["sqlite", "redis", "mongodb", "dynamodb", "postgres"] as const;
export type BackendName = (typeof backendNames)[number];

/** The location of threads, as plain data that can be passed to another process. */
export interface Location {
  readonly backend: BackendName;
  /** The server's URL; for SQLite a folder. */
  readonly url: string;
  /** The prefix of one run's keys, collections, tables or schemas. */
  readonly run: string;
  /** Each space has a separate file, database number, collection, table or schema, so threads of one space do not slow down another. */
  readonly space: number;
}

/** The stores of a driver without cached state, with their connection. */
export interface Connection {
  readonly stores: StoreFactory;
  close(): Promise<void>;
}

export const MONGO_DATABASE = "scrollback_scale";

/** The collection, table or schema of a location. */
export function containerOf({ run, space }: Location): string {
  return `${run}-${space}`;
}

/** A Redis server keeps the keys of each database number in a separate table. */
export function redisUrlOf({ url, space }: Location): string {
  const used = new URL(url);
  used.pathname = `/${space}`;
  return used.href;
}

export function dynamoClient(url: string): DynamoDBClient {
  return new DynamoDBClient({
    endpoint: url,
    region: "local",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    maxAttempts: 2,
  });
}

/**
 * A new driver for a location. Sends nothing before the first call of a store.
 *
 * @param isFilling whether it writes much data that a power cut may lose; never set for what is measured.
 */
export function connect(location: Location, isFilling = false): Connection {
  if (location.backend === "dynamodb") {
    const client = dynamoClient(location.url);
    const stores = createDynamoStores({ client, tableName: containerOf(location) });
    return {
      stores,
      async close() {
        await stores.close();
        client.destroy();
      },
    };
  }
  const stores = factoryOf(location, isFilling);
  return { stores, close: () => stores.close() };
}

function factoryOf(location: Location, isFilling: boolean): StoreFactory {
  switch (location.backend) {
    case "redis":
      return createRedisStores({ url: redisUrlOf(location), keyPrefix: location.run });
    case "mongodb":
      return createMongoStores({
        url: location.url,
        database: MONGO_DATABASE,
        collectionName: containerOf(location),
      });
    case "postgres":
      return createPostgresStores({ url: location.url, schema: containerOf(location) });
    default:
      return createSqliteStores({
        url: `sqlite:${join(location.url, `${location.space}.db`)}`,
        synchronous: isFilling ? "normal" : "full",
      });
  }
}
