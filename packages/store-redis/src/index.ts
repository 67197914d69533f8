import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { connectionOf } from "./open-connection.ts";
import { checkRedisOptions, type RedisStoreOptions } from "./options.ts";
import { RedisDriver } from "./redis-driver.ts";

export type { RedisStoreOptions } from "./options.ts";

/**
 * Creates stores on Redis 6.2 or later, Redis Cluster, Sentinel, Valkey or Upstash. Connects at the first call of a store.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `url` and `client`.
 * @example
 * await using stores = createRedisStores({ url: "redis://localhost:6379", maxMessages: 200 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createRedisStores<M = ChatMessage>(
  options: RedisStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  checkRedisOptions(options);
  const { url, client, credentials, keyPrefix, ...storeOptions }: RedisStoreOptions<M> = options ?? {};
  return createStores(new RedisDriver(connectionOf(url, client, credentials), keyPrefix), storeOptions);
}
