import { hash, randomBytes } from "node:crypto";
import type { Listed } from "@scrollback/collections";
import { jsonCodec, type Revision, StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { Chat, ChatSummary } from "../chat.ts";

/** The format of the metadata that this version writes. Entries and notes have the version of their metadata. */
export const FORMAT_VERSION = 1;
/** The number of operation ids that a chat remembers. */
const REMEMBERED_OPERATIONS = 64;

/** What lists tell of a chat. */
export interface StoredSummary extends Omit<ChatSummary, "id" | "run"> {
  readonly run?: StoredRun;
  /** Present during a copy in several commits. The chat exists only after the last one. */
  readonly copying?: Copying;
}

/** The lease of a run. */
export interface StoredRun {
  readonly id: string;
  readonly messageId: string;
  readonly startedAt: number;
  /** The time of the last heartbeat. */
  readonly beatAt: number;
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
      incarnation: randomBytes(9).toString("base64url"),
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

/** The data that decides whether a run is lost. */
export interface Leases {
  readonly leaseMs: number;
  now(): number;
}

/** Whether the last heartbeat of a run is within its lease. */
export function isRunning({ beatAt }: StoredRun, now: number, leaseMs: number): boolean {
  return now - beatAt < leaseMs;
}

/** A chat for a list. */
export function listedChat(
  id: string,
  { copying, run, ...stored }: StoredSummary,
  leases: Leases,
): ChatSummary {
  return { id, ...stored, ...(run && { run: runOf(run, leases) }) };
}

function runOf(run: StoredRun, { now, leaseMs }: Leases): NonNullable<ChatSummary["run"]> {
  const { id, messageId, startedAt } = run;
  return { id, messageId, startedAt, state: isRunning(run, now(), leaseMs) ? "running" : "lost" };
}

/** A chat for the caller. */
export function chatOf(head: Head, revision: Revision, leases: Leases): Chat {
  const { version, incarnation, writes, listed, operations, copying, run, ...chat } = head;
  return { ...chat, ...(run && { run: runOf(run, leases) }), revision };
}

/** A write with the operation id that the caller gave. @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored. */
export function operationOf(id: string, method: string, intent: unknown): Operation {
  const text = jsonCodec.encode([method, intent]);
  return { id, digest: hash("sha256", text, "base64url").slice(0, 22) };
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

/** The operations of a head, with one more added. */
export function withOperation({ operations }: Head, operation: Operation): Head["operations"] {
  return [...operations, [operation.id, operation.digest] as const].slice(-REMEMBERED_OPERATIONS);
}
