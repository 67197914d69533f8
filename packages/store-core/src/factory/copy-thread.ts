import { sha256 } from "#runtime";
import { hasMethods, invalid, isFunction, isSignal, isString, isTtl } from "../arguments.ts";
import { formatCursor, parseCursor, parseRevision, type Revision } from "../driver/revision.ts";
import { StoreError } from "../errors.ts";
import { randomId } from "../random.ts";
import type { PortableStore } from "../store/portable-store.ts";
import type { ThreadPage } from "../store/store.ts";
import { MESSAGES_AT_ONCE, type ReadPosition, ThreadReader } from "../store/thread-reader.ts";
import type { CopyThreadOptions, ThreadCopy } from "./store-factory.ts";

/** The key of a target's metadata during a copy. */
const PROGRESS_KEY = "scrollback.copy";

/** The checks of {@link CopyThreadOptions}. */
export const copyChecks = {
  upTo: isString,
  target: hasMethods("open", "copyThread"),
  ttlMs: isTtl,
  onProgress: isFunction,
  signal: isSignal,
};

/** The target's metadata during a copy in several commits. */
interface Progress {
  readonly version: 1;
  /** The identity of the copy. */
  readonly copy: string;
  /** The last message of the source that was copied. */
  readonly position: ReadPosition;
  readonly copied: number;
  /** The number of commits that the copy has made. */
  readonly commits: number;
}

type Entries<M> = readonly ThreadPage<M>["entries"][number][];

/**
 * Copies a thread. The invariants: every commit expects the revision of the previous one (the first commit: that the
 * target does not exist). So no other content gets in between, and no commit is made twice. All commits except the last
 * set metadata that records the progress, so the same call can resume. The last commit has an operation id that
 * identifies the copy, so the same call detects that it is complete. The backend may still remember that id from a copy
 * that was deleted since; such a repetition is not one. Several callers may make the same copy: a caller that loses a
 * commit reads the progress again and resumes.
 */
export async function copyThread<M>(
  source: PortableStore<M>,
  target: PortableStore<M>,
  { upTo, onProgress, signal }: CopyThreadOptions<M>,
): Promise<ThreadCopy> {
  const last = upTo === undefined ? undefined : parseCursor("copyThread: upTo", upTo);
  const abort = signal && { signal };
  const reader = await ThreadReader.begin(source, { end: last?.sequence, signal });
  const begin = reader.newest;
  const { revision } = begin;
  if (revision === null) {
    if (isUnfinishedCopy((await target.read({ limit: 0, ...abort })).metadata))
      throw new StoreError(
        "CONFLICT",
        "copyThread: the source does not exist any more, and the target is an unfinished copy; delete it",
      );
    return { copied: 0, revision: null };
  }
  const incarnation = formatCursor(revision, 0);
  if (last && formatCursor(revision, last.sequence) !== upTo)
    invalid(
      "copyThread: upTo must be a cursor of the thread to copy; this one is of another, or of a deleted one",
    );
  if (isUnfinishedCopy(begin.metadata))
    throw new StoreError(
      "CONFLICT",
      "copyThread: the source is itself an unfinished copy; finish that copy first",
    );
  const end = last?.sequence ?? Number.POSITIVE_INFINITY;
  const copy = sha256(JSON.stringify([source.threadId, incarnation, upTo ?? null]));
  const { createdAt = 0, updatedAt = 0, metadata = null } = begin;
  let copied = 0;
  let isRepeated = false;
  const onRepeated = () => {
    isRepeated = true;
  };
  const tryCommit = (
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
  const commit = async (...commitOf: Parameters<typeof tryCommit>) => {
    try {
      return await tryCommit(...commitOf);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
      const now = await target.read({ limit: 0, ...abort });
      if (now.revision === null) throw targetGone();
      throw now.revision === commitOf[1] ? error : new Overtaken();
    }
  };
  const finish = async (entries: Entries<M>, expectedRevision: Revision | null) => {
    isRepeated = false;
    const made = await commit(entries, expectedRevision, { metadata }, `copy:${copy}`);
    if (!isRepeated) return made;
    const now = await target.read({ limit: 0, ...abort });
    if (isSameIncarnation(made, now.revision) && !progressOf(now.metadata, copy)) return made;
    return await commit(entries, expectedRevision, { metadata }, `copy:${copy}:${randomId()}`);
  };

  const goOn = async (): Promise<Revision | null> => {
    const there = await target.read({ limit: 0, ...abort });
    const progress = progressOf(there.metadata, copy);
    if (there.revision !== null && !progress) {
      // If the copy is complete, its operation id is known and nothing is written. Otherwise the revision differs.
      const finished = await tryCommit([], null, { metadata }, `copy:${copy}`).catch((error: unknown) => {
        throw StoreError.is(error, "CONFLICT") ? foreignContent() : error;
      });
      if (isSameIncarnation(finished, there.revision)) return finished;
      throw foreignContent();
    }
    // The first commit of the copy began the thread. So no one else has written if the thread has no further commits.
    if (progress && (!there.revision || parseRevision(there.revision).number !== progress.commits))
      throw foreignContent();
    let reached = progress?.copied ?? 0;
    let commits = progress?.commits ?? 0;
    let at = there.revision;
    const isWhole = reader.isOnePage && reached === 0;
    const total = end === Number.POSITIVE_INFINITY ? begin.count : await countUpTo(source, end, begin, abort);
    const report = (entries: Entries<M>) => {
      reached += entries.length;
      copied += entries.length;
      onProgress?.({ copied: reached, total });
    };
    if (isWhole) {
      const entries = begin.entries.filter(({ sequence }) => sequence <= end);
      const made = await unlessTooLarge(entries, () => finish(entries, at));
      if (made !== undefined) {
        report(entries);
        return made;
      }
    }
    for await (const page of reader.pages(progress?.position)) {
      for (let rest = page; rest.length > 0; ) {
        let part = rest;
        let made: Revision | null | undefined;
        while (made === undefined) {
          const newest = part.at(-1) as Entries<M>[number];
          const state: Progress = {
            version: 1,
            copy,
            position: reader.positionOf(newest),
            copied: reached + part.length,
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
    return await finish([], at);
  };

  for (;;) {
    try {
      return { revision: await goOn(), copied };
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
}

/** A commit that conflicted with another writer of the target, perhaps the same copy by another caller. */
class Overtaken extends Error {}

function isSameIncarnation(one: Revision | null, other: Revision | null): boolean {
  return one !== null && other !== null && formatCursor(one, 0) === formatCursor(other, 0);
}

/** The result of `commit`; undefined if its messages are too many, or too large, for one commit. */
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

function targetGone(): StoreError {
  return new StoreError("CONFLICT", "copyThread: the target was deleted or has expired during the copy");
}

function foreignContent(): StoreError {
  return new StoreError("CONFLICT", "copyThread: the target has content that this copy did not write");
}

/** Whether metadata belongs to an unfinished copy in several commits: the thread has only the first messages of its source. */
export function isUnfinishedCopy(metadata: unknown): boolean {
  return unfinishedIn(metadata) !== undefined;
}

function unfinishedIn(metadata: unknown): Progress | undefined {
  return (metadata as { [PROGRESS_KEY]?: Progress } | undefined)?.[PROGRESS_KEY];
}

function progressOf(metadata: unknown, copy: string): Progress | undefined {
  const progress = unfinishedIn(metadata);
  return progress?.version === 1 && progress.copy === copy ? progress : undefined;
}

/** The number of a thread's messages up to a sequence number. */
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
