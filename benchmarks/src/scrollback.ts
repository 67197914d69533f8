import type { StoreFactory } from "@scrollback/store-core";
import type { Contestant } from "./backend.ts";

/** What a record log keeps beside the messages of a commit, in bytes. The raw clients of such backends write as many. */
export const HEAD_BYTES = 280;

/** Ours, the same on every backend. */
export function scrollback(stores: StoreFactory, backend: string): Contestant {
  return {
    fill: (threadId, messages) => stores.open(threadId).addMessages(messages),
    open(threadId, maxMessages) {
      // Restored rather than opened, as maxMessages differs from thread to thread.
      const state = { type: "scrollback.store", version: 1, backend, threadId, maxMessages };
      const store = stores.restore(state);
      return {
        append: (messages) => () => store.addMessages(messages),
        newest: (count) => () => store.listMessages({ limit: count }),
        all: () => () => store.listMessages(),
      };
    },
    expected: (messages) => [...messages],
  };
}
