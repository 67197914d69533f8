import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { type PostgresStoreOptions, parseOptions } from "./options.ts";
import { PostgresDriver } from "./postgres-driver.ts";

export type { PostgresStoreOptions } from "./options.ts";

/**
 * Creates stores in a schema of a PostgreSQL database. Connects at the first call of a store. `setup()` creates the tables and functions.
 * PostgreSQL does not delete expired rows: if you use `ttlMs`, have a scheduler call the function `sweep_v1()` of the schema.
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
  const { used, storeOptions } = parseOptions(options);
  return createStores(new PostgresDriver(used), storeOptions);
}
