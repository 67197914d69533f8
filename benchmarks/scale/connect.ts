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

/** Where threads lie, as plain data that another process can be given. */
export interface Location {
  readonly backend: BackendName;
  /** The server's; for SQLite a folder. */
  readonly url: string;
  /** What one run names its own: keys, collections or tables. */
  readonly run: string;
  /** A file, a database number, a collection or a table of its own for each: threads of one do not weigh on another. */
  readonly space: number;
}

/** A driver that knows nothing yet, and whoever it connects by. */
export interface Connection {
  readonly stores: StoreFactory;
  close(): Promise<void>;
}

export const MONGO_DATABASE = "scrollback_scale";

/** The collection or the table of a location. */
export function containerOf({ run, space }: Location): string {
  return `${run}-${space}`;
}

/** A Redis server keeps the keys of each database number in a table of their own. */
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
 * A fresh driver for a location. Nothing is sent before the first call of a store.
 *
 * @param isFilling whether it is to write much, and to lose it all in a power cut: nothing that is measured.
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
      return createPostgresStores({ url: location.url, tableName: containerOf(location) });
    default:
      return createSqliteStores({
        url: `sqlite:${join(location.url, `${location.space}.db`)}`,
        synchronous: isFilling ? "normal" : "full",
      });
  }
}
