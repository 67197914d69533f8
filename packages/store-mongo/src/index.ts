import {
  type ChatMessage,
  createStores,
  RecordLogDriver,
  type StoreFactory,
  type TraitsOption,
} from "@scrollback/store-core";
import { MongoRecordLog } from "./mongo-log.ts";
import { type MongoStoreOptions, parseOptions } from "./options.ts";

export type { MongoStoreOptions } from "./options.ts";

/**
 * Stores on MongoDB, standalone, as a replica set or sharded. Makes no connection before a store's first call. `setup()`
 * makes the index by which MongoDB deletes what has expired, and the one that lists threads without a scan of the collection; all
 * else works without them.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createMongoStores({ url: "mongodb://localhost:27017/app", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createMongoStores<M = ChatMessage>(
  options: MongoStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { place, storeOptions } = parseOptions(options);
  return createStores(new RecordLogDriver(new MongoRecordLog(place)), storeOptions);
}
