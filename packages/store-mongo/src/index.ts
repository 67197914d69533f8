import { DocumentDriver } from "@scrollback/documents";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { MongoDocuments } from "./mongo-documents.ts";
import { type MongoStoreOptions, parseOptions } from "./options.ts";

export type { MongoStoreOptions } from "./options.ts";

/**
 * Creates stores on MongoDB: standalone, replica set or sharded. Connects at the first call of a store. `setup()` creates the
 * indexes by which MongoDB deletes expired documents, and the one that lists the entries of indexes without a collection scan.
 * Everything else works without these indexes.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createMongoStores({ url: "mongodb://localhost:27017/app", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createMongoStores<M = ChatMessage>(
  options: MongoStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { collection, storeOptions } = parseOptions(options);
  return createStores(new DocumentDriver(new MongoDocuments(collection)), storeOptions);
}
