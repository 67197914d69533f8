import { StoreError } from "@scrollback/store-core";
import { NO_THREAD, type ReadRequest, SequenceBounds, type ThreadView } from "@scrollback/store-core/driver";
import { fromText, toBigint, toText } from "./text.ts";

/** More messages than any thread has. */
const MAX_LIMIT = 2 ** 31 - 1;

/** The sequence numbers of the rows that are no messages. */
const HEAD = 0;
const METADATA = -1;

/** The arguments of `read_v1`. */
export function readArguments(request: ReadRequest): unknown[] {
  const { threadId, limit, before, after, metadata } = request;
  const bound = (sequence: number | undefined) => (sequence === undefined ? null : toBigint(sequence));
  return [toText(threadId), Math.min(limit, MAX_LIMIT), bound(before), bound(after), metadata];
}

/** The thread that `read_v1` returned. @throws StoreError `CORRUPT` if its head is unreadable. */
export function viewOf(request: ReadRequest, rows: readonly (readonly unknown[])[]): ThreadView {
  if (rows.length === 0) return NO_THREAD;
  let head: string | undefined;
  let metadata: string | undefined;
  const entries: { sequence: number; record: string }[] = [];
  for (const [number, text] of rows) {
    const sequence = Number(number);
    const record = fromText(String(text));
    if (sequence === HEAD) head = record;
    else if (sequence === METADATA) metadata = record;
    else entries.push({ sequence, record });
  }
  if (request.after === undefined) entries.reverse();
  const { revision, newestCompaction, createdAt, updatedAt, expiresAt, ...bounds } = headOf(head);
  return {
    revision,
    count: SequenceBounds.countOf(bounds),
    first: SequenceBounds.firstOf(bounds),
    last: SequenceBounds.lastOf(bounds),
    newestCompaction,
    entries: SequenceBounds.withMissing(SequenceBounds.selectRange(bounds, request), entries),
    ...{ createdAt, updatedAt },
    ...(expiresAt !== 0 && { expiresAt }),
    ...(metadata !== undefined && { metadata }),
  };
}

interface ThreadNumbers extends SequenceBounds {
  readonly revision: string;
  readonly newestCompaction: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** 0: never. */
  readonly expiresAt: number;
}

function headOf(text: string | undefined): ThreadNumbers {
  const [revision = "", ...numbers] = (text ?? "").split(" ");
  const [first, next, pinned, compaction, newestCompaction, createdAt, updatedAt, expiresAt] =
    numbers.map(Number);
  if (
    first === undefined ||
    next === undefined ||
    newestCompaction === undefined ||
    createdAt === undefined ||
    updatedAt === undefined ||
    expiresAt === undefined ||
    !numbers.every((number) => Number.isSafeInteger(Number(number))) ||
    first > next
  )
    throw new StoreError("CORRUPT", "the thread is damaged: the numbers of its row are impossible");
  return {
    ...{ revision, first, next, newestCompaction, createdAt, updatedAt, expiresAt },
    pinned: pinned || null,
    compaction: compaction || null,
  };
}
