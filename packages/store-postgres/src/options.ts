import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  clientFrom,
  hasMethods,
  invalid,
  isUrl,
  REQUEST_TIMEOUT_MS,
  type UsedClient,
} from "@scrollback/store-core/driver";
import { Client, Pool, type PoolClient } from "pg";
import type { ClientKind } from "./errors.ts";
import { DEFAULT_SCHEMA } from "./text.ts";

/** A PGlite, or a transaction on it, as far as the stores use it. */
export interface PgliteClient {
  query(
    text: string,
    values: (string | null)[],
    options: {
      rowMode: "array";
      parsers: Record<number, (value: string) => unknown>;
      serializers: Record<number, (value: string) => string>;
    },
  ): Promise<{ rows: unknown[] }>;
  exec(text: string): Promise<unknown>;
  /** Absent for a database in memory and for a transaction. */
  readonly dataDir?: string;
  readonly closed?: boolean;
  listen?(channel: string, callback: (payload: string) => void): Promise<() => Promise<void>>;
}

/** A pool or a connection of `pg` or of a package with the same API, such as `@neondatabase/serverless`; or a PGlite. */
export type PostgresClient = Pool | Client | PoolClient | PgliteClient;

/** The client may be of another copy of pg. */
export function isPool(client: PostgresClient): client is Pool {
  return "totalCount" in client;
}

export function isPglite(client: PostgresClient): client is PgliteClient {
  return "exec" in client;
}

export function kindOf({ client, owned }: UsedClient<PostgresClient>): ClientKind {
  if (isPglite(client)) return "embedded";
  if (!isPool(client)) return "connection";
  return owned ? "own pool" : "pool";
}

/** The address that a client connects to. pg reads a pool's URL and the environment only when it opens a connection. */
export function locationOf(client: PostgresClient): {
  host?: string;
  port?: number;
  database?: string | undefined;
} {
  if (isPglite(client)) return {};
  return isPool(client) ? new Client(client.options) : client;
}

/** Options of `createPostgresStores`: either `url` or `client`, and the options of every backend. */
export interface PostgresStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `postgres://[user[:password]@]host[:port][/database][?options]` or `postgresql://…`, with the options of `pg`, and with
   * user name and password percent-encoded. `?sslmode=verify-full` enables TLS. `pg` ignores parameters that it does not know. A
   * parameter with the name of an option of this factory, such as `?schema=…`, is refused. The factory opens a pool of 10
   * connections at the first call and closes it in `close()`.
   */
  url?: string;
  /**
   * A `Pool` of `pg` 8 or of a package with the same API; or one connected `Client`, a PGlite or a transaction of a PGlite, on which every call
   * is sent once, also within a transaction of the caller. The factory never closes it.
   */
  client?: PostgresClient;
  /** The schema of the tables and functions, which nothing else should be in. Default `"scrollback"`. */
  schema?: string;
  /**
   * Gives hints of the changes of other processes (`StoreFactory.watch`) by `LISTEN` and `NOTIFY`, on one connection beside the pool, which
   * is open while something is watched. `true`: with the same URL, or the options of the given `Pool`. A URL as in `url`: for stores whose
   * own connections lead to a pooler in transaction mode, past which this one must lead: there `LISTEN` has no effect and no error. Default `false`.
   */
  listen?: boolean | string;
}

/** The client and the schema of the tables. */
export interface PostgresSchema extends UsedClient<PostgresClient> {
  readonly schema: string;
  /** See {@link PostgresStoreOptions.listen}. */
  readonly listen?: true | string;
}

const URL_FORM = "postgres://[user[:password]@]host[:port][/database][?options] or postgresql://…";

/** An identifier has at most 63 bytes. */
const MAX_NAME_BYTES = 63;

/** The bodies of the functions stand between `$$`, and comments of the SQL name the schema: a line break would end them. */
const isName: Check = (value) =>
  typeof value === "string" &&
  value !== "" &&
  value.isWellFormed() &&
  !/\p{Cc}|[\u2028\u2029]|\$\$|^pg_/u.test(value) &&
  Buffer.byteLength(value) <= MAX_NAME_BYTES
    ? undefined
    : `must be a name of 1 to ${MAX_NAME_BYTES} bytes, without "$$", control characters and quotes around it, and must not begin with "pg_"`;

const isClient: Check = (value) => {
  const problem = hasMethods("query")(value);
  if (problem) return problem;
  const client = value as PostgresClient;
  if (isPglite(client)) return undefined;
  return hasMethods("query", "connect", "on")(value);
};

const isPostgresUrl = isUrl(URL_FORM, ["postgres", "postgresql"], ({ hostname, searchParams }) => {
  if (hostname !== "" || searchParams.has("host")) return true;
  return `must name a host; it must read ${URL_FORM}`;
});

const optionChecks: Readonly<Record<Exclude<keyof PostgresStoreOptions, keyof StoreOptions>, Check>> = {
  url: isPostgresUrl,
  client: isClient,
  schema: isName,
  listen: (value) => {
    const problem = typeof value === "boolean" ? undefined : isPostgresUrl(value);
    return problem && `must be true, false, or a URL that ${problem.replace(/^must /, "")}`;
  },
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: PostgresStoreOptions<M>): {
  used: PostgresSchema;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createPostgresStores", options, optionChecks);
  const { url, client, schema = DEFAULT_SCHEMA, listen = false, ...storeOptions } = options ?? {};
  const used = clientFrom<PostgresClient>("createPostgresStores", { url, client }, openPool);
  const problem = listenProblem(used.client, listen);
  if (problem) invalid(`createPostgresStores: listen ${problem}`);
  return { used: { ...used, schema, ...(listen !== false && { listen }) }, storeOptions };
}

function listenProblem(client: PostgresClient, listen: boolean | string): string | undefined {
  if (listen === false) return undefined;
  if (isPglite(client)) {
    if (!client.listen || "rollback" in client) return "must be left out: client is a transaction";
    return listen === true ? undefined : "must be true: client is a PGlite";
  }
  if (typeof listen === "string") checkUrl("listen", listen);
  return isPool(client) || typeof listen === "string"
    ? undefined
    : "must be a URL: client is one connection, and listening needs another one";
}

/** Returns a pool for a URL. It does not connect yet. */
function openPool(url: string): Pool {
  checkUrl("url", url);
  return new Pool({
    connectionString: url,
    connectionTimeoutMillis: REQUEST_TIMEOUT_MS,
    keepAlive: true,
  });
}

function checkUrl(option: string, url: string): void {
  try {
    // A client reads the URL when it is made, a pool only with its first connection.
    new Client(url);
  } catch {
    // The error may show the URL.
    invalid(
      `createPostgresStores: ${option} is rejected by pg; it must read ${URL_FORM}, with options that pg knows and certificates that exist`,
    );
  }
}
