import type { StoreFactory } from "@scrollback/store-core";
import { messagesFrom } from "../src/messages.ts";
import type { Backend } from "./backends.ts";
import { connect, type Location } from "./connect.ts";

/** The number of messages of each of many threads: one turn, in one commit. */
export const TURN = 4;

/** Small, so that a page of a log is one or two commits. */
const FILLED_AT_ONCE = 100;
/**
 * The end of a thread, in single commits as in a conversation: backends that store a commit in one piece read no more than
 * needed.
 */
const ADDED_SINGLY = 60;
const THREADS_AT_ONCE = 32;
const COPIED_AT_ONCE = 1_000;

export type Progress = (progress: string) => void;

/** Fills the threads to these lengths, in parallel. */
export async function fillThreads(
  location: Location,
  threads: readonly { readonly threadId: string; readonly length: number }[],
  signal: AbortSignal,
): Promise<void> {
  const connection = connect(location, true);
  try {
    await connection.stores.setup();
    await Promise.all(
      threads.map(({ threadId, length }) => fillThread(connection.stores, threadId, length, signal)),
    );
  } finally {
    await connection.close();
  }
}

/** Fills a thread like a conversation that was imported and then continued. */
export async function fillThread(
  stores: StoreFactory,
  threadId: string,
  length: number,
  signal: AbortSignal,
) {
  const store = stores.open(threadId);
  const singly = Math.min(length, ADDED_SINGLY);
  for (let from = 0; from < length - singly; from += FILLED_AT_ONCE) {
    signal.throwIfAborted();
    await store.addMessages(messagesFrom(from, Math.min(FILLED_AT_ONCE, length - singly - from)));
  }
  for (const message of messagesFrom(length - singly, singly)) await store.addMessages([message]);
}

/** Makes `count` threads of one turn: writes the first one, then writes the others or copies the first. */
export async function layThreads(
  { copyThread }: Backend,
  location: Location,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const connection = connect(location, true);
  try {
    const { stores } = connection;
    await stores.setup();
    const write = (index: number) => stores.open(threadIdOf(index)).addMessages(messagesFrom(0, TURN));
    await write(0);
    if (copyThread) {
      for (let from = 1; from < count; from += COPIED_AT_ONCE) {
        signal.throwIfAborted();
        const length = Math.min(COPIED_AT_ONCE, count - from);
        await copyThread(
          location,
          threadIdOf(0),
          Array.from({ length }, (_, index) => threadIdOf(from + index)),
        );
      }
      return;
    }
    let next = 1;
    const work = async () => {
      while (next < count) {
        signal.throwIfAborted();
        await write(next++);
      }
    };
    await Promise.all(Array.from({ length: THREADS_AT_ONCE }, work));
  } finally {
    await connection.close();
  }
}

export function threadIdOf(index: number): string {
  return `thread-${index}`;
}
