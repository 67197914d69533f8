import type { ListThreadsOptions, StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { expect } from "vitest";

/** No listing of a test has so many pages, empty ones included. */
const MAX_PAGES = 10_000;

/** What {@link listAll} takes. */
export interface ListAllOptions extends Omit<ListThreadsOptions, "cursor"> {
  /** Is called after each page, with the number of those so far. */
  readonly afterPage?: (threads: readonly ThreadInfo[], pages: number) => Promise<void> | void;
  /** Who reads the next page. Default: the same as the first. */
  readonly next?: () => StoreFactory;
}

/** All threads of a listing, page after page, each once. Asserts of each page what holds for all. */
export async function listAll(
  stores: StoreFactory,
  { afterPage, next = () => stores, ...options }: ListAllOptions = {},
): Promise<ThreadInfo[]> {
  const found = new Map<string, ThreadInfo>();
  let reader = stores;
  let cursor: string | undefined;
  for (let pages = 1; pages <= MAX_PAGES; pages++) {
    const page = await reader.listThreads({ ...options, ...(cursor !== undefined && { cursor }) });
    expect(page.threads.length, "threads of a page").toBeLessThanOrEqual(options.limit ?? 100);
    for (const thread of page.threads) {
      expect(thread.threadId.startsWith(options.prefix ?? ""), `"${thread.threadId}" has the prefix`).toBe(
        true,
      );
      found.set(thread.threadId, thread);
    }
    await afterPage?.(page.threads, pages);
    if (page.cursor === undefined) return [...found.values()];
    expect(page.cursor.length, "length of a cursor").toBeLessThanOrEqual(4_096);
    cursor = page.cursor;
    reader = next();
  }
  throw new Error("the listing never ends");
}

/** The ids of all threads of a listing, sorted. */
export async function listIds(stores: StoreFactory, options: ListAllOptions = {}): Promise<string[]> {
  return (await listAll(stores, options)).map(({ threadId }) => threadId).sort();
}
