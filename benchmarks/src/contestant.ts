import type { ChatMessage, StoreFactory } from "@scrollback/store-core";

/** One prepared call, to be timed. */
export type Call = () => Promise<unknown>;

/** A thread of one contestant. Each method prepares a call, so that only the call itself is timed. */
export interface Thread {
  append(messages: readonly ChatMessage[]): Call;
  /** Resolves to the newest messages, oldest first. */
  newest(count: number): () => Promise<unknown[]>;
  /** Resolves to all messages, oldest first. */
  all(): () => Promise<unknown[]>;
}

/** One way to keep threads in a backend, with a connection of its own. */
export interface Contestant {
  /** The longest thread that it can keep; absent without a limit. */
  readonly longest?: number;
  fill(threadId: string, messages: readonly ChatMessage[]): Promise<unknown>;
  open(threadId: string): Thread;
  /** Makes threads of one message. Absent where threads cannot be listed. */
  fillThreads?(threadIds: readonly string[]): Promise<unknown>;
  /** Lists the first `count` threads, and resolves to how many there are. */
  list?(count: number): Promise<number>;
  close(): Promise<unknown>;
}

/** Scrollback's stores on a connection of their own. */
export interface OpenedStores {
  readonly stores: StoreFactory;
  /** Closes the stores and the client. */
  close(): Promise<unknown>;
}

/** Threads are trimmed to this length, and filled with 20 messages less, so that an append of 20 leaves 1,000 or more. */
export const MAX_MESSAGES = 1_020;
const FILLED_AT_ONCE = 1_000;
const THREADS_AT_ONCE = 32;

/** Scrollback, the same on every backend. */
export function scrollback({ stores, close }: OpenedStores): Contestant {
  return {
    async fill(threadId, messages) {
      for (const chunk of chunksOf(messages, FILLED_AT_ONCE)) await stores.open(threadId).addMessages(chunk);
    },
    open(threadId) {
      const store = stores.open(threadId);
      return {
        append: (messages) => () => store.addMessages(messages),
        newest: (count) => () => store.listMessages({ limit: count }),
        all: () => () => store.listMessages(),
      };
    },
    async fillThreads(threadIds) {
      const ids = threadIds.values();
      const work = async () => {
        for (const id of ids) await stores.open(id).addMessages([{ role: "user", content: id }]);
      };
      await Promise.all(Array.from({ length: THREADS_AT_ONCE }, work));
    },
    async list(count) {
      let found = 0;
      let cursor: string | undefined;
      do {
        const page = await stores.listThreads({ limit: count, ...(cursor !== undefined && { cursor }) });
        found += page.threads.length;
        cursor = page.cursor;
      } while (found < count && cursor !== undefined);
      return found;
    },
    close,
  };
}

/** Consecutive parts of at most `size` items. */
export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
