import type { Revision } from "@scrollback/store-core";
import type { CommitRequest } from "@scrollback/store-core/driver";
import { formatMetadataRecord, formatRecord, type MessageKind } from "@scrollback/store-core/internal";
import type { SimulatedCall } from "./simulated-call.ts";

/** A text of the workload: a message or metadata. Its record begins with its name, and a long one repeats it. */
export interface Text {
  readonly name: string;
  readonly kind: MessageKind | "m";
  readonly record: string;
  /** The number of places in the current state that have it. */
  uses: number;
  /** The step in which it was last dropped, trimmed or replaced. */
  diedAt: { readonly incarnation: string; readonly n: number } | undefined;
}

/** A commit that took place. */
export interface Commit {
  readonly revision: Revision;
  readonly incarnation: string;
  readonly n: number;
  readonly caller: string | undefined;
  readonly row: number;
  /** The step of the thread's history that it made. */
  readonly step: number;
}

/** A change that callers attempt until they know its outcome. */
export interface Operation {
  readonly id: string;
  readonly digest: string;
  readonly threadId: string;
  readonly drop: number | "all";
  readonly append: readonly Text[];
  /** As in a request. */
  readonly metadata: Text | null | undefined;
  readonly settings: Pick<CommitRequest, "maxMessages" | "trimming" | "ttlMs">;
  /** The expected revision, if there is one. */
  readonly expectedRevision: Revision | null | undefined;
  readonly newIncarnation: string;
  /** Whether a store made its id, which no other change and no other process uses until the first call has ended. */
  readonly hasOwnId: boolean;
  isSent: boolean;
  /** The commits that it made: more than one only if the first was long ago. */
  readonly commits: Commit[];
}

const nameInRecord = /<([^<>]+)>/;

/** Makes a text of about `length` characters, if given. */
export function createText(name: string, kind: MessageKind | "m", length = 0): Text {
  const mark = `<${name}>`;
  const body = length > mark.length ? mark.repeat(Math.ceil(length / mark.length)) : mark;
  return {
    name,
    kind,
    record: kind === "m" ? formatMetadataRecord(body) : formatRecord(kind, 0, body),
    uses: 0,
    diedAt: undefined,
  };
}

/** The name of the text of which a stored text is the whole or a piece; undefined if the stored text is too short. */
export function nameOf(stored: string): string | undefined {
  // A longer name does not fit a record of the workload.
  return nameInRecord.exec(stored.slice(0, 80))?.[1];
}

/** The request that makes an operation's commit. */
export function requestOf(operation: Operation, signal: AbortSignal | undefined): CommitRequest {
  const { id, digest, threadId, drop, append, metadata, settings, expectedRevision, newIncarnation } =
    operation;
  return {
    threadId,
    operationId: id,
    digest,
    isNewOperation: operation.hasOwnId && !operation.isSent,
    newIncarnation,
    expectedRevision,
    drop,
    append: append.map(({ record }) => record),
    metadata: metadata === null ? null : metadata?.record,
    createdAt: 0,
    updatedAt: 0,
    ...settings,
    signal,
  };
}

/** The identity of an operation: an id can be used again, for another change. */
export function keyOf({ id, digest }: { readonly id: string; readonly digest: string }): string {
  return `${id}/${digest}`;
}

/** The text of an operation in the trace. */
export function describeOperation({
  id,
  drop,
  append,
  metadata,
  settings,
  expectedRevision,
}: Operation): string {
  const kinds = append.map(({ kind }) => kind).join("");
  const parts = [
    `commit ${id}`,
    drop === 0 ? "" : `drop ${drop}`,
    kinds && `append ${kinds}`,
    metadata === undefined ? "" : metadata === null ? "no metadata" : "metadata",
    `max ${settings.maxMessages} ${settings.trimming}`,
    `ttl ${settings.ttlMs}`,
    expectedRevision === undefined ? "" : `expected ${expectedRevision}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** Whose commit a row would be: the caller, not the client, because a caller's own attempts must never both count. */
export function callerOf(call: SimulatedCall | undefined): string | undefined {
  return call?.caller;
}
