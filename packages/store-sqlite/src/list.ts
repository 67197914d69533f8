import {
  IdCursor,
  type ListRequest,
  SequenceBounds,
  type ThreadListing,
} from "@scrollback/store-core/driver";
import { damagedThread } from "./errors.ts";
import { contradictionIn } from "./head-check.ts";
import { isExpired, type Statements, type ThreadSummary, timesOf } from "./statements.ts";
import { fromStored, isDamagedId, rowsByPrefix, shownId, toStored } from "./text.ts";

/** A page ends early after this number of metadata characters, because reading more at once takes long. */
const METADATA_PER_PAGE = 4 * 1024 ** 2;

/** A row of `selectThreads`. Integers are bigints, so that a damaged value does not fail the other rows. */
type ListedRow = Readonly<Record<keyof ThreadSummary, bigint | null>> & {
  readonly id: string | Uint8Array<ArrayBuffer>;
};

/** Lists threads in the order of their ids. Must run in a read transaction. */
export function listThreads(statements: Statements, request: ListRequest): ThreadListing {
  const { prefix, limit, sizes } = request;
  const after = IdCursor.parse("listThreads", request);
  const now = Date.now();
  const threads: ThreadListing["threads"][number][] = [];
  const corrupt: NonNullable<ThreadListing["corrupt"]>[number][] = [];
  let metadataLength = 0;
  let last: ListedRow | undefined;
  const { rows, ...page } = selectRows(statements, prefix, after, limit);
  let { isEnd } = page;
  for (const row of rows) {
    if (threads.length === limit || metadataLength >= METADATA_PER_PAGE) {
      isEnd = false;
      break;
    }
    const isNamed = hasOwnId(statements, row);
    if (isNamed) last = row;
    if (isExpired(row, now)) continue;
    const threadId = shownId(row.id);
    const thread = isNamed ? readRow(row) : undefined;
    if (!thread) {
      const problem = isNamed
        ? "their numbers are impossible, missing, or contradict the messages"
        : "its id is damaged, so that no read or write finds it";
      corrupt.push({ threadId, problem: damagedThread(problem).message });
    } else {
      const stored = statements.selectMetadata.get(thread.key)?.text;
      const metadata = stored === undefined ? undefined : fromStored(stored);
      metadataLength += metadata?.length ?? 0;
      threads.push({
        threadId,
        count: SequenceBounds.countOf(thread),
        ...timesOf(thread),
        ...(metadata !== undefined && { metadata }),
        ...(sizes && { bytes: bytesOf(statements, thread) + Buffer.byteLength(metadata ?? "") }),
      });
    }
  }
  return { threads, corrupt, ...(!isEnd && { cursor: IdCursor.format(fromStored(last?.id)) }) };
}

/**
 * Returns the rows of a page of threads whose ids begin with `prefix` and come after the id `after`, and whether they are the last ones. A
 * cursor cannot hold a damaged id, so a page that is not the last one has a row with an undamaged one; the rows after it are on the next page
 * again. So a page may have more than `limit` rows.
 */
function selectRows(
  statements: Statements,
  prefix: string,
  after: string | undefined,
  limit: number,
): { rows: readonly ListedRow[]; isEnd: boolean } {
  for (let most = limit; ; most *= 2) {
    const found = rowsByPrefix<ListedRow>(
      { prefix, after, limit: most + 1 },
      ({ id }) => id,
      (from, except, count) => statements.selectThreads.all(from, except, count) as unknown as ListedRow[],
    );
    const rows = found.slice(0, most);
    const isEnd = found.length <= most;
    if (isEnd || rows.some((row) => hasOwnId(statements, row))) return { rows, isEnd };
  }
}

/** Whether the id of a thread finds it. */
function hasOwnId(statements: Statements, { id, key }: ListedRow): boolean {
  const isDamaged = isDamagedId(id);
  if (isDamaged !== "perhaps") return !isDamaged;
  return statements.findKey(toStored(fromStored(id)))?.key === key;
}

/** The size of the texts of a thread's messages. */
function bytesOf(statements: Statements, { key }: Pick<ThreadSummary, "key">): number {
  return Number(statements.selectBytes.get(key)?.bytes);
}

/** Returns the thread of a row, or undefined if its numbers are invalid. */
function readRow(row: ListedRow): ThreadSummary | undefined {
  const { key, createdAt, updatedAt, expiresAt, pinned, compaction, first, next, number, newest, older } =
    row;
  const optional = [expiresAt, pinned, compaction, newest].map((value) => value ?? 0n);
  const required = [key, createdAt, updatedAt, first, next, number, older];
  if (![...required, ...optional].every(isCount)) return undefined;
  const thread = {
    key: Number(key),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    pinned: pinned === null ? null : Number(pinned),
    compaction: compaction === null ? null : Number(compaction),
    first: Number(first),
    next: Number(next),
    number: Number(number),
    newest: newest === null ? null : Number(newest),
    older: Number(older),
  };
  return contradictionIn(thread) === undefined ? thread : undefined;
}

function isCount(value: bigint | null): boolean {
  return value !== null && value >= 0n && value <= Number.MAX_SAFE_INTEGER;
}
