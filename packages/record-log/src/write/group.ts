import type { StoreError } from "@scrollback/store-core";
import { type CommitOutcome, type CommitRequest, formatRevision } from "@scrollback/store-core/driver";
import { abortedError } from "@scrollback/store-core/internal";
import { HEAD_BYTES, sharedBytes } from "../rows/fragments.ts";
import type { Operation } from "./attempts.ts";
import { COLLECT_EVERY } from "./collect.ts";

/**
 * The maximum number of commits in one row. A row then passes at most one multiple of {@link COLLECT_EVERY}, so what is trimmed
 * is still removed at the latest two such multiples later.
 */
export const MAX_GROUP = COLLECT_EVERY;

/** Thrown if commits cannot share a row after all. Each of them can still be made alone. */
export class NotTogether extends Error {}

/** The request of one commit, or of several commits that share a row. */
export interface RowRequest extends CommitRequest {
  /**
   * The requests of the commits that share the row, oldest first; undefined for one commit. The row's own request is then that of
   * the last one, with the messages of all and the `createdAt` of the first one.
   */
  readonly commits?: readonly CommitRequest[] | undefined;
}

/** A write that can begin. */
interface NextWrite {
  /** Aborted when no caller waits for the write any more. */
  readonly signal: AbortSignal | undefined;
  /** Begins the write. Settles when it ends. */
  begin(): Promise<unknown>;
}

/** A write that waits until the writes of the same process to the same thread before it have ended. */
export interface WaitingWrite extends NextWrite {
  /** Undefined for a deletion. */
  readonly request: CommitRequest | undefined;
  readonly operation: Operation;
  /** @param shared the outcome, if the commit shares another write's row. */
  begin(shared?: Promise<CommitOutcome>): Promise<unknown>;
  /** Whether the commit was refused a common row, so that it begins alone. */
  readonly isAlone?: boolean;
  /** Ends the write without beginning it. */
  refuse(error: StoreError): void;
}

/** A commit that can share its row with others. */
interface SharingWrite extends WaitingWrite {
  readonly request: CommitRequest;
}

/** The limits of a row. */
export interface RowLimits {
  readonly maxRowBytes: number;
  readonly maxCommitMessages: number;
}

/** Makes a row. `earlier` has the operations of all commits of the row except the last one. Default: there are none. */
export type WriteRow = (
  request: RowRequest,
  operation: Operation,
  earlier?: readonly Operation[],
) => Promise<CommitOutcome>;

/**
 * Removes the writes that begin next from a queue: the first one alone, or the longest run of commits from the first one on that
 * can share a row. So no write overtakes another one. Writes whose callers no longer wait are refused.
 */
export function takeNext(
  waiting: WaitingWrite[],
  limits: RowLimits,
  writeRow: WriteRow,
): NextWrite | undefined {
  const first = firstOf(waiting);
  waiting.shift();
  if (!first || waiting.length === 0 || !canShare(first)) return first;
  const group: SharingWrite[] = [first];
  const ids = new Set([first.request.operationId]);
  let messages = first.request.append.length;
  let bytes = HEAD_BYTES + sharedBytes(first.request);
  while (group.length < MAX_GROUP) {
    const write = firstOf(waiting);
    // A row has one expiry. Limits may differ: each commit is trimmed by its own.
    if (!write || !canShare(write) || write.request.ttlMs !== first.request.ttlMs) break;
    const { append, operationId } = write.request;
    messages += append.length;
    bytes += sharedBytes(write.request);
    if (messages > limits.maxCommitMessages || bytes > limits.maxRowBytes || ids.has(operationId)) break;
    ids.add(operationId);
    group.push(write);
    waiting.shift();
  }
  return group.length === 1 ? first : turnOf(group, waiting, writeRow);
}

/** The first write of a queue whose caller still waits. */
function firstOf(waiting: WaitingWrite[]): WaitingWrite | undefined {
  for (let write = waiting[0]; write; write = waiting[0]) {
    if (!write.signal?.aborted) return write;
    write.refuse(abortedError(write.signal));
    waiting.shift();
  }
  return undefined;
}

/**
 * Whether a commit can share its row with others: it only appends, to any revision, and this process has not sent it before. If it
 * was committed before nevertheless, under an id of its caller, the row is not made.
 */
function canShare(write: WaitingWrite): write is SharingWrite {
  const { request, operation, isAlone } = write;
  return (
    !isAlone &&
    request !== undefined &&
    operation.attempts.length === 0 &&
    request.expectedRevision === undefined &&
    request.drop === 0 &&
    request.metadata === undefined &&
    request.append.length > 0
  );
}

function turnOf(group: readonly SharingWrite[], waiting: WaitingWrite[], writeRow: WriteRow): NextWrite {
  const requests = group.map(({ request }) => request);
  const operations = group.map(({ operation }) => operation);
  const { signal, release } = jointSignal(group.map((write) => write.signal));
  const [last, earlier] = [operations.at(-1) as Operation, operations.slice(0, -1)];
  return {
    signal,
    async begin() {
      try {
        const outcome = await writeRow(joinRequests(requests, signal), last, earlier);
        for (const [index, write] of group.entries())
          write.begin(Promise.resolve(outcomeOfEarlier(outcome, earlier.length - index)));
      } catch (error) {
        if (!(error instanceof NotTogether)) for (const write of group) write.begin(Promise.reject(error));
        else if (signal?.aborted) for (const write of group) write.refuse(abortedError(signal));
        else waiting.unshift(...group.map((write) => ({ ...write, isAlone: true })));
      } finally {
        release();
      }
    },
  };
}

/** Makes one request of several commits, oldest first. */
function joinRequests(commits: readonly CommitRequest[], signal: AbortSignal | undefined): RowRequest {
  const [first, last] = [commits[0], commits.at(-1)] as [CommitRequest, CommitRequest];
  const append = commits.flatMap((request) => request.append);
  return { ...last, append, createdAt: first.createdAt, signal, commits };
}

/** The outcome of an earlier commit of a row, from that of the last one. @param back the number of commits between them. */
function outcomeOfEarlier(last: CommitOutcome, back: number): CommitOutcome {
  if (last.outcome !== "committed" && last.outcome !== "repeated") return last;
  const { outcome, revision } = last;
  const dot = revision.lastIndexOf(".");
  return {
    outcome,
    revision: formatRevision(revision.slice(0, dot), Number(revision.slice(dot + 1)) - back),
  };
}

/**
 * A signal that is aborted when all given signals are; undefined if a caller cannot abort. `release` must be called when nobody
 * needs it any more.
 */
function jointSignal(signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal | undefined;
  release(): void;
} {
  const all = signals.filter((signal) => signal !== undefined);
  if (all.length < signals.length) return { signal: undefined, release: () => undefined };
  const controller = new AbortController();
  const abort = () => {
    if (all.every(({ aborted }) => aborted)) controller.abort();
  };
  for (const signal of all) signal.addEventListener("abort", abort);
  const release = () => {
    for (const signal of all) signal.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, release };
}
