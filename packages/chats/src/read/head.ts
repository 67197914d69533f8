import type { Listed } from "@scrollback/collections";
import { type Revision, StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { encodeWrapped, randomText, sha256 } from "@scrollback/store-core/internal";
import type { Chat, ChatSummary } from "../chat.ts";
import { type Continuations, groupsOf } from "../siblings/continuations.ts";

/** The format of the metadata that this version writes. Entries and notes have the version of their metadata. */
const FORMAT_VERSION = 1;
/** The number of operation ids that a chat remembers. */
const REMEMBERED_OPERATIONS = 64;

/** What lists tell of a chat. */
export interface StoredSummary extends Omit<ChatSummary, "id" | "run"> {
  readonly run?: StoredRun;
  /** Present during a copy in several commits. The chat exists only after the last one. */
  readonly copying?: Copying;
}

/**
 * The lease of a run. The process that makes the answer writes it, and commits `beatAt` again at the first beat at which a third of
 * the lease has passed on its clock. All processes judge it by {@link isRunning}, whatever their own `leaseMs`.
 */
export interface StoredRun {
  readonly id: string;
  readonly messageId: string;
  readonly startedAt: number;
  /** The time of the last heartbeat, by the clock of the process that makes the answer. */
  readonly beatAt: number;
  /** The length of the lease. */
  readonly leaseMs: number;
  /** Whether the run was requested to stop. */
  readonly stop?: boolean;
}

/** The identity of a copy in several commits. */
export interface Copying {
  readonly since: number;
  /** The operation id of the call. Random if the call has none, so that no other call continues the copy. */
  readonly operationId: string;
  readonly digest: string;
}

/** The metadata of a chat's thread: the whole chat except its messages. Replaced by every commit. */
export interface Head extends StoredSummary {
  readonly version: typeof FORMAT_VERSION;
  readonly id: string;
  /** Random, new for each created chat, also if a deleted chat had the same id. */
  readonly incarnation: string;
  /** Counts the commits of the incarnation. */
  readonly writes: number;
  /** Its entries in lists. */
  readonly listed: Listed;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The newest operation ids, each with a digest of its request. */
  readonly operations: readonly (readonly [operationId: string, digest: string])[];
  /** What the chat keeps beside its path. */
  readonly parts?: Continuations;
  /** The name of the owner that the chat is being moved to. Until that is done or given up, nobody can change the chat. */
  readonly movesTo?: string;
}

/** A write with an operation id, and the digest of its request. */
export interface Operation {
  readonly id: string;
  readonly digest: string;
}

/**
 * The head of a chat without messages. Every chat begins with it.
 *
 * @throws StoreError `INVALID_ARGUMENT` for the ids "." and "..".
 */
export function newHead(id: string, now: number): Head {
  if (id === "." || id === "..")
    invalid(
      `the chat's id must not be "${id}": URLs drop this path segment, so no route would find the chat`,
    );
  return {
    version: FORMAT_VERSION,
    ...{
      id,
      incarnation: randomText(9),
      writes: 0,
      listed: { key: id, order: now, in: {} },
    },
    ...{ createdAt: now, updatedAt: now, activeAt: now },
    ...{ pinned: false, archived: false, labels: {}, messageCount: 0, metadata: {}, operations: [] },
  };
}

/** A head with changed fields; undefined removes a field. */
export function withFields(head: Head, fields: { readonly [K in keyof Head]?: Head[K] | undefined }): Head {
  const changed = Object.entries({ ...head, ...fields }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(changed) as unknown as Head;
}

/** The clock of the process that reads a head. */
export interface WallClock {
  now(): number;
}

/**
 * Whether the time of a process is less than `ms` before or after a time that another process wrote. Neither clock may be right, so a
 * time far ahead is believed as little as one long ago.
 */
export function isNear(time: number, now: number, ms: number): boolean {
  return Math.abs(now - time) < ms;
}

/**
 * Whether a run holds its lease: its last heartbeat is less than the lease away, before or after the reader's time.
 *
 * - A live run is never taken over by a process whose clock differs by less than a third of the lease from that of the process that
 *   makes the answer: a heartbeat is at most two thirds of a lease old when the next one is committed, because `leaseMs` is at least
 *   3 times `beatMs`. The time of that commit is subtracted from the third.
 * - A dead run holds its lease for less than 2 leases of any reader's clock, whatever the clocks say: only these are near the last
 *   heartbeat. If that is ahead of the reader's clock by more, they come later.
 * - If the clocks differ by more, a live run may be taken over. Commits are fenced, so two runs never both write.
 */
export function isRunning({ beatAt, leaseMs }: Pick<StoredRun, "beatAt" | "leaseMs">, now: number): boolean {
  return isNear(beatAt, now, leaseMs);
}

/** A chat for a list. */
export function listedChat(
  id: string,
  { copying, run, ...stored }: StoredSummary,
  clock: WallClock,
): ChatSummary {
  return { id, ...stored, ...(run && { run: runOf(run, clock) }) };
}

function runOf(run: StoredRun, clock: WallClock): NonNullable<ChatSummary["run"]> {
  const { id, messageId, startedAt } = run;
  return { id, messageId, startedAt, state: isRunning(run, clock.now()) ? "running" : "lost" };
}

/** A chat for the caller. */
export function chatOf(head: Head, revision: Revision, clock: WallClock): Chat {
  const { version, writes, listed, operations, movesTo, copying, run, parts = {}, ...chat } = head;
  const siblings = groupsOf(parts, clock.now());
  return {
    ...chat,
    ...(run && { run: runOf(run, clock) }),
    ...(siblings.length > 0 && { siblings }),
    revision,
  };
}

/** A write with the operation id that the caller gave. @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored. */
export function operationOf(id: string, method: string, intent: unknown): Operation {
  const text = encodeWrapped([method, intent]);
  return { id, digest: sha256(text).slice(0, 22) };
}

/** Whether a write was already made. @throws StoreError `CONFLICT` if its id was used for a different write. */
export function isDone({ operations }: Head, operation: Operation, method: string): boolean {
  const found = operations.find(([id]) => id === operation.id);
  if (!found) return false;
  if (found[1] === operation.digest) return true;
  throw new StoreError(
    "CONFLICT",
    `${method}: operationId was used for another write to this chat; use a new one for each write`,
  );
}

/** The operations of a head, with one more added. The newest one of an id counts: a chat may move between two owners repeatedly. */
export function withOperation({ operations }: Head, operation: Operation): Head["operations"] {
  const others = operations.filter(([id]) => id !== operation.id);
  return [...others, [operation.id, operation.digest] as const].slice(-REMEMBERED_OPERATIONS);
}
