import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  clientFrom,
  invalid,
  isUrl,
  REQUEST_TIMEOUT_MS,
  type UsedClient,
} from "@scrollback/store-core/driver";
import { createPool, type Pool } from "mysql2/promise";

/** Options of `createMariadbStores`: either `url` or `client`, and the options of every backend. */
export interface MariadbStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `mysql://[user[:password]@]host[:port]/database[?options]` or `mariadb://…`, with the options of `mysql2`, and with user name and
   * password percent-encoded. `?ssl={"ca":"…"}`, percent-encoded, enables TLS. The factory opens a pool of 10 connections at the first
   * call and closes it in `close()`.
   */
  url?: string;
  /** A pool of `mysql2/promise`, whose connections commit each statement by themselves. The factory never closes it. */
  client?: Pool;
  /** The table of all threads of these stores, in the client's database. Default `"scrollback_messages"`. */
  tableName?: string;
}

/** The client and the table of the heads. */
export interface MariadbTable extends UsedClient<Pool> {
  readonly tableName: string;
}

const URL_FORM = "mysql://[user[:password]@]host[:port]/database[?options] or mariadb://…";

/** A name has at most 64 characters, and those of the other tables are longer. Such names need no escapes within backticks. */
const isName: Check = (value) =>
  typeof value === "string" && /^[\w-]{1,50}$/.test(value)
    ? undefined
    : "must be a name of 1 to 50 letters of ASCII, digits, _ and -";

/** Only a pool of `mysql2/promise` has the pool of `mysql2` in it. */
const isPool: Check = (value) =>
  typeof value === "object" && value !== null && "pool" in value && "getConnection" in value
    ? undefined
    : "must be a pool of mysql2/promise: createPool(…)";

const optionChecks: Readonly<Record<Exclude<keyof MariadbStoreOptions, keyof StoreOptions>, Check>> = {
  url: isUrl(
    URL_FORM,
    ["mysql", "mariadb"],
    ({ hostname, pathname }) => hostname !== "" && /^\/[^/]+$/.test(pathname),
  ),
  client: isPool,
  tableName: isName,
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: MariadbStoreOptions<M>): {
  table: MariadbTable;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createMariadbStores", options, optionChecks);
  const { url, client, tableName = "scrollback_messages", ...storeOptions } = options ?? {};
  const used = clientFrom("createMariadbStores", { url, client }, openPool);
  return { table: { ...used, tableName }, storeOptions };
}

/** Returns a pool for a URL. It does not connect yet. */
function openPool(uri: string): Pool {
  try {
    return createPool({ uri, connectTimeout: REQUEST_TIMEOUT_MS });
  } catch {
    // The error may show the URL.
    return invalid(`createMariadbStores: url is rejected by mysql2; it must read ${URL_FORM}`);
  }
}
