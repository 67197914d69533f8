import { StoreError } from "@scrollback/store-core";
import {
  type MessageRecord,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { parseRevision } from "@scrollback/store-core/internal";
import type { Functions } from "./functions.ts";
import type { Rows, Value } from "./sessions.ts";
import { fromText, toBigint, toText } from "./text.ts";

/**
 * Reads a thread at one revision, in as many requests as its size needs: one for up to {@link PAGE_BYTES}.
 *
 * The first request returns the head, so the revision, and the newest messages (with `after` the oldest). The further ones return the rest,
 * oldest first. A message is never changed, only removed, so the rest is as it was at that revision if all of it is still there:
 *
 * - Appends do not change it.
 * - Trimming removes from the beginning, which is read first. If it is faster than this read, messages are missing at the end.
 * - A commit drops from the end, then may write other messages with the same sequence numbers. But it cannot drop a message of the rest
 *   without the newest of them: the guard, which each request looks up. It is a row, not its content, so the same message written again is
 *   another guard. With `after` the guard is the thread's newest message.
 * - A deletion, an expiry and a clear remove the guard, too.
 *
 * If a message is missing, the read begins again at the new revision. The third attempt is one request for everything, so that the read ends
 * while others change the thread all the time, and so that a message that is missing for good is reported.
 */
export async function readThread(functions: Functions, request: ReadRequest): Promise<ThreadView> {
  for (let attempt = 1; ; attempt++) {
    const bytes = attempt < MAX_ATTEMPTS ? PAGE_BYTES : null;
    const found = foundIn(await functions.rows("read_v1", COLUMNS, readArguments(request, bytes)));
    if (found.guard === undefined || (await readOn(functions, request, found))) return viewOf(request, found);
    request.signal?.throwIfAborted();
  }
}

/** The size of a reply, with 100 bytes for each row. It arrives in a fraction of the time that a client waits, also over a slow network. */
const PAGE_BYTES = 4 * 1024 ** 2;
const MAX_ATTEMPTS = 3;

const COLUMNS = ["sequence", "kind", "created_at", "text"];

/** More messages than any thread has. */
const MAX_LIMIT = 2 ** 31 - 1;

/** The sequence numbers of the rows that are no messages. */
const HEAD = 0;
const METADATA = -1;
const GUARD = -2;

/** The arguments of `read_v1`. */
function readArguments(request: ReadRequest, bytes: number | null): Value[] {
  const { threadId, limit, before, after, metadata } = request;
  const bound = (sequence: number | undefined) => (sequence === undefined ? null : toBigint(sequence));
  return [toText(threadId), Math.min(limit, MAX_LIMIT), bound(before), bound(after), metadata, bytes];
}

/** What `read_v1` returned. */
interface Found {
  head?: string;
  metadata?: string;
  /** Present if messages are left to read. */
  guard?: string;
  /** In any order. */
  readonly entries: ThreadView["entries"][number][];
}

export function foundIn(rows: Rows): Found {
  const found: Found = { entries: [] };
  for (const [number, kind, createdAt, stored] of rows) {
    const sequence = Number(number);
    const text = fromText(String(stored));
    if (sequence === HEAD) found.head = text;
    else if (sequence === METADATA) found.metadata = text;
    else if (sequence === GUARD) found.guard = text;
    else
      found.entries.push({
        sequence,
        kind: kind as MessageRecord["kind"],
        createdAt: Number(createdAt),
        text,
      });
  }
  return found;
}

/** Adds the messages that are left to read. @returns whether all are there. */
async function readOn(functions: Functions, request: ReadRequest, found: Found): Promise<boolean> {
  const { entries, guard = "" } = found;
  const { revision, ...bounds } = headOf(found.head);
  const { incarnation } = parseRevision(revision);
  const wanted = SequenceBounds.selectRange(bounds, request);
  const last = entries.at(-1)?.sequence ?? 0;
  const isDown = request.after === undefined;
  const before = isDown ? last : wanted.next;
  for (let after = isDown ? SequenceBounds.firstOf(wanted) - 1 : last; after + 1 < before; ) {
    request.signal?.throwIfAborted();
    const rows = await functions.rows("read_on_v1", COLUMNS, [incarnation, after, before, guard, PAGE_BYTES]);
    if (rows.length === 0) break;
    for (const entry of foundIn(rows).entries) entries.push(entry);
    after = entries.at(-1)?.sequence ?? before;
  }
  return entries.length >= SequenceBounds.countOf(wanted);
}

/** The thread that was found. @throws StoreError `CORRUPT` if its head is unreadable. */
export function viewOf(request: ReadRequest, { head, metadata, entries }: Found): ThreadView {
  if (head === undefined && entries.length === 0) return NO_THREAD;
  entries.sort((one, other) => one.sequence - other.sequence);
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
