import {
  type CommitOutcome,
  type CommitRequest,
  type MessageRecord,
  planCommit,
  REMEMBERED_MS,
  SequenceBounds,
} from "@scrollback/store-core/driver";
import { type Head, MAX_KINDS, NO_CONTENT, revisionIn, revisionOf } from "./head.ts";
import { MAX_TEXT_BYTES, messageKey, metadataKey, partsOf, type Row } from "./item.ts";
import { assertInTime, NO_OPERATIONS, type Operation, Operations } from "./operations.ts";
import { type KnownMessage, NotRead, removals } from "./removals.ts";
import { MAX_ACTIONS } from "./table.ts";

/** A transaction has at most 4 MB. The rest is for keys, attributes and the head. */
const MAX_BYTES = 3_500_000;
const ROW_BYTES = 1_500;
/** Of the actions of a transaction, the others are for the head, the metadata, and pages that are cut. */
const MAX_ROWS = MAX_ACTIONS - 8;
const TAIL = 32;
/** Covers clocks that differ, and requests that are under way, before DynamoDB may delete an item. */
const SLACK_MS = 15 * 60_000;

/** The time until which a head of a deleted thread is kept. */
export const keptAfter = (now: number) => now + REMEMBERED_MS + SLACK_MS;

/** What a transaction is to make of a thread: the commits that were planned so far. */
export interface Draft {
  /** Undefined: there is none yet. */
  readonly head: Head | undefined;
  readonly commits: number;
  /** To be put, by sort key. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The sort keys of rows to be removed. */
  readonly gone: ReadonlySet<string>;
  /** The size of the appended texts. */
  readonly bytes: number;
  /** The messages of the page among the rows, which are written before the transaction: by their index. */
  readonly batch?: {
    readonly id: string;
    readonly operation: Operation;
    readonly messages: ReadonlyMap<number, MessageRecord>;
  };
}

export const draftOf = (head: Head | undefined): Draft => ({
  head,
  ...{ commits: 0, rows: new Map(), gone: new Set<string>(), bytes: 0 },
});

/** Whether a draft fits into one transaction, with so many other actions. The first commit always does, without others. */
export function fits({ rows, gone, bytes }: Draft, others = 0): boolean {
  return bytes <= MAX_BYTES && 1 + rows.size + gone.size + others <= MAX_ACTIONS;
}

/**
 * Plans a commit. Returns what to write for it, or the outcome of one that writes nothing.
 *
 * @param draft of a thread that has not expired.
 * @param batchId names the batch of this plan, should it need one.
 * @throws NotRead for a message that is not among the known ones.
 * @throws StoreError `UNAVAILABLE` for a repeated request that was not found, and may be forgotten.
 */
export function plan(
  draft: Draft,
  request: CommitRequest,
  now: number,
  known: ReadonlyMap<number, KnownMessage>,
  batchId: string,
): Draft | CommitOutcome {
  const alive = draft.head?.isDead ? undefined : draft.head;
  const revision = revisionOf(alive);
  const done = draft.head && Operations.find(draft.head.operations, draft.head.n, request, now);
  if (done) {
    const first = revisionIn(done.earlier ?? draft.head, done.n);
    return done.isSame
      ? { outcome: "repeated", revision: first }
      : { outcome: "operation-conflict", revision };
  }
  assertInTime(request);
  if (request.expectedRevision !== undefined && request.expectedRevision !== revision)
    return { outcome: "revision-conflict", revision };
  const base = alive ?? begin(draft.head, request);
  const isOverDraft = draft.commits > 0;

  const { drop, metadata, updatedAt } = request;
  const { append } = request;
  const n = base.n + 1;
  const written = { incarnation: base.incarnation, n };
  const kindOf = kindsOf(base, draft.rows, known);
  const { kept, bounds, removed, search } = planCommit(base.bounds, request, request, kindOf, base.search);
  const rows = new Map(draft.rows);
  const gone = new Set(draft.gone);
  const remove = (key: string) => {
    if (!rows.delete(key)) gone.add(key);
  };
  const sizes = append.map(({ text }) => Buffer.byteLength(text));
  const size = sizes.reduce((sum, bytes) => sum + bytes + ROW_BYTES, Buffer.byteLength(metadata ?? ""));
  const appended = append.flatMap((message, index) => {
    const sequence = kept.next + index;
    return SequenceBounds.isWithin(bounds, sequence) ? [{ sequence, index, message }] : [];
  });
  const isLarge =
    size > MAX_BYTES || appended.length > MAX_ROWS || sizes.some((bytes) => bytes > MAX_TEXT_BYTES);
  const inPage = isLarge
    ? appended.slice(0, appended.length - tailOf(appended.map(({ index }) => sizes[index] ?? 0)))
    : [];
  const inRows = appended.slice(inPage.length);
  const last = inPage.at(-1);

  const isReused = drop !== "all" && kept.next < base.bounds.next;
  const removal = { base, kept, bounds, removed, known };
  const { stays, keys, leaving } = removals(removal, MAX_ROWS - inRows.length - (last ? 1 : 0), n, isReused);
  for (const key of keys) remove(key);
  for (const page of stays) rows.set(messageKey(page.last), { ...page, ...written });

  let { paged } = base;
  let { batch } = draft;
  if (last) {
    const parts = inPage.flatMap(({ index, message }) => {
      const { length } = partsOf(message.text);
      return length > 1 ? [[index, length] as const] : [];
    });
    const page = { ...written, from: kept.next, last: last.sequence, batch: batchId, parts: new Map(parts) };
    rows.set(messageKey(last.sequence), page);
    const messages = new Map(inPage.map(({ index, message }) => [index, message]));
    batch = { id: batchId, operation: request, messages };
    paged = last.sequence + 1;
  }
  for (const { sequence, message } of inRows)
    rows.set(messageKey(sequence), { ...written, sequence, message });

  let metadataOf = base.metadata;
  if (metadata !== undefined) {
    if (base.metadata > 0) remove(metadataKey(base.metadata));
    metadataOf = metadata === null ? 0 : n;
    if (metadata !== null) rows.set(metadataKey(n), { ...written, metadata });
  }
  const head: Head = {
    ...base,
    ...{ n, bounds, search, paged, metadata: metadataOf, updatedAt, ...expiryOf(base, request, now) },
    kinds: kindsFrom(
      bounds,
      request.maxMessages,
      (sequence) => append[sequence - kept.next]?.kind ?? kindOf(sequence),
    ),
    dropped: isReused ? { n, from: kept.next } : base.dropped,
    operations: Operations.add(base.operations, n, request, now),
    leaving: [...(isOverDraft ? base.leaving : []), ...leaving],
    isLowering: false,
  };
  return {
    head,
    commits: draft.commits + 1,
    rows,
    gone,
    bytes: draft.bytes + (last ? 0 : size),
    ...(batch && { batch }),
  };
}

