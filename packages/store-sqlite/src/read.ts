import {
  formatRevision,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { liveThread, type Statements, type ThreadRow, timesOf } from "./statements.ts";
import { fromStored, toStored } from "./text.ts";

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
    count: SequenceBounds.countOf(thread),
    first: SequenceBounds.firstOf(thread),
    last: SequenceBounds.lastOf(thread),
    newestCompaction: thread.newestCompaction,
    entries: selectEntries(statements, thread, SequenceBounds.selectRange(thread, request)),
    ...timesOf(thread),
    ...(metadata !== undefined && { metadata: fromStored(metadata) }),
  };
}

function selectEntries(statements: Statements, thread: ThreadRow, wanted: SequenceBounds): readonly Entry[] {
  const { key } = thread;
  const { first, next } = wanted;
  const pinned = SequenceBounds.pinnedOf(wanted);
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
  return SequenceBounds.withMissing(wanted, entries);
}
