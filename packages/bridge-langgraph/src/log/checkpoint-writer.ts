import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { Source } from "./delta.ts";
import {
  type ChannelVersion,
  type CheckpointMessage,
  type CheckpointPlace,
  channelOf,
  type LogAddition,
  type NamedValue,
} from "./log-message.ts";
import type { CheckpointContent, LogReading } from "./log-reading.ts";
import { type EarlierValue, literalsOf, SharedValues } from "./shared-values.ts";
import { encodeValue, type TypedValue } from "./typed-value.ts";

/** The checkpoint that `put` stores. */
export interface NewCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
  readonly parentId: string | undefined;
  /** Whether to refuse a checkpoint whose parent is not the newest one. */
  readonly rejectsStale: boolean;
}

/** Builds the message of one checkpoint. Can build it again after the log has changed. */
export class CheckpointWriter {
  readonly #serde: SerializerProtocol;
  readonly #new: NewCheckpoint;
  readonly #encoded = new Map<string, Promise<TypedValue>>();

  constructor(serde: SerializerProtocol, added: NewCheckpoint) {
    this.#serde = serde;
    this.#new = added;
  }

  /** Serializes the values that are always stored, so that an invalid value is refused before any I/O. */
  async prepare(): Promise<{ header: TypedValue; metadata: TypedValue }> {
    const { checkpoint, metadata, newVersions } = this.#new;
    const { channel_values, ...header } = checkpoint;
    const written = Object.keys(channel_values).filter((channel) => Object.hasOwn(newVersions, channel));
    const [storedHeader, storedMetadata] = await Promise.all([
      encodeValue(this.#serde, header, "put: checkpoint"),
      encodeValue(this.#serde, metadata, "put: metadata"),
      ...written.map((channel) => this.#encode(channel)),
    ]);
    return { header: storedHeader, metadata: storedMetadata };
  }

  /** Why the last call of `addition` has refused the checkpoint; undefined if it has not. */
  refusal: string | undefined;

  /** Returns what to add to the current log, or undefined for a checkpoint that is refused. */
  async addition(
    log: LogReading,
    prepared: { readonly header: TypedValue; readonly metadata: TypedValue },
  ): Promise<LogAddition | undefined> {
    const { checkpoint, parentId, rejectsStale } = this.#new;
    const found = parentId === undefined ? undefined : await log.find(parentId);
    if (rejectsStale && (await this.#isBehind(log)))
      this.refusal = "another turn has written a checkpoint since this one began";
    else if (parentId !== undefined && (!found || found.checkpoint.isAncestor) && this.#needsParent())
      this.refusal = "its parent, of which a DeltaChannel needs the writes, was dropped or has expired";
    else this.refusal = undefined;
    if (this.refusal !== undefined) return undefined;
    const parent = found && (await log.content(found));
    const before = new Map(parent?.values);
    const values: ChannelValue[] = [];
    for (const channel of await this.#present(log)) {
      const version = this.#versionOf(channel);
      const carried = parent && this.#isCarried(channel, parent.checkpoint) ? before.get(channel) : undefined;
      values.push({ channel, value: carried ?? (await this.#encode(channel)), version });
    }
    const newest = await log.highest();
    const stored = { id: checkpoint.id, parentId, ...prepared, early: await this.#early(log, newest) };
    const highest = newest && newest[0] > checkpoint.id ? { highest: newest } : {};
    return checkpointAddition(log.end, { ...stored, ...highest }, values, parent);
  }

  /** The position of its first pending write, if it may have any that precede it. */
  async #early(log: LogReading, highest: CheckpointPlace | undefined): Promise<number | undefined> {
    const { id } = this.#new.checkpoint;
    // The same checkpoint may be put again. Its writes stay.
    const same = highest && id <= highest[0] ? await log.find(id) : undefined;
    return same ? (same.checkpoint.early ?? same.position) : log.earlyOf(id);
  }

  #needsParent(): boolean {
    const { checkpoint, metadata } = this.#new;
    const has = (channel: string) => Object.hasOwn(checkpoint.channel_values, channel);
    return channelsOfAncestors(metadata, checkpoint, has).length > 0;
  }

  /** Whether another checkpoint was written after the parent. False for an empty log: its thread was deleted. */
  async #isBehind(log: LogReading): Promise<boolean> {
    const { checkpoint, parentId } = this.#new;
    const newest = (await log.highest())?.[0];
    // The newest checkpoint itself may be put again.
    return newest !== undefined && newest !== parentId && newest !== checkpoint.id;
  }

  /**
   * Returns the channels that have a value. For a checkpoint without a parent, these are the channels that it has written,
   * channels without a version (nothing has written to them yet), and channels that a checkpoint of this log has at the same
   * version, because a copy of a first checkpoint is stored like that.
   */
  async #present(log: LogReading): Promise<string[]> {
    const { checkpoint, newVersions, parentId } = this.#new;
    const given = Object.keys(checkpoint.channel_values);
    const others = new Set(
      given.filter((one) => this.#versionOf(one) !== undefined && !Object.hasOwn(newVersions, one)),
    );
    if (parentId !== undefined || others.size === 0) return given;
    for await (const { checkpoint: other } of log.checkpoints()) {
      for (const [channel, , version] of other.values)
        if (version === this.#versionOf(channel)) others.delete(channel);
      if (others.size === 0) break;
    }
    return given.filter((channel) => !others.has(channel));
  }

  /**
   * Whether a channel has the parent's value: it was not written since. The version alone does not prove this, because each branch
   * of a fork counts versions independently.
   */
  #isCarried(channel: string, parent: CheckpointMessage): boolean {
    if (Object.hasOwn(this.#new.newVersions, channel)) return false;
    return channelOf(parent, channel)?.[2] === this.#versionOf(channel);
  }

  #versionOf(channel: string): ChannelVersion | undefined {
    const { channel_versions } = this.#new.checkpoint;
    return Object.hasOwn(channel_versions, channel) ? channel_versions[channel] : undefined;
  }

  #encode(channel: string): Promise<TypedValue> {
    const value = this.#new.checkpoint.channel_values[channel];
    const encoded =
      this.#encoded.get(channel) ??
      encodeValue(this.#serde, value, `put: channel ${JSON.stringify(channel)}`);
    this.#encoded.set(channel, encoded);
    return encoded;
  }
}

/** A channel's value in a checkpoint. */
export interface ChannelValue {
  readonly channel: string;
  readonly value: TypedValue;
  readonly version: ChannelVersion | undefined;
}

/**
 * The message of a checkpoint, and the parts before it.
 *
 * @param position where the first of them will be in the log.
 * @param parent its parent, if that is in the log.
 */
export function checkpointAddition(
  position: number,
  { parentId, early, ...stored }: Stored,
  values: readonly ChannelValue[],
  parent: CheckpointContent | undefined,
): LogAddition & { readonly message: CheckpointMessage; readonly values: readonly NamedValue[] } {
  const shared = new SharedValues(position, parent ? writtenIn(parent) : []);
  const before = new Map(parent?.values);
  const message: CheckpointMessage = {
    ...{ kind: "checkpoint", ...stored },
    ...(parentId !== undefined && { parentId }),
    values: values.map(({ channel, value, version }) => {
      const form = shared.store(value, parent && earlierValue(parent, channel, before.get(channel)));
      return version === undefined ? [channel, form] : [channel, form, version];
    }),
    ...(early !== undefined && { early }),
  };
  return { parts: shared.parts, message, values: values.map(({ channel, value }) => [channel, value]) };
}

/** What a message says of a checkpoint apart from its values. */
type Stored = Pick<CheckpointMessage, "id" | "header" | "metadata" | "highest" | "isAncestor"> & {
  readonly parentId: string | undefined;
  readonly early: number | undefined;
};

function earlierValue(
  { checkpoint, position }: CheckpointContent,
  name: string,
  value: TypedValue | undefined,
): EarlierValue | undefined {
  const stored = channelOf(checkpoint, name)?.[1];
  return value && stored && { position, name, value, from: "from" in stored ? stored.from : position };
}

/** The texts that were new in a checkpoint, and in its pending writes: the next checkpoint may contain them. */
function writtenIn({ checkpoint, position, writes }: CheckpointContent): Source[] {
  return [
    ...checkpoint.values.flatMap(([channel, value]) => literalsOf(position, channel, value)),
    ...writes.flatMap(({ message, position: at }) =>
      message.writes.flatMap(([, , value], place) => literalsOf(at, place, value)),
    ),
  ];
}

/**
 * The `DeltaChannel`s whose value is made of the writes of a checkpoint's ancestors. The checkpoint's own metadata says so: it counts the
 * writes since the last snapshot. Not among them is a channel that was never written; only newer versions of LangGraph tell that.
 *
 * @param has whether the checkpoint has a value of this channel.
 */
export function channelsOfAncestors(
  metadata: CheckpointMetadata,
  { channel_versions: versions }: Pick<Checkpoint, "channel_versions">,
  has: (channel: string) => boolean,
): string[] {
  const { counters_since_delta_snapshot: counters = {} } = metadata;
  const { delta_writes_versioned: isVersioned } = metadata as { readonly delta_writes_versioned?: boolean };
  return Object.keys(counters).filter(
    (channel) => !has(channel) && (isVersioned !== true || Object.hasOwn(versions, channel)),
  );
}
