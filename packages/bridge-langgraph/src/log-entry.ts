import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { TypedValue, ValueInParts } from "./typed-value.ts";

/** A channel's value in a log entry: the value itself, or its parts in the attachments of the checkpoint `at`. */
export type EntryValue = TypedValue | (ValueInParts & { readonly at: string });

export type ChannelVersion = ChannelVersions[string];

/** A checkpoint in its log. */
export interface CheckpointEntry {
  readonly kind: "checkpoint";
  readonly id: string;
  readonly parentId?: string;
  /** The checkpoint without its channel values. */
  readonly header: TypedValue;
  readonly metadata: TypedValue;
  /** The channels that have a value, and their versions in this checkpoint. */
  readonly values: readonly (readonly [channel: string, value: EntryValue, version?: ChannelVersion])[];
  /** Names of attachments that belong to no checkpoint of this log, so that a deletion finds them. */
  readonly keys?: readonly string[];
}

/** Names of attachments that may be written before their checkpoint. */
export interface KeysEntry {
  readonly kind: "keys";
  readonly keys: readonly string[];
}

export type LogEntry = CheckpointEntry | KeysEntry;

/** The names of the attachments that an entry refers to. */
export function keysOf(entry: LogEntry): readonly string[] {
  return entry.kind === "keys" ? entry.keys : [entry.id, ...(entry.keys ?? [])];
}
