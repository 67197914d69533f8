import { randomUUID } from "node:crypto";
import type { ListThreadsOptions, StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { expect } from "vitest";
import type { Backend } from "./backend.ts";
import { user } from "./messages.ts";

/** No listing of a test has so many pages, empty ones included. */
const MAX_PAGES = 10_000;

/** The options of {@link listAll}. */
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

/** Far below any timeout of a client, and far above what a busy machine delays a timer. */
export const PROMPTLY_MS = 1_000;

/** A prefix that no other test's threads have. */
export const ownPrefix = () => `list ${randomUUID()} `;

/** Writes one message to each thread, a few at a time. */
export async function fillThreads(stores: StoreFactory, threadIds: readonly string[]): Promise<void> {
  const rest = [...threadIds];
  const work = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop())
      await stores.open(id).addMessages([user(id)]);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** So many thread ids under a prefix of their own. */
export function threadIdsOf(count: number) {
  const prefix = ownPrefix();
  const ids = Array.from({ length: count }, (_, index) => prefix + String(index).padStart(4, "0"));
  return { prefix, ids };
}

/** So many threads under a prefix of their own. */
export async function manyThreads(backend: Backend, count: number) {
  const { prefix, ids } = threadIdsOf(count);
  const stores = backend.stores();
  await fillThreads(stores, ids);
  return { prefix, ids, stores };
}
