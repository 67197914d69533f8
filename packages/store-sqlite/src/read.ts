import {
  formatRevision,
  type MessageRecord,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { fromStored, liveThread, type Statements, type ThreadRow, timesOf, toStored } from "./statements.ts";

/** Reads a thread. Must run in a read transaction. */
export function readThread(statements: Statements, request: ReadRequest): ThreadView {
  const thread = liveThread(statements.findThread(toStored(request.threadId)), Date.now());
  if (!thread) return NO_THREAD;
  const metadata = request.metadata ? statements.metadataOf(thread.key) : undefined;
  return {
    revision: formatRevision(thread.incarnation, thread.number),
    count: SequenceBounds.countOf(thread),
    first: SequenceBounds.firstOf(thread),
    last: SequenceBounds.lastOf(thread),
    newestCompaction: thread.newestCompaction,
    entries: selectEntries(statements, thread, SequenceBounds.selectRange(thread, request)),
    ...timesOf(thread),
    ...(metadata !== undefined && { metadata }),
  };
}

function selectEntries(
  statements: Statements,
  thread: ThreadRow,
  wanted: SequenceBounds,
): ThreadView["entries"] {
  const { key } = thread;
  const { first, next } = wanted;
  const pinned = SequenceBounds.pinnedOf(wanted);
  const select = (from: number, to: number) =>
    statements.selectMessages(key, from, to).map(([sequence, kind, createdAt, text]) => ({
      sequence: sequence as number,
      kind: kind as MessageRecord["kind"],
      createdAt: createdAt as number,
      text: fromStored(text),
    }));
  const entries = first < next ? select(first, next) : [];
  entries.unshift(...pinned.flatMap((sequence) => select(sequence, sequence + 1)));
  return SequenceBounds.withMissing(wanted, entries);
}
