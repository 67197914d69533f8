import {
  IdCursor,
  type ListRequest,
  SequenceBounds,
  type ThreadListing,
} from "@scrollback/store-core/driver";
import type { Value, Values } from "./clients/index.ts";
import { damagedThread } from "./errors.ts";
import { rowsByPrefix } from "./rows-by-prefix.ts";
import {
  fromStored,
  hasOrder,
  IMPOSSIBLE,
  isExpired,
  type Statements,
  type ThreadSummary,
  timesOf,
} from "./statements.ts";

/** A page ends early after this number of metadata characters, because reading more at once takes long. */
const METADATA_PER_PAGE = 4 * 1024 ** 2;

/** A row of `selectThreads`. */
type ListedRow = Readonly<Record<keyof ThreadSummary, number | null>> & { readonly id: Value };

function toListed([id, ...values]: Values): ListedRow {
  const [key, createdAt, expiresAt, updatedAt, pinned, compaction, first, next, number] = values as number[];
  return { id, key, createdAt, expiresAt, updatedAt, pinned, compaction, first, next, number } as ListedRow;
}

/** Lists threads in the order of their ids. Must run in a read transaction. */
export function listThreads(statements: Statements, request: ListRequest): ThreadListing {
  const { prefix, limit, sizes } = request;
  const after = IdCursor.parse("listThreads", request);
  const now = Date.now();
  const threads: ThreadListing["threads"][number][] = [];
  const corrupt: NonNullable<ThreadListing["corrupt"]>[number][] = [];
  let metadataLength = 0;
  const found = rowsByPrefix({ prefix, after, limit: limit + 1 }, statements.selectThreads);
  const rows = found.slice(0, limit).map(toListed);
  let isEnd = found.length <= limit;
  let last: ListedRow | undefined;
  for (const row of rows) {
    if (metadataLength >= METADATA_PER_PAGE) {
      isEnd = false;
      break;
    }
    last = row;
    if (isExpired(row, now)) continue;
    const threadId = fromStored(row.id);
    if (!isThread(row)) {
      corrupt.push({ threadId, problem: damagedThread(IMPOSSIBLE).message });
      continue;
    }
    const metadata = statements.metadataOf(row.key);
    metadataLength += metadata?.length ?? 0;
    threads.push({
      threadId,
      count: SequenceBounds.countOf(row),
      ...timesOf(row),
      ...(metadata !== undefined && { metadata }),
      ...(sizes && { bytes: bytesOf(statements, row) + Buffer.byteLength(metadata ?? "") }),
    });
  }
  return { threads, corrupt, ...(!isEnd && { cursor: IdCursor.format(fromStored(last?.id)) }) };
}

/** The size of the texts of a thread's messages. */
function bytesOf(statements: Statements, { key }: Pick<ThreadSummary, "key">): number {
  return Number(statements.selectBytes(key)?.[0]);
}

/** Whether a row is one of a thread: one without commits is damage. */
function isThread(row: ListedRow): row is ListedRow & ThreadSummary {
  return row.number !== null && hasOrder(row as ThreadSummary);
}
