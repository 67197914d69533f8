import { SequenceBounds } from "@scrollback/store-core/driver";
import { type Head, itemOfHead, type Leaving, type StoredHead } from "./head.ts";
import {
  ALL,
  batchKey,
  HEAD,
  type Item,
  keysOfPage,
  MESSAGES,
  messageKey,
  metadataKey,
  rowOf,
  SORT_KEY,
  TTL_ATTRIBUTE,
  toSeconds,
} from "./item.ts";
import { MAX_ACTIONS, type Table } from "./table.ts";
import type { Action } from "./transaction.ts";

export const sortKeyOf = (item: Item) => item[SORT_KEY]?.S ?? "";

/** The keys of all items of a thread but its head. */
export async function listItems(table: Table, thread: string): Promise<Item[]> {
  const items = await table.query({ thread, ...ALL, keysOnly: true });
  return items.filter((item) => sortKeyOf(item) !== HEAD);
}

/**
 * Does what the commit of a head has left to be done, before it is acknowledged, or before the next one. Returns the head, whose version
 * this may raise; undefined if another writer has replaced it, which has then done it.
 */
export async function settle(
  table: Table,
  thread: string,
  stored: StoredHead,
): Promise<StoredHead | undefined> {
  let current: StoredHead | undefined = stored;
  for (const leaving of stored.head.leaving) {
    const keys = await keysOfLeaving(table, thread, stored.head, leaving);
    if (!leaving.isReused) await table.write(thread, [], keys);
    else
      current =
        current &&
        (await underHead(
          table,
          thread,
          current,
          keys.map((remove) => ({ remove, before: leaving.n })),
        ));
  }
  if (current?.head.isLowering)
    current = await underHead(
      table,
      thread,
      current,
      await touchesOf(table, thread, current.head, current.head.until),
    );
  return current;
}

/** Does any number of actions, in transactions that replace the head. Returns undefined once another writer has replaced it. */
export async function underHead(
  table: Table,
  thread: string,
  stored: StoredHead,
  actions: readonly Action[],
): Promise<StoredHead | undefined> {
  let current = stored;
  for (let from = 0; from < actions.length; from += MAX_ACTIONS - 1) {
    const next = itemOfHead(thread, { ...current.head, version: current.head.version + 1 });
    if (await table.swap(current.item, next.item, actions.slice(from, from + MAX_ACTIONS - 1)))
      return undefined;
    current = next;
  }
  return current;
}

async function keysOfLeaving(
  table: Table,
  thread: string,
  { paged }: Head,
  { from, to, n, isReused, batch }: Leaving,
): Promise<string[]> {
  if (batch !== undefined) {
    const range = { from: batchKey(batch, from), to: `${batchKey(batch, to - 1)}#~` };
    return (await table.query({ thread, ...range, keysOnly: true })).map(sortKeyOf);
  }
  const items = await table.query({ thread, from: messageKey(from), to: messageKey(to - 1), keysOnly: true });
  // The page that goes on behind them. Batches of numbers that are given again are named.
  if (to < paged && !isReused)
    items.push(...(await table.query({ thread, from: messageKey(to), to: MESSAGES.to, limit: 1 })));
  return items.flatMap((item) => {
    const row = rowOf(item);
    const own = row && row.n < n && sortKeyOf(item) < messageKey(to) ? [sortKeyOf(item)] : [];
    return row && "batch" in row && !isReused ? [...keysOfPage(row, from, to), ...own] : own;
  });
}

/** The changes of expiry of a thread's rows: only to a later time, or from none to one. */
export async function touchesOf(
  table: Table,
  thread: string,
  { bounds, metadata }: Head,
  until: number | undefined,
): Promise<{ readonly touch: string; readonly until: number | undefined }[]> {
  const items = await listItems(table, thread);
  const batches = new Set<string>();
  const isNamed = (item: Item) => {
    const row = rowOf(item);
    if (!row)
      return sortKeyOf(item) === metadataKey(metadata) || batches.has(sortKeyOf(item).split("#")[1] ?? "");
    return SequenceBounds.isWithin(bounds, "batch" in row ? row.last : row.sequence);
  };
  for (const item of items) if (item.batch?.S !== undefined && isNamed(item)) batches.add(item.batch.S);
  const target = until === undefined ? Number.POSITIVE_INFINITY : Number(toSeconds(until).N);
  return items
    .filter(
      (item) =>
        isNamed(item) && (item[TTL_ATTRIBUTE] === undefined || Number(item[TTL_ATTRIBUTE].N) < target),
    )
    .filter((item) => until !== undefined || item[TTL_ATTRIBUTE] !== undefined)
    .map((item) => ({ touch: sortKeyOf(item), until }));
}
