import { randomUUID } from "node:crypto";
import type { StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { user } from "../messages/messages.ts";

/** More pages than any listing of a test has, including empty ones. */
const MAX_PAGES = 10_000;

/** The options of {@link listAll}. */
export interface ListAllOptions extends NonNullable<Parameters<StoreFactory["iterateThreads"]>[0]> {
  /** Called after each page, with the number of pages so far. */
  readonly afterPage?: (threads: readonly ThreadInfo[], pages: number) => Promise<void> | void;
  /** The stores that read the next page. Default: the same as for the first page. */
  readonly next?: () => StoreFactory;
}

/** All threads of a listing, page by page, each once. Asserts the rules that apply to every page. */
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

/** `count` thread ids with a new prefix. */
export function threadIdsOf(count: number) {
  const prefix = ownPrefix();
  const ids = Array.from({ length: count }, (_, index) => prefix + String(index).padStart(4, "0"));
  return { prefix, ids };
}

/** `count` threads with a new prefix. */
export async function manyThreads(backend: Backend, count: number) {
  const { prefix, ids } = threadIdsOf(count);
  const stores = backend.stores();
  await fillThreads(stores, ids);
  return { prefix, ids, stores };
}
