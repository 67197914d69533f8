import {
  countOf,
  invalid,
  type ListedThread,
  type ListRequest,
  type ThreadListing,
  type UnreadableThread,
} from "@scrollback/store-core";
import { damagedThread } from "./errors.ts";
import { isExpired, type Statements, type ThreadSummary, timesOf } from "./statements.ts";
import { fromStored, rowsByPrefix } from "./text.ts";

/** A page ends early after this number of metadata characters, because reading more at once takes long. */
const METADATA_PER_PAGE = 4 * 1024 ** 2;

const CURSOR_START = "after.";

/** A row of `selectThreads`. Integers are bigints, so that a damaged value does not fail the other rows. */
type ListedRow = Readonly<Record<keyof ThreadSummary, bigint | null>> & {
  readonly id: string | Uint8Array<ArrayBuffer>;
};

/** Lists threads in the order of their ids. Must run in a read transaction. */
export function listThreads(statements: Statements, { prefix, limit, cursor }: ListRequest): ThreadListing {
  const after = cursor === undefined ? undefined : parseCursor(cursor, prefix);
  const rows = selectRows(statements, prefix, after, limit + 1);
  const now = Date.now();
  const threads: ListedThread[] = [];
  const corrupt: UnreadableThread[] = [];
  let metadataLength = 0;
  for (const [index, row] of rows.entries()) {
    if (index === limit || metadataLength >= METADATA_PER_PAGE) {
      return { threads, cursor: formatCursor(rows[index - 1]), corrupt };
    }
    if (isExpired(row, now)) continue;
    const threadId = fromStored(row.id);
    const thread = readRow(row);
    if (!thread)
      corrupt.push({ threadId, problem: damagedThread("their numbers are impossible, or missing").message });
    else {
      const stored = statements.selectMetadata.get(thread.key)?.record;
      const metadata = stored === undefined ? undefined : fromStored(stored);
      metadataLength += metadata?.length ?? 0;
      threads.push({
        threadId,
        count: countOf(thread),
        ...timesOf(thread),
        ...(metadata !== undefined && { metadata }),
      });
    }
  }
  return { threads, corrupt };
}

/** Returns at most `limit` rows of threads whose ids begin with `prefix` and come after the id `after`. */
function selectRows(
  statements: Statements,
  prefix: string,
  after: string | undefined,
  limit: number,
): ListedRow[] {
  return rowsByPrefix(
    { prefix, after, limit },
    ({ id }) => id,
    (from, except, most) => statements.selectThreads.all(from, except, most) as unknown as ListedRow[],
  );
}

/** Returns the thread of a row, or undefined if its numbers are invalid. */
function readRow(row: ListedRow): ThreadSummary | undefined {
  const { key, createdAt, updatedAt, expiresAt, pinned, compaction, first, next } = row;
  const optional = [expiresAt, pinned, compaction].map((value) => value ?? 0n);
  if (![key, createdAt, updatedAt, first, next, ...optional].every(isCount)) return undefined;
  const thread = {
    key: Number(key),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    pinned: pinned === null ? null : Number(pinned),
    compaction: compaction === null ? null : Number(compaction),
    first: Number(first),
    next: Number(next),
  };
  return thread.first <= thread.next ? thread : undefined;
}

function isCount(value: bigint | null): boolean {
  return value !== null && value >= 0n && value <= Number.MAX_SAFE_INTEGER;
}

/** The cursor holds the id of the last thread of its page. */
function formatCursor(last: ListedRow | undefined): string {
  return CURSOR_START + Buffer.from(fromStored(last?.id)).toString("base64url");
}

function parseCursor(cursor: string, prefix: string): string {
  const text = cursor.startsWith(CURSOR_START) ? cursor.slice(CURSOR_START.length) : "";
  const id = Buffer.from(text, "base64url").toString();
  if (id === "" || !id.startsWith(prefix) || Buffer.from(id).toString("base64url") !== text) {
    invalid("cursor must be one that listThreads() gave for the same prefix");
  }
  return id;
}
