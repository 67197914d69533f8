import {
  type ChatMessage,
  type Check,
  CONNECT_TIMEOUT_MS,
  checkFactoryOptions,
  clientFrom,
  hasMethods,
  invalid,
  isUrl,
  type StoreOptions,
  storeOptionChecks,
  type UsedClient,
} from "@scrollback/store-core";
import { Client, Pool, type PoolClient } from "pg";

/** A pool or a connection of `pg`. */
export type PostgresClient = Pool | Client | PoolClient;

/** The client may be of another copy of pg. */
export function isPool(client: PostgresClient): client is Pool {
  return "totalCount" in client;
}

/** Options of `createPostgresStores`: either `url` or `client`, and the options of every backend. */
export interface PostgresStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `postgres://[user[:password]@]host[:port][/database][?options]` or `postgresql://…`, with the options of `pg`, and with
   * user name and password percent-encoded. `?sslmode=verify-full` enables TLS. `pg` ignores parameters that it does not know. A
   * parameter with the name of an option of this factory, such as `?tableName=…`, is refused. The factory opens a pool of 10
   * connections at the first call and closes it in `close()`.
   */
  url?: string;
  /**
   * A `Pool` of `pg` 8, or a connected `Client` on which nothing else begins a transaction. The factory never closes it.
   */
  client?: PostgresClient;
  /** The schema of the table. Default: the first schema in the user's `search_path` with the table. */
  schema?: string;
  /** The table of all threads of these stores. Default `"scrollback_messages"`. */
  tableName?: string;
}

/** The client, schema and table of the rows. */
export interface PostgresTable extends UsedClient<PostgresClient> {
  readonly schema: string | undefined;
  readonly tableName: string;
}

const URL_FORM = "postgres://[user[:password]@]host[:port][/database][?options] or postgresql://…";

/** An identifier has at most 63 bytes, and the names of the indexes are longer than the table's name: up to `_entries_expiry`. */
const MAX_NAME_BYTES = 48;

const isName: Check = (value) =>
  typeof value === "string" &&
  value !== "" &&
  value.isWellFormed() &&
  !value.includes("\0") &&
  Buffer.byteLength(value) <= MAX_NAME_BYTES
    ? undefined
    : `must be a name of 1 to ${MAX_NAME_BYTES} bytes, without quotes around it`;

const isClient: Check = (value) => {
  const problem = hasMethods("query", "connect", "on")(value);
  if (problem) return problem;
  const client = value as PostgresClient;
  const settings: object = isPool(client) ? client.options : client;
  return "binary" in settings && settings.binary
    ? "must not have pg's option binary: the stores read texts"
    : undefined;
};

const optionChecks: Readonly<Record<keyof PostgresStoreOptions, Check>> = {
  url: isUrl(URL_FORM, ["postgres", "postgresql"], ({ hostname, searchParams }) => {
    if (hostname !== "" || searchParams.has("host")) return true;
    return `must name a host; it must read ${URL_FORM}`;
  }),
  client: isClient,
  schema: isName,
  tableName: isName,
  ...storeOptionChecks,
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: PostgresStoreOptions<M>): {
  table: PostgresTable;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createPostgresStores", options, optionChecks);
  const { url, client, schema, tableName = "scrollback_messages", ...storeOptions } = options ?? {};
  const used = clientFrom("createPostgresStores", { url, client }, openPool);
  return { table: { ...used, schema, tableName }, storeOptions };
}

/** Returns a pool for a URL. It does not connect yet. */
function openPool(url: string): Pool {
  try {
    // A client reads the URL when it is made, a pool only with its first connection.
    new Client(url);
  } catch {
    // The error may show the URL.
    invalid(
      `createPostgresStores: url is rejected by pg; it must read ${URL_FORM}, with options that pg knows and certificates that exist`,
    );
  }
  return new Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
}
