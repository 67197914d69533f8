import { DocumentDriver } from "@scrollback/documents";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { MariadbDocuments } from "./mariadb-documents.ts";
import { type MariadbStoreOptions, parseOptions } from "./options.ts";

export type { MariadbStoreOptions } from "./options.ts";

/**
 * Creates stores in three tables of a MariaDB database. Connects at the first call of a store. `setup()` creates missing tables.
 * MariaDB does not delete expired rows: if you use `ttlMs`, or delete threads, regularly run the statements of `sweepStatements`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createMariadbStores({ url: "mysql://app:secret@localhost/app", maxMessages: 200 });
 * await stores.setup();
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createMariadbStores<M = ChatMessage>(
  options: MariadbStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { table, storeOptions } = parseOptions(options);
  return createStores(new DocumentDriver(new MariadbDocuments(table)), storeOptions);
}
