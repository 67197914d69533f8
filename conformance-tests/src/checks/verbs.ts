import type { MessageStore, StoreFactory, StoreIndex } from "@scrollback/store-core";
import type { Backend } from "../backend.ts";
import { user } from "../messages/messages.ts";

type Options = { signal?: AbortSignal };
type Verbs<T> = Readonly<Record<string, (on: T, options: Options) => Promise<unknown>>>;

/** Every call of a store that sends requests. */
export const storeVerbs: Verbs<MessageStore> = {
  addMessages: (store, options) => store.addMessages([user("secret text")], options),
  "addMessages of nothing": (store, options) => store.addMessages([], options),
  listMessages: (store, options) => store.listMessages(options),
  "listMessages with limit": (store, options) => store.listMessages({ limit: 5, ...options }),
  read: (store, options) => store.read({ limit: 5, ...options }),
  popMessage: (store, options) => store.popMessage(options),
  replaceMessages: (store, options) => store.replaceMessages([user("secret text")], options),
  commit: (store, options) => store.commit({ metadata: "secret title" }, options),
  expire: (store, options) => store.expire(null, options),
  clear: (store, options) => store.clear(options),
};

const factoryVerbs: Verbs<{ stores: StoreFactory; threadId: string }> = {
  copyThread: ({ stores, threadId }, options) => stores.copyThread(threadId, crypto.randomUUID(), options),
  deleteThread: ({ stores, threadId }, options) => stores.deleteThread(threadId, options),
  listThreads: ({ stores, threadId }, options) => stores.listThreads({ prefix: threadId, ...options }),
  iterateThreads: ({ stores, threadId }, options) =>
    stores
      .iterateThreads({ prefix: threadId, ...options })
      [Symbol.asyncIterator]()
      .next(),
};

const place = { key: "key", id: "1" };
const content = { version: 0, order: 0, value: "secret value" };

const indexVerbs: Verbs<StoreIndex> = {
  insert: (index, options) => index.insert(place, content, options),
  update: (index, options) => index.update(place, { ...content, version: 1 }, options),
  entriesOf: (index, options) => index.entriesOf("key", options),
  list: (index, options) => index.list(options),
  remove: (index, options) => index.remove(place, options),
};

/** Every call to a thread, to its factory and to an index that sends requests, by name. */
export function verbsOf(
  backend: Backend,
  stores: StoreFactory,
  threadId?: string,
): Readonly<Record<string, (options?: Options) => Promise<unknown>>> {
  const bound = <T>(verbs: Verbs<T>, on: T) =>
    Object.fromEntries(
      Object.entries(verbs).map(([name, verb]) => [name, (options: Options = {}) => verb(on, options)]),
    );
  const store = stores.open(threadId);
  const { index, capabilities } = backend.driver;
  const own = index && stores.index(store.threadId);
  return {
    ...bound(storeVerbs, store),
    ...(own && {
      ...bound(indexVerbs, own),
      ...(capabilities.index?.vectors && { nearest: (options = {}) => own.nearest([1], options) }),
      listIndexes: (options = {}) => stores.listIndexes(options),
    }),
    ...bound(factoryVerbs, { stores, threadId: store.threadId }),
  };
}
