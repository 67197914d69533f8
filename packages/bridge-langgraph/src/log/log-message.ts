import { randomUUID } from "node:crypto";
import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { TypedValue } from "./typed-value.ts";

/** The name of a value in its message: a channel of a checkpoint, the place of a pending write, or 0 for a part. */
export type ValueName = string | number;

/** A stretch of the value `name` of the earlier message at `position`. */
export type Reference = readonly [position: number, name: ValueName, start: number, end: number];

/** A value as literals and stretches of earlier values. Readers join them, so a value that has grown is stored as what was added. */
export interface SharedValue {
  readonly type: string;
  readonly pieces: readonly (string | Reference)[];
  /** The position of the first message that a reader needs for it, also indirectly. */
  readonly from: number;
}

export type StoredValue = TypedValue | SharedValue;

export type ChannelVersion = ChannelVersions[string];

/** A checkpoint. */
export interface CheckpointMessage {
  readonly kind: "checkpoint";
  readonly id: string;
  readonly parentId?: string;
  /** The checkpoint without its channel values. */
  readonly header: TypedValue;
  readonly metadata: TypedValue;
  /** The channels that have a value, and their versions in this checkpoint. */
  readonly values: readonly (readonly [channel: string, value: StoredValue, version?: ChannelVersion])[];
  /** The position from which on it has pending writes; absent if all of them follow it. */
  readonly early?: number;
  /** The checkpoint before it with the highest id, if that is higher than its own: a clock was behind. */
  readonly highest?: CheckpointPlace;
  /** It was dropped, and is stored only for its descendants, whose channels are made of its writes. Its own may miss some. */
  readonly isAncestor?: true;
}

/** The id of a checkpoint and its position. */
export type CheckpointPlace = readonly [id: string, position: number];

/** Pending writes: those of one task, from one call. */
export interface WritesMessage {
  readonly kind: "writes";
  readonly checkpointId: string;
  readonly taskId: string;
  readonly taskPath: string;
  readonly writes: readonly (readonly [index: number, channel: string, value: StoredValue])[];
}

/** A part of a large value of a later message. */
export interface PartMessage {
  readonly kind: "part";
  readonly data: string | Uint8Array;
}

export type LogMessage = CheckpointMessage | WritesMessage | PartMessage;

/** A message as it is stored: with its position, so that a missing one is noticed. */
export type PlacedMessage = LogMessage & { readonly at: number };

/** A channel and its value. */
export type NamedValue = readonly [channel: string, value: TypedValue];

/** What a writer adds: a checkpoint or pending writes, after the parts of its large values. */
export interface LogAddition {
  readonly parts: readonly PartMessage[];
  readonly message: CheckpointMessage | WritesMessage;
  /** The values of a checkpoint, which its process remembers. */
  readonly values?: readonly NamedValue[];
  /** Whether these are writes of a checkpoint that is not in the log. */
  readonly isEarly?: boolean;
}

/** A message that is asked for one channel is asked for all of them, which are many in some graphs. */
const channels = new WeakMap<CheckpointMessage, ReadonlyMap<string, CheckpointMessage["values"][number]>>();

/** A channel's entry in a checkpoint, or undefined if it has no value. */
export function channelOf(
  message: CheckpointMessage,
  name: string,
): CheckpointMessage["values"][number] | undefined {
  const found = channels.get(message) ?? new Map(message.values.map((entry) => [entry[0], entry]));
  channels.set(message, found);
  return found.get(name);
}

/** The stored form of a value of a message, or undefined if the message has no such value. */
export function storedValue(message: LogMessage, name: ValueName): StoredValue | undefined {
  if (message.kind === "part") return { type: "part", data: message.data };
  if (message.kind === "checkpoint") return channelOf(message, String(name))?.[1];
  return message.writes[Number(name)]?.[2];
}

export function pieceLength(piece: string | Reference): number {
  return typeof piece === "string" ? piece.length : piece[3] - piece[2];
}

/** The metadata of a log's thread. */
export interface LogFormat {
  readonly version: 1;
  /** Random; another one after the log was created anew or pruned. Positions are valid within one. */
  readonly epoch: string;
  /** When the registration of the log expires, in milliseconds since 1970; absent: never. */
  readonly registeredUntil?: number;
  /** The checkpoints that are not in the log yet and have pending writes, with the position of the first ones. */
  readonly early?: Readonly<Record<string, number>>;
}

/** A format without what it needs not say. */
export function formatOf({
  epoch = randomUUID(),
  registeredUntil,
  early = new Map(),
}: {
  readonly epoch?: string | undefined;
  readonly registeredUntil?: number | undefined;
  readonly early?: ReadonlyMap<string, number>;
}): LogFormat {
  return {
    ...{ version: 1, epoch },
    ...(registeredUntil !== undefined && { registeredUntil }),
    ...(early.size > 0 && { early: Object.fromEntries(early) }),
  };
}
