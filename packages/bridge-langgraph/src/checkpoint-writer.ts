import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { MessageStore } from "@scrollback/store-core";
import type { LogView } from "./checkpoint-log.ts";
import type { ChannelVersion, CheckpointEntry, EntryValue } from "./log-entry.ts";
import { addParts } from "./pending-writes.ts";
import { encodeValue, sizeOf, splitValue, type TypedValue, type ValuePart } from "./typed-value.ts";

/**
 * The maximum sizes, in characters or bytes, of values that are stored in the log entry itself: of a value that the checkpoint
 * has written, of a value from its parent (which is copied into each entry until it changes), and of all values of an entry.
 */
const INLINE = { written: 32 * 1_024, carried: 2 * 1_024, entry: 64 * 1_024 };

/** The name of the attachments of checkpoints without a parent. No checkpoint has this name. */
export const NO_PARENT = "";

/** The checkpoint that `put` stores. */
export interface NewCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
  readonly parentId: string | undefined;
  /** Whether to refuse a checkpoint whose parent is not the newest one. */
  readonly rejectsStale: boolean;
}

/**
 * Builds the log entry of one checkpoint, and stores its large values first. Can build the entry again after the log has changed.
 */
export class CheckpointWriter {
  readonly #serde: SerializerProtocol;
  readonly #attachments: (key: string) => MessageStore;
  readonly #new: NewCheckpoint;
  readonly #encoded = new Map<string, Promise<TypedValue>>();
  /** The attachments that values were written to. */
  readonly #used = new Set<string>();

  constructor(serde: SerializerProtocol, attachments: (key: string) => MessageStore, added: NewCheckpoint) {
    this.#serde = serde;
    this.#attachments = attachments;
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

  /** Whether the last call of `entry` has found that the checkpoint is stale. */
  isStale = false;

  /** Returns the entry for the current log, or undefined for a stale checkpoint. */
  async entry(
    log: LogView,
    prepared: { readonly header: TypedValue; readonly metadata: TypedValue },
  ): Promise<CheckpointEntry | undefined> {
    const { checkpoint, parentId, rejectsStale } = this.#new;
    this.isStale = rejectsStale && (await this.#isBehind(log));
    if (this.isStale) return undefined;
    const parent = parentId === undefined ? undefined : await log.find(parentId);
    // Not the name of a parent that is missing in the log: if the process dies, a deletion would not find the attachments.
    const key = parent ? parent.id : NO_PARENT;
    const values: [string, EntryValue, ChannelVersion?][] = [];
    const parts: ValuePart[] = [];
    let room = INLINE.entry;
    for (const channel of await this.#present(log)) {
      const version = this.#versionOf(channel);
      const carried = this.#carried(channel, parent);
      const value = carried ?? (await this.#encode(channel));
      const limit = carried ? INLINE.carried : INLINE.written;
      const rest = version === undefined ? ([] as const) : ([version] as const);
      if ("at" in value) {
        values.push([channel, value, ...rest]);
      } else if (sizeOf(value) <= Math.min(limit, room)) {
        room -= sizeOf(value);
        values.push([channel, value, ...rest]);
      } else {
        const split = splitValue(value);
        parts.push(...split.parts);
        values.push([channel, { ...split.value, at: key }, ...rest]);
      }
    }
    if (parts.length > 0) {
      this.#used.add(key);
      await addParts(this.#attachments(key), parts);
    }
    // A parent that is missing in the log may have writes.
    const keys = new Set([...this.#used, ...(parentId === undefined ? [] : [parentId])]);
    for (const known of [NO_PARENT, parent?.id]) if (known !== undefined) keys.delete(known);
    return {
      ...{ kind: "checkpoint", id: checkpoint.id, ...prepared, values },
      ...(parentId !== undefined && { parentId }),
      ...(keys.size > 0 && { keys: [...keys] }),
    };
  }

  /** Whether another checkpoint was written after the parent. False for an empty log: its thread was deleted. */
  async #isBehind(log: LogView): Promise<boolean> {
    const { checkpoint, parentId } = this.#new;
    // The newest checkpoint itself may be put again.
    const isNext = (newestId: string | undefined) => newestId === parentId || newestId === checkpoint.id;
    if (isNext(log.newestId)) return false;
    // Another process may have written the parent.
    for await (const { id } of log.entries()) return !isNext(id);
    return false;
  }

  /**
   * Returns the channels that have a value. For a checkpoint without a parent, these are the channels that it has written,
   * channels without a version (nothing has written to them yet), and channels that a checkpoint of this log has at the same
   * version, because a copy of a first checkpoint is stored like that.
   */
  async #present(log: LogView): Promise<string[]> {
    const { checkpoint, newVersions, parentId } = this.#new;
    const given = Object.keys(checkpoint.channel_values);
    const others = new Set(
      given.filter((one) => this.#versionOf(one) !== undefined && !Object.hasOwn(newVersions, one)),
    );
    if (parentId !== undefined || others.size === 0) return given;
    for await (const { values } of log.entries()) {
      for (const [channel, , version] of values)
        if (version === this.#versionOf(channel)) others.delete(channel);
      if (others.size === 0) break;
    }
    return given.filter((channel) => !others.has(channel));
  }

  /**
   * Returns the parent's value of a channel that was not written since. The version alone does not prove this, because each
   * branch of a fork counts versions independently.
   */
  #carried(channel: string, parent: CheckpointEntry | undefined): EntryValue | undefined {
    if (Object.hasOwn(this.#new.newVersions, channel)) return undefined;
    const found = parent?.values.find(([name]) => name === channel);
    return found && found[2] === this.#versionOf(channel) ? found[1] : undefined;
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
