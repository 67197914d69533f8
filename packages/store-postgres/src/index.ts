import {
  type ChatMessage,
  createStores,
  RecordLogDriver,
  type StoreFactory,
  type TraitsOption,
} from "@scrollback/store-core";
import { type PostgresStoreOptions, parseOptions } from "./options.ts";
import { PostgresRecordLog } from "./postgres-log.ts";

export type { PostgresClient, PostgresStoreOptions } from "./options.ts";

/**
 * Creates stores in two tables of a PostgreSQL database. Connects at the first call of a store. `setup()` creates missing tables.
 * PostgreSQL does not delete expired rows: if you use `ttlMs`, regularly run the DELETE statements of the package's
 * documentation.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createPostgresStores({ url: "postgres://app:secret@localhost/app", maxMessages: 200 });
 * await stores.setup();
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createPostgresStores<M = ChatMessage>(
  options: PostgresStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { table, storeOptions } = parseOptions(options);
  return createStores(new RecordLogDriver(new PostgresRecordLog(table)), storeOptions);
}
