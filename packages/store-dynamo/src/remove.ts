import type { DeleteOutcome, DeleteRequest } from "@scrollback/store-core/driver";
import { SequenceBounds } from "@scrollback/store-core/driver";
import { newIncarnation, pause } from "@scrollback/store-core/internal";
import { aliveHead, type Head, headOf, itemOfHead, NO_CONTENT, revisionOf, type StoredHead } from "./head.ts";
import { HEAD, type Item, rowOf } from "./item.ts";
import { assertInTime, NO_OPERATIONS, type Operation, Operations } from "./operations.ts";
import { keptAfter } from "./plan.ts";
import { listItems, sortKeyOf } from "./settle.ts";
import type { Table } from "./table.ts";

/** Compared with those of other operations. */
const DELETION = "deletion";

/**
 * Deletes a thread: replaces its head by one that is dead, which is the moment of the deletion, and removes the items. Works without a
 * readable head. `onDead` gets the head that is left.
 */
export async function deleteThread(
  table: Table,
  request: DeleteRequest,
  now: () => number,
  onDead: (stored: StoredHead) => void,
): Promise<DeleteOutcome> {
  const { threadId, expectedRevision } = request;
  const operation = { operationId: request.operationId, digest: DELETION };
  for (let attempt = 0; ; attempt++) {
    const item = await table.get(threadId, HEAD);
    const head = item && readable(item);
    const done = head && Operations.find(head.operations, head.n, operation, now());
    if (done) {
      if (head.isDead) await empty(table, threadId, { item, head });
      return { outcome: "repeated" };
    }
    assertInTime(request);
    request.signal?.throwIfAborted();
    const revision = revisionOf(aliveHead(head, now()));
    if (expectedRevision !== undefined && expectedRevision !== revision)
      return { outcome: "revision-conflict", revision };
    if (item && head?.isDead) {
      if (await empty(table, threadId, { item, head })) return { outcome: "deleted" };
    } else {
      const dead = await bury(table, threadId, item, operation, now());
      if (dead === "nothing") return { outcome: "deleted" };
      if (dead) {
        await empty(table, threadId, dead);
        onDead(dead);
        return { outcome: "deleted" };
      }
    }
    await pause(attempt, undefined, table.clock);
  }
}

/**
 * Ends a thread: replaces its head by a dead one, and removes the items that were there before. Returns the dead head; undefined if
 * another writer was first; "nothing" if there was neither head nor item.
 *
 * @param operation of a deletion; undefined: the thread has expired, and its operations are forgotten.
 */
export async function bury(
  table: Table,
  threadId: string,
  item: Item | undefined,
  operation: Operation | undefined,
  now: number,
): Promise<StoredHead | undefined | "nothing"> {
  // What is there before cannot be of a plan that is made on the dead head.
  const items = await listItems(table, threadId);
  if (!item && items.length === 0) return "nothing";
  const dead = deadHead(item, items, operation, now);
  const stored = itemOfHead(threadId, dead);
  if (await table.swap(item, stored.item, [])) return undefined;
  await table.write(threadId, [], items.map(sortKeyOf));
  return stored;
}

/**
 * Removes what is left under a dead head. Replaces the head before, so that nothing of it can be of a plan that succeeds. Returns the
 * head; undefined if another writer has replaced it.
 */
export async function empty(
  table: Table,
  threadId: string,
  { item, head }: StoredHead,
): Promise<StoredHead | undefined> {
  const items = await listItems(table, threadId);
  if (items.length === 0) return { item, head };
  const fence = itemOfHead(threadId, { ...head, version: head.version + 1 });
  if (await table.swap(item, fence.item, [])) return undefined;
  await table.write(threadId, [], items.map(sortKeyOf));
  return fence;
}

function deadHead(
  item: Item | undefined,
  items: readonly Item[],
  operation: Operation | undefined,
  now: number,
): Head {
  const head = item && readable(item);
  const incarnation = head?.incarnation ?? newIncarnation();
  const { began = 0, n: last = 0 } = head ?? {};
  const n = last + 1;
  // Numbers go on behind those of all rows, so that a late removal finds none of the next thread.
  const next = items.reduce((most, one) => {
    const row = rowOf(one);
    return row ? Math.max(most, ("batch" in row ? row.last : row.sequence) + 1) : most;
  }, head?.bounds.next ?? 1);
  // Those of an expired thread are forgotten.
  const before = (head?.isDead ? head : aliveHead(head, now))?.operations ?? NO_OPERATIONS;
  return {
    incarnation,
    ...{ n, version: (head?.version ?? 0) + 1, isDead: true },
    ...{ offset: 0, began },
    bounds: { ...SequenceBounds.EMPTY, first: next, next },
    ...{ createdAt: now, updatedAt: now, expiresAt: undefined, until: keptAfter(now) },
    ...NO_CONTENT,
    operations: operation
      ? Operations.end(Operations.add(before, n, operation, now), { incarnation, began }, n, keptAfter(now))
      : { ...NO_OPERATIONS, mark: { n, at: now } },
  };
}

function readable(item: Item): Head | undefined {
  try {
    return headOf(item);
  } catch {
    return undefined;
  }
}
