import {
  countOf,
  firstOf,
  formatRevision,
  lastOf,
  NO_THREAD,
  pinnedOf,
  type ReadRequest,
  type SequenceBounds,
  StoreError,
  selectRange,
  type ThreadView,
} from "@scrollback/store-core";
import { liveThread, type Statements, type ThreadRow, timesOf } from "./statements.ts";
import { fromStored, toStored } from "./text.ts";

/** If more messages than this are missing, the read fails instead of returning an empty record for each. */
const MOST_MISSING = 10_000;

interface Entry {
  readonly sequence: number;
  readonly record: string;
}

/** Reads a thread. Must run in a read transaction. */
export function readThread(statements: Statements, request: ReadRequest): ThreadView {
  const thread = liveThread(statements.findThread(toStored(request.threadId)), Date.now());
  if (!thread) return NO_THREAD;
  const metadata = request.metadata ? statements.selectMetadata.get(thread.key)?.record : undefined;
  return {
    revision: formatRevision(thread.incarnation, thread.number),
    count: countOf(thread),
    first: firstOf(thread),
    last: lastOf(thread),
    newestCompaction: thread.newestCompaction,
    entries: selectEntries(statements, thread, selectRange(thread, request)),
    ...timesOf(thread),
    ...(metadata !== undefined && { metadata: fromStored(metadata) }),
  };
}

function selectEntries(statements: Statements, thread: ThreadRow, wanted: SequenceBounds): Entry[] {
  const { key } = thread;
  const { first, next } = wanted;
  const pinned = pinnedOf(wanted);
  const select = (from: number, to: number): Entry[] => {
    const rows = statements.selectMessages.all(key, from, to);
    const isWhole = rows.at(-1)?.sequence === from + rows.length - 1;
    return rows.map((row, index) => ({
      // Each property of a row takes a while to read.
      sequence: isWhole ? from + index : Number(row.sequence),
      record: fromStored(row.record),
    }));
  };
  const entries = first < next ? select(first, next) : [];
  entries.unshift(...pinned.flatMap((sequence) => select(sequence, sequence + 1)));
  if (entries.length === countOf(wanted)) return entries;
  // Rows are missing. An empty record for each makes that visible; leaving them out would hide it.
  if (countOf(wanted) - entries.length > MOST_MISSING) {
    throw new StoreError(
      "CORRUPT",
      `the thread is damaged: ${countOf(wanted) - entries.length} of ${countOf(wanted)} messages are missing`,
    );
  }
  const records = new Map(entries.map(({ sequence, record }) => [sequence, record]));
  const sequences = Array.from({ length: next - first }, (_, index) => first + index);
  sequences.unshift(...pinned);
  return sequences.map((sequence) => ({ sequence, record: records.get(sequence) ?? "" }));
}
