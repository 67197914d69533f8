import { StoreError } from "@scrollback/store-core";
import {
  invalid,
  isId,
  type ListRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { aliveHead, type Head, headOf, SHARDS, shardOf, viewOf } from "./head.ts";
import { HEAD, metadataKey, PARTITION_KEY } from "./item.ts";
import { readThread } from "./read.ts";
import type { DynamoTable } from "./table.ts";

/** The most queries of the index for a page, which is then short. */
const QUERIES_A_PAGE = 2 * SHARDS;
/** The maximum length of a partition key in DynamoDB is longer than that of a thread id. */
const MAX_PREFIX_BYTES = 1_024;

/** Where a listing goes on: in a shard, behind a thread. */
interface Place {
  readonly shard: number;
  readonly after: string | undefined;
}

/**
 * Lists the threads of the index, one shard after the other, then reads their heads, and their metadata, 100 with one request. The index
 * is eventually consistent, the heads are not: what was deleted or has expired is not listed.
 */
export async function listThreads(
  table: Pick<DynamoTable, keyof DynamoTable>,
  request: ListRequest,
  now: number,
): Promise<ThreadListing> {
  const { prefix, limit } = request;
  let { shard, after } = placeOf(request);
  if (Buffer.byteLength(prefix) > MAX_PREFIX_BYTES) return { threads: [] };
  const ids: string[] = [];
  for (let sent = 0; shard < SHARDS && ids.length < limit && sent < QUERIES_A_PAGE; sent++) {
    const page = await table.threadsOf({ shard: String(shard), prefix, after, limit: limit - ids.length });
    ids.push(...page.threads);
    if (page.isEnd) [shard, after] = [shard + 1, undefined];
    else after = page.threads.at(-1) ?? after;
  }
  const threads: ThreadListing["threads"][number][] = [];
  const corrupt: NonNullable<ThreadListing["corrupt"]>[number][] = [];
  const heads = new Map<string, Head>();
  for (const item of await table.getAll(ids.map((thread) => ({ thread, item: HEAD })))) {
    const threadId = item[PARTITION_KEY]?.S ?? "";
    try {
      const head = aliveHead(headOf(item), now);
      if (head) heads.set(threadId, head);
    } catch (error) {
      if (!StoreError.is(error, "CORRUPT")) throw error;
      corrupt.push({ threadId, problem: error.message });
    }
  }
  const keys = [...heads].flatMap(([thread, { metadata }]) =>
    metadata > 0 ? [{ thread, item: metadataKey(metadata) }] : [],
  );
  const rows = new Map((await table.getAll(keys)).map((row) => [row[PARTITION_KEY]?.S ?? "", row]));
  for (const threadId of ids) {
    const head = heads.get(threadId);
    if (!head) continue;
    const row = rows.get(threadId);
    let view: Omit<ThreadView, "entries"> = viewOf(head);
    if (head.metadata > 0 && row?.inc?.S === head.incarnation)
      view = { ...view, metadata: row.text?.S ?? "" };
    else if (head.metadata > 0) {
      // A commit or a deletion has replaced the head meanwhile.
      const read = { threadId, limit: 0, before: undefined, after: undefined, signal: undefined };
      view = await readThread(
        table,
        { ...read, metadata: true },
        () => now,
        () => undefined,
      );
    }
    const { revision, count, createdAt, updatedAt, expiresAt, metadata } = view;
    if (revision === null || createdAt === undefined || updatedAt === undefined) continue;
    threads.push({
      ...{ threadId, count, createdAt, updatedAt, ...(expiresAt !== undefined && { expiresAt }) },
      ...(metadata !== undefined && { metadata }),
    });
  }
  return { threads, corrupt, ...(shard < SHARDS && { cursor: `${shard}/${after ?? ""}` }) };
}

function placeOf({ prefix, cursor }: ListRequest): Place {
  if (cursor === undefined) return { shard: 0, after: undefined };
  const [whole, shard = "", thread = ""] = /^([0-7])\/(.*)$/s.exec(cursor) ?? [];
  const isOurs =
    thread === "" || (isId(thread) === undefined && thread.startsWith(prefix) && shardOf(thread) === shard);
  if (whole === undefined || !isOurs)
    return invalid("listThreads: cursor must be one that listThreads() gave for the same prefix");
  return { shard: Number(shard), after: thread === "" ? undefined : thread };
}
