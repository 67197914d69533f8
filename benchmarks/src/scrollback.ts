import type { StoreFactory } from "@scrollback/store-core";
import type { Contestant } from "./backend.ts";

const FILLED_AT_ONCE = 1_000;

/**
 * Scrollback, the same on every backend.
 *
 * @param close also ends the client.
 */
export function scrollback(stores: StoreFactory, backend: string, close: () => Promise<unknown>): Contestant {
  return {
    async fill(threadId, messages) {
      for (let from = 0; from < messages.length; from += FILLED_AT_ONCE) {
        await stores.open(threadId).addMessages(messages.slice(from, from + FILLED_AT_ONCE));
      }
    },
    open(threadId, maxMessages) {
      // Restored rather than opened, because maxMessages differs between threads.
      const state = { type: "scrollback.store", version: 1, backend, threadId, maxMessages };
      const store = stores.restore(state);
      return {
        append: (messages) => () => store.addMessages(messages),
        newest: (count) => () => store.listMessages({ limit: count }),
        all: () => () => store.listMessages(),
      };
    },
    expected: (messages) => [...messages],
    close,
  };
}

/** Opens stores whose client sends inserts in bulk; `flush` sends the waiting inserts. */
export type OpenInBulk = () => Promise<{
  stores: StoreFactory;
  flush(): Promise<void>;
  close(): Promise<void>;
}>;

/** Scrollback on a record log, where threads are filled by commits of one message each. */
export function scrollbackLog(contestant: Contestant, openInBulk: OpenInBulk): Contestant {
  return {
    ...contestant,
    async fill(threadId, messages) {
      const { stores, flush, close } = await openInBulk();
      try {
        const store = stores.open(threadId);
        for (const message of messages) await store.addMessages([message]);
        await flush();
      } finally {
        await close();
      }
    },
  };
}
