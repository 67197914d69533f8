import {
  type BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  maxChannelVersion,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import type { MessageStore } from "@scrollback/store-core";
import { type CheckpointAddress, configOf } from "./configurable.ts";
import type { CheckpointEntry, EntryValue } from "./log-entry.ts";
import { type AttachmentsView, readAttachments } from "./pending-writes.ts";
import { decodeValue, joinValue, type TypedValue, type ValueInParts } from "./typed-value.ts";

/** Checkpoints before this version have the sends of their parent in the parent's pending writes. */
const VERSION_WITH_TASKS = 4;
const AT_ONCE = 16;

type Namespace = Pick<CheckpointAddress, "threadId" | "namespace">;

/** A checkpoint of a log, with its address. */
export interface FoundCheckpoint {
  readonly address: Namespace;
  readonly entry: CheckpointEntry;
}

/** Attachments that are being read, by their thread. */
type Views = Map<string, Promise<AttachmentsView>>;

/** Builds checkpoint tuples from log entries and their attachments, which are read concurrently. */
export class CheckpointReader {
  readonly #saver: Pick<BaseCheckpointSaver, "serde" | "getNextVersion">;
  readonly #open: (namespace: Namespace, key: string) => MessageStore;

  constructor(
    saver: Pick<BaseCheckpointSaver, "serde" | "getNextVersion">,
    open: (namespace: Namespace, key: string) => MessageStore,
  ) {
    this.#saver = saver;
    this.#open = open;
  }

  async metadata(entry: CheckpointEntry): Promise<CheckpointMetadata> {
    return await this.#decode<CheckpointMetadata>(entry.metadata);
  }

  /**
   * Returns the tuples. Attachments that several tuples need are read once.
   *
   * @throws StoreError `CORRUPT` if a value of a checkpoint is missing.
   */
  async tuples(found: readonly FoundCheckpoint[]): Promise<CheckpointTuple[]> {
    const views: Views = new Map();
    return await Promise.all(found.map(({ address, entry }) => this.#tuple(address, entry, views)));
  }

  async #tuple(namespace: Namespace, entry: CheckpointEntry, views: Views): Promise<CheckpointTuple> {
    const { id, parentId, values } = entry;
    const header = await this.#decode<Omit<Checkpoint, "channel_values">>(entry.header);
    const isOld = header.v < VERSION_WITH_TASKS && parentId !== undefined;
    const attachments = await this.#attachments(views, namespace, [
      id,
      ...values.flatMap(([, value]) => ("at" in value ? value.at : [])),
      ...(isOld ? [parentId] : []),
    ]);
    const decoded = await Promise.all(
      values.map(async ([channel, value]) => [channel, await this.#value(attachments, value)] as const),
    );
    const checkpoint: Checkpoint = { ...header, channel_values: Object.fromEntries(decoded) };
    const pendingWrites = await this.#writes(attachments.get(id));
    if (isOld) this.#addTasks(checkpoint, await this.#writes(attachments.get(parentId)));
    return {
      config: configOf({ ...namespace, checkpointId: id }),
      checkpoint,
      metadata: await this.metadata(entry),
      pendingWrites,
      ...(parentId !== undefined && { parentConfig: configOf({ ...namespace, checkpointId: parentId }) }),
    };
  }

  /**
   * Returns the writes of channels since their last stored value, from the ancestors of a checkpoint, newest first. Reads only
   * the relevant ancestors.
   */
  async history(
    namespace: Namespace,
    ancestors: AsyncIterable<CheckpointEntry>,
    channels: readonly string[],
  ): Promise<Record<string, DeltaChannelHistory>> {
    const remaining = new Set(channels);
    const steps: { entry: CheckpointEntry; channels: ReadonlySet<string>; seeds: string[] }[] = [];
    for await (const entry of ancestors) {
      const seeds = entry.values.map(([channel]) => channel).filter((channel) => remaining.has(channel));
      steps.push({ entry, channels: new Set(remaining), seeds });
      for (const channel of seeds) remaining.delete(channel);
      if (remaining.size === 0) break;
    }
    const found = new Map(channels.map((channel) => [channel, { writes: [] } as DeltaChannelHistory]));
    const views: Views = new Map();
    for (let end = steps.length; end > 0; end -= AT_ONCE) {
      const batch = steps.slice(Math.max(0, end - AT_ONCE), end).reverse();
      const read = await Promise.all(
        batch.map(async ({ entry, channels: counted, seeds }) => {
          const seeded = entry.values.filter(([channel]) => seeds.includes(channel));
          const keys = seeded.flatMap(([, value]) => ("at" in value ? value.at : []));
          const attachments = await this.#attachments(views, namespace, [entry.id, ...keys]);
          const values = seeded.map(
            async ([channel, value]) => [channel, await this.#value(attachments, value)] as const,
          );
          const isCounted = (channel: string) => counted.has(channel);
          return {
            writes: await this.#writes(attachments.get(entry.id), isCounted),
            values: await Promise.all(values),
          };
        }),
      );
      for (const { writes, values } of read) {
        for (const [channel, seed] of values) Object.assign(found.get(channel) ?? {}, { seed });
        for (const write of writes) found.get(write[1])?.writes.push(write);
      }
    }
    return Object.fromEntries(found);
  }

  async #attachments(
    views: Views,
    namespace: Namespace,
    keys: readonly string[],
  ): Promise<Map<string, AttachmentsView>> {
    const read = [...new Set(keys)].map(async (key) => {
      const store = this.#open(namespace, key);
      const view = views.get(store.threadId) ?? readAttachments(store);
      views.set(store.threadId, view);
      return [key, await view] as const;
    });
    return new Map(await Promise.all(read));
  }

  async #value(attachments: ReadonlyMap<string, AttachmentsView>, value: EntryValue): Promise<unknown> {
    if (!("at" in value)) return await this.#decode(value);
    return await this.#decode(joinValue(value, attachments.get(value.at)?.parts ?? new Map()));
  }

  async #writes(
    view: AttachmentsView | undefined,
    isCounted: (channel: string) => boolean = () => true,
  ): Promise<CheckpointPendingWrite[]> {
    const { writes, parts } = view ?? { writes: [], parts: new Map() };
    const typed = (value: TypedValue | ValueInParts) => ("data" in value ? value : joinValue(value, parts));
    return await Promise.all(
      writes
        .filter(({ channel }) => isCounted(channel))
        .map(async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => {
          return [taskId, channel, await this.#decode(typed(value))];
        }),
    );
  }

  #addTasks(checkpoint: Checkpoint, writesOfParent: readonly CheckpointPendingWrite[]): void {
    const sends = writesOfParent.filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends;
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.#saver.getNextVersion(undefined);
  }

  async #decode<T = unknown>(value: TypedValue): Promise<T> {
    return await decodeValue<T>(this.#saver.serde, value);
  }
}
