import { hash, randomBytes } from "node:crypto";
import { parseMetadata } from "@scrollback/collections";
import { jsonCodec, type Revision, StoreError } from "@scrollback/store-core";
import type { Chat, ChatSummary } from "./chat.ts";

/** The format of the metadata that this version writes; entries and notes are of the version of theirs. */
export const FORMAT_VERSION = 1;
/** How many operation ids a chat remembers. */
const REMEMBERED_OPERATIONS = 64;

/** What the directory holds of a chat. */
export interface StoredSummary extends Omit<ChatSummary, "id" | "run"> {
  readonly run?: StoredRun;
  /** The chat is being made of another one, in several commits; until the last of them the chat does not exist. */
  readonly copying?: Copying;
}

/** The lease of a run. */
export interface StoredRun {
  readonly id: string;
  readonly messageId: string;
  readonly startedAt: number;
  /** When the run was heard of last. */
  readonly beatAt: number;
  /** It was asked to stop. */
  readonly stop?: boolean;
}

/** How a copy in several commits is known again. */
export interface Copying {
  readonly since: number;
  /** Of the call, or random where it has none: then no other call goes on with the copy. */
  readonly operationId: string;
  readonly digest: string;
}

/** The metadata of a chat's thread: all of the chat but its messages. Replaced by every commit. */
export interface Head extends StoredSummary {
  readonly version: typeof FORMAT_VERSION;
  readonly id: string;
  /** Random, new for each chat that is created, also under an id that a deleted chat had. */
  readonly incarnation: string;
  /** Counts the commits of the incarnation. */
  readonly writes: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The newest operation ids, each with a digest of what was asked for. */
  readonly operations: readonly (readonly [operationId: string, digest: string])[];
}

/** A write that has a name, and what was asked for. */
export interface Operation {
  readonly id: string;
  readonly digest: string;
}

/** The head of a chat's thread; undefined where there is none. @throws StoreError `UNSUPPORTED`, `CORRUPT`. */
export function parseHead(threadId: string, metadata: unknown): Head | undefined {
  return parseMetadata<Head>(threadId, metadata, { package: "@scrollback/chats", kind: "chat" });
}

/** The head of a chat without messages. */
export function newHead(id: string, now: number): Head {
  return {
    version: FORMAT_VERSION,
    ...{ id, incarnation: randomBytes(9).toString("base64url"), writes: 0 },
    ...{ createdAt: now, updatedAt: now, activeAt: now },
    ...{ pinned: false, archived: false, labels: {}, messageCount: 0, metadata: {}, operations: [] },
  };
}

/** A head with fields changed; undefined removes one. */
export function withFields(head: Head, fields: { readonly [K in keyof Head]?: Head[K] | undefined }): Head {
  const changed = Object.entries({ ...head, ...fields }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(changed) as unknown as Head;
}

/** What the directory is told of a chat. */
export function summaryOf({ version, id, incarnation, writes, metadata, operations, ...rest }: Head) {
  return rest satisfies StoredSummary;
}

/** What tells whether a run is lost. */
export interface Leases {
  readonly leaseMs: number;
  now(): number;
}

/** Whether a run was heard of within the time of its lease. */
export function isRunning({ beatAt }: StoredRun, now: number, leaseMs: number): boolean {
  return now - beatAt < leaseMs;
}

/** What a list returns of a chat. */
export function listedChat(
  id: string,
  { copying, run, ...stored }: StoredSummary,
  { now, leaseMs }: Leases,
): ChatSummary {
  if (!run) return { id, ...stored };
  const state = isRunning(run, now(), leaseMs) ? "running" : "lost";
  return { id, ...stored, run: { id: run.id, messageId: run.messageId, startedAt: run.startedAt, state } };
}

/** A chat as its readers see it. */
export function chatOf(head: Head, revision: Revision, leases: Leases): Chat {
  return { ...listedChat(head.id, summaryOf(head), leases), metadata: head.metadata, revision };
}

/** A named write. @throws StoreError `INVALID_ARGUMENT` for what cannot be stored. */
export function operationOf(id: string | undefined, method: string, intent: unknown): Operation | undefined {
  const text = jsonCodec.encode([method, intent]);
  return id === undefined ? undefined : { id, digest: hash("sha256", text, "base64url").slice(0, 22) };
}

/** Whether a write was made already. @throws StoreError `CONFLICT` when its id was used for another one. */
export function isDone({ operations }: Head, operation: Operation | undefined, method: string): boolean {
  const found = operation && operations.find(([id]) => id === operation.id);
  if (!operation || !found) return false;
  if (found[1] === operation.digest) return true;
  throw new StoreError(
    "CONFLICT",
    `${method}: operationId was used for another write to this chat; use a new one for each write`,
  );
}

/** The operations of a head, and one more. */
export function withOperation({ operations }: Head, operation: Operation | undefined): Head["operations"] {
  if (!operation) return operations;
  return [...operations, [operation.id, operation.digest] as const].slice(-REMEMBERED_OPERATIONS);
}
