import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { parseOptions, type SqliteOptions } from "./options.ts";
import { SqliteDriver } from "./sqlite-driver.ts";

export type { SqliteOptions } from "./options.ts";

/**
 * Creates stores in a SQLite file, which any number of processes on one machine can share. The first call of a store (or
 * `setup()`) opens the file and creates the tables, or migrates the tables of an older version. With `setup: false` only `setup()` does.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, `UNSUPPORTED` for a `url` where Node has no `node:sqlite`.
 * @example
 * const stores = createSqliteStores({ url: "sqlite:chats.db", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createSqliteStores<M = ChatMessage>(
  options: SqliteOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { source, tablePrefix, setup, storeOptions } = parseOptions(options);
  return createStores(new SqliteDriver(source, tablePrefix, setup), storeOptions);
}
