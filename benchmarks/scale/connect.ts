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
export interface Place {
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

/** The collection or the table of a place. */
export function containerOf({ run, space }: Place): string {
  return `${run}-${space}`;
}

/** A Redis server keeps the keys of each database number in a table of their own. */
export function redisUrlOf({ url, space }: Place): string {
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
 * A fresh driver for a place. Nothing is sent before the first call of a store.
 *
 * @param isFilling whether it is to write much, and to lose it all in a power cut: nothing that is measured.
 */
export function connect(place: Place, isFilling = false): Connection {
  if (place.backend === "dynamodb") {
    const client = dynamoClient(place.url);
    const stores = createDynamoStores({ client, tableName: containerOf(place) });
    return {
      stores,
      async close() {
        await stores.close();
        client.destroy();
      },
    };
  }
  const stores = factoryOf(place, isFilling);
  return { stores, close: () => stores.close() };
}

function factoryOf(place: Place, isFilling: boolean): StoreFactory {
  switch (place.backend) {
    case "redis":
      return createRedisStores({ url: redisUrlOf(place), keyPrefix: place.run });
    case "mongodb":
      return createMongoStores({
        url: place.url,
        database: MONGO_DATABASE,
        collectionName: containerOf(place),
      });
    case "postgres":
      return createPostgresStores({ url: place.url, tableName: containerOf(place) });
    default:
      return createSqliteStores({
        url: `sqlite:${join(place.url, `${place.space}.db`)}`,
        synchronous: isFilling ? "normal" : "full",
      });
  }
}
