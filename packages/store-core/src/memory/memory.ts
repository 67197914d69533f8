import { checkOptions } from "../arguments.ts";
import { createStores, storeOptionChecks } from "../factory/factory.ts";
import type { StoreFactory, StoreOptions, TraitsOption } from "../factory/store-factory.ts";
import type { ChatMessage } from "../message/message.ts";
import { MemoryDriver } from "./memory-driver.ts";

/**
 * Creates stores in this process's memory. Threads exist as long as the factory. A serialised state contains its thread's
 * messages, so it can be restored completely in another factory or process. If the other factory already has the thread,
 * that thread is kept.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const stores = createMemoryStores({ maxMessages: 100 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createMemoryStores<M extends ChatMessage = ChatMessage>(): StoreFactory<M>;
export function createMemoryStores<M = ChatMessage>(
  options: StoreOptions<M> & TraitsOption<M>,
): StoreFactory<M>;
export function createMemoryStores(options: StoreOptions = {}): StoreFactory {
  checkOptions("createMemoryStores", options, storeOptionChecks);
  return createStores(new MemoryDriver(), options);
}
