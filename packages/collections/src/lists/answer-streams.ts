import type { StoreFactory } from "@scrollback/store-core";

/** The beginning of the ids of the threads that have the text of a running answer. */
export const STREAM_PREFIX = "scrollback:stream:";
/** The beginning of the ids of chats' threads. Other threads have no streams. */
const CHAT_PREFIX = "chats:chat:";

/** The id of the thread that has the text of a chat's running answer. */
export function streamOf(threadId: string): string {
  return STREAM_PREFIX + threadId;
}

/** Erases the text of the running answer of a chat that was deleted. Its process then stores no more of it. */
export async function eraseStream(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (threadId.startsWith(CHAT_PREFIX))
    await stores.deleteThread(streamOf(threadId), signal ? { signal } : {});
}
