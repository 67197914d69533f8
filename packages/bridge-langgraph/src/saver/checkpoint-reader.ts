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
import { StoreError } from "@scrollback/store-core";
import type { CheckpointLog } from "../log/checkpoint-log.ts";
import { channelsOfAncestors } from "../log/checkpoint-writer.ts";
import type { CheckpointMessage } from "../log/log-message.ts";
import type { CheckpointContent, FoundCheckpoint } from "../log/log-reading.ts";
import { effectiveWrites } from "../log/pending-writes.ts";
import { decodeValue, type TypedValue } from "../log/typed-value.ts";
import { configOf, type Namespace } from "./configurable.ts";

/** Checkpoints before this version have the sends of their parent in the parent's pending writes. */
const VERSION_WITH_TASKS = 4;

/** Restores checkpoint tuples from the content of a log. */
export class CheckpointReader {
  readonly #saver: Pick<BaseCheckpointSaver, "serde" | "getNextVersion">;

  constructor(saver: Pick<BaseCheckpointSaver, "serde" | "getNextVersion">) {
    this.#saver = saver;
  }

  async metadata(checkpoint: CheckpointMessage): Promise<CheckpointMetadata> {
    return await this.#decode<CheckpointMetadata>(checkpoint.metadata);
  }

  /** When a checkpoint was created, in milliseconds since 1970. */
  async time(checkpoint: CheckpointMessage): Promise<number> {
    const { ts } = await this.#decode<Pick<Checkpoint, "ts">>(checkpoint.header);
    return Date.parse(ts);
  }

  /**
   * Adds, as ancestors, the checkpoints that others need: those back to the last value of each `DeltaChannel`, and the parent of one
   * from before {@link VERSION_WITH_TASKS}.
   *
   * @param all where they are found, highest id first.
   */
  async withNeeded(
    kept: readonly FoundCheckpoint[],
    all: readonly FoundCheckpoint[],
  ): Promise<readonly FoundCheckpoint[]> {
    const byId = new Map(all.map((one) => [one.checkpoint.id, one]));
    const needed = new Set(kept);
    for (const { checkpoint } of kept) {
      const { v } = await this.#decode<Pick<Checkpoint, "v">>(checkpoint.header);
      const missing = new Set(await this.#channelsOfAncestors(checkpoint));
      let isNext = v < VERSION_WITH_TASKS;
      for (let one: CheckpointMessage | undefined = checkpoint; one; ) {
        for (const [channel] of one.values) missing.delete(channel);
        const parent: FoundCheckpoint | undefined = byId.get(one.parentId ?? "");
        if (!parent || (missing.size === 0 && !isNext)) break;
        needed.add(parent);
        isNext = false;
        one = parent.checkpoint;
      }
    }
    const isKept = new Set(kept);
    return all
      .filter((one) => needed.has(one))
      .map((one) =>
        isKept.has(one) ? one : { ...one, checkpoint: { ...one.checkpoint, isAncestor: true } },
      );
  }

  /** @throws StoreError `CORRUPT` if a value of the checkpoint is missing. */
  async tuple(
    namespace: Namespace,
    log: CheckpointLog,
    content: CheckpointContent,
  ): Promise<CheckpointTuple> {
    const { id, parentId, ...stored } = content.checkpoint;
    const header = await this.#decode<Omit<Checkpoint, "channel_values">>(stored.header);
    const decoded = content.values.map(
      async ([channel, value]) => [channel, await this.#decode(value)] as const,
    );
    const checkpoint: Checkpoint = {
      ...header,
      channel_values: Object.fromEntries(await Promise.all(decoded)),
    };
    if (header.v < VERSION_WITH_TASKS && parentId !== undefined)
      this.#addTasks(checkpoint, await this.#writes(await log.content(parentId)));
    return {
      config: configOf({ ...namespace, checkpointId: id }),
      checkpoint,
      metadata: await this.metadata(content.checkpoint),
      pendingWrites: await this.#writes(content),
      ...(parentId !== undefined && { parentConfig: configOf({ ...namespace, checkpointId: parentId }) }),
    };
  }

  /**
   * Returns the writes of channels since their last stored value, from the ancestors of a checkpoint, newest first.
   *
   * @throws StoreError `CORRUPT` if an ancestor with a value or writes of one of them is missing.
   */
  async history(
    log: CheckpointLog,
    id: string,
    channels: readonly string[],
  ): Promise<Record<string, DeltaChannelHistory>> {
    const found = new Map(channels.map((channel) => [channel, { writes: [] } as DeltaChannelHistory]));
    const remaining = new Set(channels);
    let first: CheckpointMessage | undefined;
    let last: CheckpointMessage | undefined;
    for await (const [one, reading] of log.lineage(id)) {
      last = one.checkpoint;
      first ??= last;
      if (first === last) continue;
      const content = await reading.content(one, (channel) => remaining.has(channel));
      const writes = await this.#writes(content, (channel) => remaining.has(channel));
      for (const write of writes.reverse()) found.get(write[1])?.writes.unshift(write);
      for (const [channel, value] of content.values) {
        Object.assign(found.get(channel) ?? {}, { seed: await this.#decode(value) });
        remaining.delete(channel);
      }
      if (remaining.size === 0) return Object.fromEntries(found);
    }
    if (!first || last?.parentId === undefined) return Object.fromEntries(found);
    const expected = await this.#channelsOfAncestors(last);
    const needed = await this.#channelsOfAncestors(first);
    const lost = needed.find((channel) => remaining.has(channel) && expected.includes(channel));
    if (lost === undefined) return Object.fromEntries(found);
    throw new StoreError(
      "CORRUPT",
      `getDeltaChannelHistory: the parent of checkpoint "${last.id}" is missing, and with it writes of channel ${JSON.stringify(lost)}`,
    );
  }

  async #channelsOfAncestors(checkpoint: CheckpointMessage): Promise<string[]> {
    const header = await this.#decode<Pick<Checkpoint, "channel_versions">>(checkpoint.header);
    return channelsOfAncestors(await this.metadata(checkpoint), header, (channel) =>
      checkpoint.values.some(([name]) => name === channel),
    );
  }

  async #writes(
    content: CheckpointContent | undefined,
    isCounted: (channel: string) => boolean = () => true,
  ): Promise<CheckpointPendingWrite[]> {
    return await Promise.all(
      effectiveWrites(content?.writes ?? [])
        .filter(({ channel }) => isCounted(channel))
        .map(async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => {
          return [taskId, channel, await this.#decode(value)];
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
