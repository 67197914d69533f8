import { setImmediate as nextTurn } from "node:timers/promises";
import { formatCursor, type StoreFactory, type ThreadPage } from "@scrollback/store-core";

/** The number of messages per read. */
export const MESSAGES_AT_ONCE = 500;

/**
 * A thread from its beginning to its end at the time of the first read, page by page. The first page has the thread's times
 * and metadata. Messages that are edited meanwhile may have their old or new content. A missing thread is one empty page
 * with the revision `null`.
 */
export async function* threadPages<M>(
  stores: StoreFactory<M>,
  threadId: string,
  signal: AbortSignal,
): AsyncGenerator<ThreadPage<M>, void, undefined> {
  const store = stores.open(threadId);
  const newest = await store.read({ limit: MESSAGES_AT_ONCE, signal });
  const end = newest.entries.at(-1)?.sequence;
  if (newest.older === undefined || newest.revision === null || end === undefined) {
    yield newest;
    return;
  }
  for (let after = formatCursor(newest.revision, 0); ; ) {
    await nextTurn();
    const page = await store.read({ after, limit: MESSAGES_AT_ONCE, signal });
    const entries = page.entries.filter(({ sequence }) => sequence <= end);
    yield { ...page, entries };
    const last = page.entries.at(-1)?.sequence;
    if (page.newer === undefined || last === undefined || last >= end) return;
    after = page.newer;
  }
}
