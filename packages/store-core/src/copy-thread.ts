import { hash, randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { hasMethods, invalid, isFunction, isSignal, isString, isTtl } from "./arguments.ts";
import { formatCursor, parseCursor } from "./cursor.ts";
import { StoreError } from "./errors.ts";
import type { PortableStore } from "./portable-store.ts";
import type { Cursor, Revision, ThreadPage } from "./store.ts";
import type { CopyThreadOptions, ThreadCopy } from "./store-factory.ts";

/** So many messages are read, and committed, at once. A thread of no more is copied in one commit. */
const MESSAGES_AT_ONCE = 500;
/** The key of the metadata that a target has while a copy is under way. */
const PROGRESS_KEY = "scrollback.copy";

/** The checks of {@link CopyThreadOptions}. */
export const copyChecks = {
  upTo: isString,
  target: hasMethods("open", "copyThread"),
  ttlMs: isTtl,
  onProgress: isFunction,
  signal: isSignal,
};

/** What the target's metadata is while a copy in several commits is under way. */
interface Progress {
  readonly version: 1;
  /** Which copy it is. */
  readonly copy: string;
  /** Where the source was read to. */
  readonly after: Cursor;
  readonly copied: number;
  /** How many commits it has made. */
  readonly commits: number;
}

type Entries<M> = ThreadPage<M>["entries"];

/**
 * Copies a thread. The invariants: every commit expects the revision of the one before (the first: that the thread is not
 * there), so nobody else's content gets between, and a commit that was made is never made again; all commits but the last set
 * metadata that says how far the copy is, so the same call goes on from there; the last has an operation id that stands for
 * the copy, so the same call knows that it is finished. That id may still be remembered of a copy that was deleted since: what
 * the backend then takes for a repetition is none.
 */
export async function copyThread<M>(
  source: PortableStore<M>,
  target: PortableStore<M>,
  { upTo, onProgress, signal }: CopyThreadOptions<M>,
): Promise<ThreadCopy> {
  const last = upTo === undefined ? undefined : parseCursor("upTo", upTo);
  const abort = signal && { signal };
  const begin = await source.read({ limit: MESSAGES_AT_ONCE, ...abort });
  const { revision } = begin;
  if (revision === null) return { copied: 0, revision: null };
  const incarnation = formatCursor(revision, 0);
  if (last && formatCursor(revision, last.sequence) !== upTo)
    invalid(
      "copyThread: upTo must be a cursor of the thread to copy; this one is of another, or of a deleted one",
    );
  if (unfinishedIn(begin.metadata))
    throw new StoreError("CONFLICT", "copyThread: the thread to copy is a copy itself that is not finished");
  const end = last?.sequence ?? Number.POSITIVE_INFINITY;
  const copy = hash("sha256", JSON.stringify([source.threadId, incarnation, upTo ?? null]), "base64url");
  const { createdAt = 0, updatedAt = 0, metadata = null } = begin;
  let isRepeated = false;
  const onRepeated = () => {
    isRepeated = true;
  };
  const commit = (
    entries: Entries<M>,
    expectedRevision: Revision | null,
    rest: object,
    operationId?: string,
  ) =>
    target.importMessages(
      { append: entries.map(({ message }) => message), ...rest },
      {
        expectedRevision,
        times: { messages: entries.map((entry) => entry.createdAt), createdAt, updatedAt },
        ...(operationId !== undefined && { operationId, onRepeated }),
        ...abort,
      },
    );
  const finish = async (entries: Entries<M>, expectedRevision: Revision | null) => {
    isRepeated = false;
    const made = await commit(entries, expectedRevision, { metadata }, `copy:${copy}`);
    if (!isRepeated) return made;
    const now = await target.read({ limit: 0, ...abort });
    if (isSameIncarnation(made, now.revision) && !progressOf(now.metadata, copy)) return made;
    return await commit(entries, expectedRevision, { metadata }, `copy:${copy}:${randomUUID()}`);
  };

  const there = await target.read({ limit: 0, ...abort });
  const progress = progressOf(there.metadata, copy);
  if (there.revision !== null && !progress) {
    // Where the copy is finished its operation id is known, and nothing is written; else the revision is another one.
    const finished = await commit([], null, { metadata }, `copy:${copy}`);
    if (isSameIncarnation(finished, there.revision)) return { copied: 0, revision: finished };
    throw foreignContent();
  }
  // The first of the copy's commits began the thread, so others have not written if there were no more than these.
  if (progress && numberOf(there.revision) !== progress.commits) throw foreignContent();
  let copied = progress?.copied ?? 0;
  let commits = progress?.commits ?? 0;
  let at = there.revision;
  let after = progress?.after ?? incarnation;
  const already = copied;
  const isWhole = begin.older === undefined && copied === 0;
  const total = end === Number.POSITIVE_INFINITY ? begin.count : await countUpTo(source, end, begin, abort);
  const report = (entries: Entries<M>) => {
    copied += entries.length;
    onProgress?.({ copied, total });
  };
  if (isWhole) {
    const entries = begin.entries.filter(({ sequence }) => sequence <= end);
    const made = await unlessTooLarge(entries, () => finish(entries, at));
    if (made !== undefined) {
      report(entries);
      return { copied, revision: made };
    }
  }
  for (;;) {
    // Backends in this process answer within a turn of the event loop: without this a signal would never be aborted.
    await nextTurn();
    const page = await source.read({ after, limit: MESSAGES_AT_ONCE, ...abort });
    checkUnchanged(page, after, incarnation);
    const entries = page.entries.filter(({ sequence }) => sequence <= end);
    if (entries.length === 0) break;
    for (let rest = entries; rest.length > 0; ) {
      let part = rest;
      let made: Revision | null | undefined;
      while (made === undefined) {
        after = formatCursor(page.revision ?? revision, part.at(-1)?.sequence ?? 0);
        const state: Progress = {
          version: 1,
          copy,
          after,
          copied: copied + part.length,
          commits: commits + 1,
        };
        made = await unlessTooLarge(part, () => commit(part, at, { metadata: { [PROGRESS_KEY]: state } }));
        if (made === undefined) part = part.slice(0, Math.ceil(part.length / 2));
      }
      at = made;
      commits += 1;
      report(part);
      rest = rest.slice(part.length);
    }
  }
  at = await finish([], at);
  return { copied: copied - already, revision: at };
}

function isSameIncarnation(one: Revision | null, other: Revision | null): boolean {
  return one !== null && other !== null && formatCursor(one, 0) === formatCursor(other, 0);
}

/** What `commit` gives; undefined where its messages are too many, or too large, for one commit. */
async function unlessTooLarge<M>(
  entries: Entries<M>,
  commit: () => Promise<Revision | null>,
): Promise<Revision | null | undefined> {
  try {
    return await commit();
  } catch (error) {
    if (StoreError.is(error, "TOO_LARGE") && entries.length > 1) return undefined;
    throw error;
  }
}

/** @throws StoreError `CONFLICT` where the thread is another than before, or lacks what comes after the cursor. */
function checkUnchanged<M>({ revision, entries }: ThreadPage<M>, after: Cursor, incarnation: Cursor): void {
  if (revision === null || formatCursor(revision, 0) !== incarnation)
    throw new StoreError("CONFLICT", "copyThread: the thread to copy was deleted, or has expired, meanwhile");
  const { sequence } = parseCursor("after", after);
  const [first] = entries;
  // Only before the first page may numbers be missing: of what was trimmed long ago.
  if (sequence > 0 && first && first.sequence !== sequence + 1)
    throw new StoreError("CONFLICT", "copyThread: the thread to copy was trimmed or cleared meanwhile");
}

function foreignContent(): StoreError {
  return new StoreError("CONFLICT", "copyThread: the target has content that this copy did not write");
}

/** How many commits a thread has had: the end of its revision. */
function numberOf(revision: Revision | null): number {
  return Number(revision?.slice(revision.lastIndexOf(".") + 1));
}

function unfinishedIn(metadata: unknown): Progress | undefined {
  return (metadata as { [PROGRESS_KEY]?: Progress } | undefined)?.[PROGRESS_KEY];
}

function progressOf(metadata: unknown, copy: string): Progress | undefined {
  const progress = unfinishedIn(metadata);
  return progress?.version === 1 && progress.copy === copy ? progress : undefined;
}

/** How many messages a thread has up to a sequence number. */
async function countUpTo<M>(
  source: PortableStore<M>,
  end: number,
  begin: ThreadPage<M>,
  abort: { signal: AbortSignal } | undefined,
): Promise<number> {
  let beyond = begin.entries.filter(({ sequence }) => sequence > end).length;
  let { older } = begin;
  for (let isBeyond = beyond === begin.entries.length; isBeyond && older !== undefined; ) {
    const page = await source.read({ before: older, limit: MESSAGES_AT_ONCE, ...abort });
    const found = page.entries.filter(({ sequence }) => sequence > end).length;
    isBeyond = found === page.entries.length;
    beyond += found;
    older = page.older;
  }
  return begin.count - beyond;
}