/** The number of the last messages of a large commit that are rows of their own, so that the newest ones are one request. */
function tailOf(sizes: readonly number[]): number {
  let bytes = 0;
  let count = 0;
  for (const size of sizes.toReversed()) {
    bytes += size + ROW_BYTES;
    if (size > MAX_TEXT_BYTES || bytes > MAX_BYTES / 2 || count === TAIL) break;
    count++;
  }
  return count;
}

/** The head of a thread that a commit begins, over that of a deleted one. */
function begin(dead: Head | undefined, { newIncarnation, createdAt }: CommitRequest): Head {
  const next = dead?.bounds.next ?? 1;
  return {
    incarnation: newIncarnation,
    ...{ n: dead?.n ?? 0, version: dead?.version ?? 0, isDead: false },
    ...{ offset: next - 1, began: dead?.n ?? 0 },
    bounds: { ...SequenceBounds.EMPTY, first: next, next },
    ...{ createdAt, updatedAt: createdAt, expiresAt: undefined, until: undefined },
    ...NO_CONTENT,
    operations: dead?.operations ?? NO_OPERATIONS,
  };
}

/** When the thread expires, and until when its rows are kept: set for one more ttl each time, so that they are raised once in it. */
function expiryOf(base: Head, request: CommitRequest, now: number): Pick<Head, "expiresAt" | "until"> {
  const { ttlMs } = request;
  if (ttlMs === undefined) return { expiresAt: undefined, until: undefined };
  const expiresAt = Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER);
  const least = Math.max(expiresAt, now + REMEMBERED_MS) + SLACK_MS;
  const until = base.until !== undefined && base.until >= least ? base.until : least + ttlMs;
  return { expiresAt, until: Math.min(until, Number.MAX_SAFE_INTEGER) };
}

function kindsOf(
  { bounds: { first }, kinds }: Head,
  rows: Draft["rows"],
  known: ReadonlyMap<number, KnownMessage>,
) {
  return (sequence: number): MessageRecord["kind"] => {
    const row = rows.get(messageKey(sequence));
    const own = row && "message" in row ? row.message.kind : undefined;
    const kind = own ?? kinds[sequence - first] ?? known.get(sequence)?.kind;
    if (kind === undefined) throw new NotRead(sequence);
    return (kind || "o") as MessageRecord["kind"];
  };
}

/** The kinds that the head keeps: none without `maxMessages`. */
function kindsFrom(
  { first, next }: SequenceBounds,
  maxMessages: number | undefined,
  kindOf: (sequence: number) => MessageRecord["kind"],
): string {
  let kinds = "";
  try {
    for (let at = first; maxMessages !== undefined && at < next && kinds.length < MAX_KINDS; at++)
      kinds += kindOf(at);
  } catch (error) {
    if (!(error instanceof NotRead)) throw error;
  }
  return kinds;
}
