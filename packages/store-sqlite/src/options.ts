import { resolve } from "node:path";
import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import { type Check, checkFactoryOptions, invalid, isOneOf } from "@scrollback/store-core/driver";
import { isTablePrefix } from "@scrollback/store-core/internal";
import {
  type Connection,
  connectionOf,
  fileOf,
  isSqliteClient,
  requireNodeSqlite,
  type SqliteClient,
} from "./clients/index.ts";

/** Options of `createSqliteStores`: either `url` or `client`, and the options of every backend. */
export interface SqliteOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `sqlite:` and the literal path of the database file. A relative path is resolved against the current working directory.
   * The first call creates a missing file with mode 0600; its directory must exist. `sqlite::memory:` is a database in
   * memory that ends with the factory.
   */
  url?: string;
  /**
   * Your own open database: a `DatabaseSync` of `node:sqlite`, or a `Database` of better-sqlite3. The factory never closes it and does
   * not change its pragmas.
   */
  client?: SqliteClient;
  /** The prefix of the table names: lower-case letters, digits and `_`, not starting with a digit. Default `scrollback_`. */
  tablePrefix?: string;
  /**
   * `"full"`: an acknowledged commit survives a power failure. `"normal"`: it survives the end of the process, but a power
   * failure may lose the newest commits. Neither damages the file. Only with `url`. Default `"full"`.
   */
  synchronous?: "full" | "normal";
}

/** The database that the options name. */
export type SqliteSource =
  | { readonly connection: Connection }
  | { readonly path: string; readonly synchronous: "full" | "normal" };

/** The path of an in-memory database. */
export const IN_MEMORY = ":memory:";

/** The path of the database file; null for a database in memory. */
export function pathOf(source: SqliteSource): string | null {
  if ("connection" in source) return fileOf(source.connection);
  return source.path === IN_MEMORY ? null : source.path;
}

const URL_FORMS = '"sqlite:chats.db", "sqlite:/var/lib/app/chats.db" or "sqlite::memory:"';

const isUrl: Check = (value) => {
  const path = typeof value === "string" ? /^sqlite:(.+)$/s.exec(value)?.[1] : undefined;
  if (path === undefined) return `must be like ${URL_FORMS}`;
  if (path.startsWith("//")) return `must name a path, not a host, like ${URL_FORMS}`;
  return /[?\0]/.test(path)
    ? `takes no parameters and no NUL character; it must be like ${URL_FORMS}`
    : undefined;
};

const isClient: Check = (value) =>
  isSqliteClient(value)
    ? undefined
    : "must be an open DatabaseSync of node:sqlite or Database of better-sqlite3";

const optionChecks: Readonly<Record<Exclude<keyof SqliteOptions, keyof StoreOptions>, Check>> = {
  url: isUrl,
  client: isClient,
  tablePrefix: isTablePrefix("sqlite_"),
  synchronous: isOneOf("full", "normal"),
};

/**
 * @throws StoreError `INVALID_ARGUMENT` that names the option and what it must be, `UNSUPPORTED` for a url where Node has no
 *   `node:sqlite`.
 */
export function parseOptions<M>(options: SqliteOptions<M>): {
  source: SqliteSource;
  tablePrefix: string;
  setup: boolean | undefined;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createSqliteStores", options, optionChecks);
  const { url, client, tablePrefix = "scrollback_", synchronous, setup, ...storeOptions } = options ?? {};
  return { source: sourceOf(url, client, synchronous), tablePrefix, setup, storeOptions };
}

function sourceOf(
  url: string | undefined,
  client: SqliteClient | undefined,
  synchronous: "full" | "normal" | undefined,
): SqliteSource {
  if (client !== undefined) {
    if (url !== undefined) invalid("createSqliteStores: give url or client, not both");
    if (synchronous !== undefined) {
      invalid("createSqliteStores: synchronous goes with url only; set the pragma on your client");
    }
    return { connection: connectionOf(client) };
  }
  if (url === undefined) return invalid("createSqliteStores: give url or client");
  requireNodeSqlite();
  const path = url.slice("sqlite:".length);
  return { path: path === IN_MEMORY ? path : resolve(path), synchronous: synchronous ?? "full" };
}
