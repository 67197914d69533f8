import { checkOptions } from "./arguments.ts";
import { createStores, storeOptionChecks } from "./factory.ts";
import { MemoryDriver } from "./memory-driver.ts";
import type { ChatMessage } from "./message.ts";
import type { StoreFactory, StoreOptions, TraitsOption } from "./store-factory.ts";

/**
 * Stores in this process's memory. Threads live as long as the factory; a serialised state holds its thread's messages,
 * so that it restores whole in another factory or process. In a factory that has the thread already, the thread as it is
 * there wins.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
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
