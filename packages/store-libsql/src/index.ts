import { DocumentDriver } from "@scrollback/documents";
import { SqliteDocuments } from "@scrollback/documents/sqlite";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { LibsqlClient } from "./libsql-client.ts";
import { type LibsqlStoreOptions, parseOptions } from "./options.ts";

export type { LibsqlStoreOptions } from "./options.ts";

/**
 * Creates stores on libSQL by `@libsql/client`: a file, which any number of processes on one machine can share, or a server. The first
 * call opens the file or connects, and creates missing tables. With `setup: false` only `setup()` creates them.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createLibsqlStores({ url: "libsql:chats.db", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createLibsqlStores<M = ChatMessage>(
  options: LibsqlStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { source, tablePrefix, storeOptions } = parseOptions(options);
  const documents = new SqliteDocuments(new LibsqlClient(source, tablePrefix), tablePrefix);
  return createStores(new DocumentDriver(documents), storeOptions);
}
