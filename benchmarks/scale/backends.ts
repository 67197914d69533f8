import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  BatchWriteItemCommand,
  DeleteTableCommand,
  QueryCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { Redis } from "ioredis";
import { MongoClient } from "mongodb";
import { Client } from "pg";
import { startServer } from "../../conformance-tests/servers/index.ts";
import {
  type BackendName,
  containerOf,
  dynamoClient,
  type Location,
  MONGO_DATABASE,
  redisUrlOf,
} from "./connect.ts";

/** The backend to measure. */
export interface Backend extends AsyncDisposable {
  readonly name: BackendName;
  readonly title: string;
  /** Products and versions, server first. */
  readonly versions: readonly string[];
  location(space: number): Location;
  /**
   * Inserts copies of a one-commit thread, many in a request, with the same rows as regular writes. Absent where single commits
   * are fast enough.
   */
  copyThread?(location: Location, from: string, to: readonly string[]): Promise<void>;
  /** Removes what was written and stops what was started. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A folder of the benchmark, because the system's temporary folder may be in memory. */
const FOLDER = fileURLToPath(new URL("../.results/", import.meta.url));
/** The maximum number of items of a BatchWriteItem request. */
const BATCH_WRITE = 25;
const BATCHES_AT_ONCE = 4;

type Remote = Exclude<BackendName, "sqlite">;

/** The differences of the remote backends. */
interface Kind {
  readonly adapter: string;
  /** The client's package. */
  readonly client: string;
  readonly note?: string;
  copyThread?(location: Location, from: string, to: readonly string[]): Promise<void>;
  remove(locations: readonly Location[]): Promise<void>;
}

const kinds: Readonly<Record<Remote, Kind>> = {
  redis: {
    adapter: "@scrollback/store-redis",
    client: "ioredis",
    async remove(locations) {
      for (const location of locations) {
        const client = new Redis(redisUrlOf(location));
        for await (const keys of client.scanStream({ match: `${location.run}:*`, count: 1_000 })) {
          if (keys.length > 0) await client.unlink(...keys);
        }
        client.disconnect();
      }
    },
  },
  mongodb: {
    adapter: "@scrollback/store-mongo",
    client: "mongodb",
    note: "write concern majority",
    copyThread: (location, from, to) =>
      onMongo(location, async (client) => {
        const rows = client.db(MONGO_DATABASE).collection<{ _id: string }>(containerOf(location));
        // The keys are the thread's id, a colon and a number. The semicolon is the character after the colon.
        const found = await rows.find({ _id: { $gte: `${from}:`, $lt: `${from};` } }).toArray();
        if (found.length === 0) throw new Error(`no thread ${from} to copy`);
        await rows.insertMany(
          to.flatMap((threadId) =>
            found.map((row) => ({ ...row, _id: threadId + row._id.slice(from.length) })),
          ),
        );
      }),
    remove: async (locations) => {
      for (const location of locations) {
        await onMongo(location, (client) =>
          client.db(MONGO_DATABASE).collection(containerOf(location)).drop(),
        );
      }
    },
  },
  dynamodb: {
    adapter: "@scrollback/store-dynamo",
    client: "@aws-sdk/client-dynamodb",
    note: "reads strongly consistent",
    async copyThread(location, from, to) {
      const client = dynamoClient(location.url);
      const TableName = containerOf(location);
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: "s = :s",
          ExpressionAttributeValues: { ":s": { S: from } },
        }),
      );
      if (Items.length === 0) throw new Error(`no thread ${from} to copy`);
      const waiting = to.flatMap((threadId): WriteRequest[] =>
        Items.map((item) => ({ PutRequest: { Item: { ...item, s: { S: threadId } } } })),
      );
      const work = async () => {
        while (waiting.length > 0) {
          let requests: WriteRequest[] | undefined = waiting.splice(0, BATCH_WRITE);
          while (requests?.length) {
            const command: BatchWriteItemCommand = new BatchWriteItemCommand({
              RequestItems: { [TableName]: requests },
            });
            requests = (await client.send(command)).UnprocessedItems?.[TableName];
          }
        }
      };
      await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, work));
      client.destroy();
    },
    async remove(locations) {
      for (const location of locations) {
        const client = dynamoClient(location.url);
        await client.send(new DeleteTableCommand({ TableName: containerOf(location) }));
        client.destroy();
      }
    },
  },
  postgres: {
    adapter: "@scrollback/store-postgres",
    client: "pg",
    note: "synchronous_commit on",
    copyThread: (location, from, to) =>
      onPostgres(location, async (client) => {
        const schema = `"${containerOf(location)}"`;
        const copied = (table: string, changes: string) =>
          `INSERT INTO ${schema}.${table} SELECT copy.* FROM ${schema}.threads t
           ${table === "threads" ? "" : `JOIN ${schema}.${table} USING (tenant, life)`}, unnest($2::text[]) AS new (id),
           jsonb_populate_record(${table === "threads" ? "t" : table}, jsonb_build_object('life', left(md5(new.id), 16)${changes})) AS copy
           WHERE t.id = $1`;
        const { rowCount } = await client.query(copied("threads", ", 'id', new.id"), [from, to]);
        if (rowCount === 0) throw new Error(`no thread ${from} to copy`);
        for (const table of ["messages", "operations"]) await client.query(copied(table, ""), [from, to]);
      }),
    remove: async (locations) => {
      for (const location of locations) {
        await onPostgres(location, (client) =>
          client.query(`DROP SCHEMA "${containerOf(location)}" CASCADE`),
        );
      }
    },
  },
};

/** A backend on a server that is started for it and stopped with it. */
export async function openBackend(name: BackendName): Promise<Backend> {
  return name === "sqlite" ? openSqlite() : await openServer(name);
}

function openSqlite(): Backend {
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "scale-"));
  return {
    name: "sqlite",
    title: "SQLite",
    versions: [`SQLite ${process.versions.sqlite} (node:sqlite), WAL, synchronous FULL`],
    location: (space) => ({ backend: "sqlite", url: folder, run: "", space }),
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openServer(name: Remote): Promise<Backend> {
  const server = await startServer(name);
  const { adapter, client, note, copyThread, remove } = kinds[name];
  const run = `scale-${randomUUID()}`;
  const used = new Map<number, Location>();
  return {
    name,
    title:
      name === "mongodb" && server.product !== "MongoDB" ? `MongoDB (${server.product})` : server.product,
    versions: [
      `${server.product} ${server.version}`,
      `${client} ${versionUsedBy(adapter, client)}${note === undefined ? "" : `, ${note}`}`,
    ],
    location(space) {
      const location = { backend: name, url: server.url, run, space };
      used.set(space, location);
      return location;
    },
    ...(copyThread && { copyThread }),
    async [Symbol.asyncDispose]() {
      try {
        await remove([...used.values()]);
      } finally {
        await server.stop();
      }
    },
  };
}

async function onMongo<T>(location: Location, use: (client: MongoClient) => Promise<T>): Promise<void> {
  const client = new MongoClient(location.url);
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

async function onPostgres<T>(location: Location, use: (client: Client) => Promise<T>): Promise<void> {
  const client = new Client(location.url);
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}

/** The version of a client that an adapter loads, which may differ from the one installed here. */
function versionUsedBy(adapter: string, client: string): string {
  const manifest = findPackageJSON(client, import.meta.resolve(adapter));
  if (manifest === undefined) throw new Error(`${adapter} cannot find ${client}`);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}
