import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { DynamoDriver } from "./dynamo-driver.ts";
import { type DynamoStoreOptions, parseOptions } from "./options.ts";

export type { DynamoStoreOptions } from "./options.ts";

/**
 * Creates stores in two DynamoDB tables. Sends the first request at the first call of a store. `setup()` creates missing
 * tables; it is not needed for tables that you created.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createDynamoStores({ url: "dynamodb://chats?region=eu-central-1", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createDynamoStores<M = ChatMessage>(
  options: DynamoStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { connection, storeOptions } = parseOptions(options);
  return createStores(new DynamoDriver(connection), storeOptions);
}
