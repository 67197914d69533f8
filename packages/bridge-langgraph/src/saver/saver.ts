import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { chatMessageTraits, StoreError, type StoreFactory } from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid, isId, isOneOf } from "@scrollback/store-core/driver";
import { isStoreFactory } from "@scrollback/store-core/internal";
import { CheckpointLog } from "../log/checkpoint-log.ts";
import { CheckpointWriter } from "../log/checkpoint-writer.ts";
import { encodeWrites, writesAddition } from "../log/pending-writes.ts";
import { retried } from "../retried.ts";
import { CheckpointReader } from "./checkpoint-reader.ts";
import {
  addressOf,
  checkConfig,
  checkId,
  checkListOptions,
  checkPrune,
  checkpointIdOf,
  configOf,
  type Namespace,
  namespaceOf,
  requiredAddress,
} from "./configurable.ts";
import { hasMetadata, type ListedCheckpoint, listedCheckpoints, merged } from "./listed-checkpoints.ts";
import { type PrunedThread, pruneThread } from "./thread-pruning.ts";
import { ThreadRegistry } from "./thread-registry.ts";

/** Options of ScrollbackSaver. */
export interface ScrollbackSaverOptions {
  /**
   * The storage of checkpoints: a store factory of any backend, without `maxMessages`. With `ttlMs` the checkpoints of a namespace
   * expire that long after the last write to it. The factory stays open.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The prefix of the thread ids. Savers with different prefixes have separate checkpoints. Default: `"langgraph"`. */
  readonly prefix?: string;
  /** Converts values to bytes and back. Default: LangGraph's `JsonPlusSerializer`. */
  readonly serde?: SerializerProtocol;
  /**
   * What `put` does with a checkpoint whose parent is not the newest one, because another turn of the thread has written since:
   * `"fork"` (default) stores it as a branch, as LangGraph's savers do, so the turn that writes last hides the other one; `"reject"`
   * throws `CONFLICT`, and the run fails. To go back to an older checkpoint, use a saver with `"fork"`.
   */
  readonly staleWriter?: "fork" | "reject";
}

/** Options of `ScrollbackSaver.prune`: at least one of `keep` and `olderThanMs`. */
export interface PruneOptions {
  /** Default: all threads. */
  readonly threadId?: string;
  /**
   * The number of newest checkpoints that stay in each namespace whatever their age, at least 1. Default with `olderThanMs`: 1. Not in
   * those of calls of subgraphs whose checkpoint is dropped.
   */
  readonly keep?: number;
  /** Drops only checkpoints that were created longer ago than this, in milliseconds, by the clock of their writer. Default: of any age. */
  readonly olderThanMs?: number;
}

/** The logs whose end is cached, so that a write needs no read: their number, and the size of their values in characters. */
const CACHE = { logs: 256, size: 64 * 1_024 ** 2 };

/**
 * A LangGraph checkpointer on the stores of any Scrollback backend. Any number of processes and savers may share a store.
 *
 * Rejects with the `StoreError`s of the stores: `INVALID_ARGUMENT` for an invalid id, and for a value that LangGraph's serializer
 * cannot serialize, such as a BigInt, before any I/O; `CORRUPT` if a stored value is missing.
 *
 * @example
 * const checkpointer = new ScrollbackSaver({ stores: await openStores("redis://localhost") });
 * const graph = builder.compile({ checkpointer });
 */
export class ScrollbackSaver extends BaseCheckpointSaver {
  readonly #stores: StoreFactory;
  readonly #registry: ThreadRegistry;
  readonly #reader: CheckpointReader;
  readonly #rejectsStale: boolean;
  readonly #logs = new Map<string, CheckpointLog>();

  /**
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim.
   */
  constructor(options: ScrollbackSaverOptions) {
    const checks = {
      stores: isStoreFactory("checkpoints"),
      prefix: isId,
      serde: hasMethods("dumpsTyped", "loadsTyped"),
      staleWriter: isOneOf("fork", "reject"),
    };
    checkOptions("ScrollbackSaver", options, checks, ["stores"]);
    const { stores, prefix = "langgraph", serde, staleWriter = "fork" } = options;
    super(serde);
    this.#rejectsStale = staleWriter === "reject";
    this.#stores = stores.withTraits(chatMessageTraits);
    this.#registry = new ThreadRegistry(this.#stores, prefix);
    this.#reader = new CheckpointReader(this);
  }

  /**
   * Returns the checkpoint with the id of the config, or the latest one: the one with the highest id. Undefined if it does not
   * exist.
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const address = addressOf("getTuple", config);
    if (!address) return undefined;
    const log = this.#log(address);
    const content = await log.content(address.checkpointId);
    this.#trimCache();
    if (!content || content.checkpoint.isAncestor) return undefined;
    return await this.#reader.tuple(address, log, content);
  }

  /**
   * Yields checkpoints, highest id first. Without a namespace in the config, lists all namespaces; without a thread, all threads.
   * `filter` compares values of the metadata deeply.
   */
  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    checkConfig("list", config);
    checkListOptions(options);
    const { limit = Number.POSITIVE_INFINITY, before, filter = {} } = options;
    const end = before && checkpointIdOf("list", before);
    let left = limit;
    if (left <= 0) return;
    for await (const { namespace, checkpoint, content } of merged(await this.#lists(config))) {
      if (end !== undefined && checkpoint.id >= end) continue;
      if (!(await hasMetadata(filter, () => this.#reader.metadata(checkpoint)))) continue;
      const found = await content();
      if (!found) continue;
      yield await this.#reader.tuple(namespace, this.#log(namespace), found);
      left -= 1;
      if (left === 0) break;
    }
  }

  /**
   * Stores a checkpoint with the values of the channels in `newVersions`. The other values come from its parent, the checkpoint
   * of the config. Readers see the checkpoint either completely or not at all.
   *
   * @throws StoreError `CONFLICT` with `staleWriter: "reject"`, see there; and if a `DeltaChannel` needs the writes of a parent that was
   *   deleted or pruned since, or has expired.
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { checkpointId: parentId, ...namespace } = requiredAddress("put", config);
    checkId("put: checkpoint.id", checkpoint.id);
    const rejectsStale = this.#rejectsStale;
    const writer = new CheckpointWriter(this.serde, {
      checkpoint,
      metadata,
      newVersions,
      parentId,
      rejectsStale,
    });
    const prepared = await writer.prepare();
    await this.#log(namespace).append((log) => writer.addition(log, prepared));
    this.#trimCache();
    if (writer.refusal !== undefined) throw refused(namespace.threadId, writer.refusal);
    return configOf({ ...namespace, checkpointId: checkpoint.id });
  }

  /** Stores the writes of a task atomically. The call may precede the checkpoint and may be repeated. */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { checkpointId, ...namespace } = requiredAddress("putWrites", config);
    if (checkpointId === undefined) invalid("putWrites: configurable.checkpoint_id is missing");
    checkId("putWrites: taskId", taskId);
    const encoded = await encodeWrites(this.serde, writes);
    if (encoded.length === 0) return;
    const task = { checkpointId, taskId, taskPath };
    await this.#log(namespace).append(async (log) =>
      writesAddition(log.end, task, encoded, await log.find(checkpointId)),
    );
  }

  /**
   * Drops old checkpoints with their pending writes, of one thread or of all, in each namespace. Keeps the newest ones, and what those
   * need: the ancestors whose writes make up the value of a `DeltaChannel`. Deletes the namespaces of calls of subgraphs that belong to
   * dropped checkpoints. Each namespace is one commit, at most 64 MiB are kept in it.
   *
   * @returns the number of dropped checkpoints.
   */
  async prune(options: PruneOptions): Promise<number> {
    checkPrune(options);
    const { threadId: only, keep = 1, olderThanMs } = options;
    // Without an age, those that were created in this millisecond, or by a clock that is ahead, are dropped too.
    const before = olderThanMs === undefined ? Number.POSITIVE_INFINITY : Date.now() - olderThanMs;
    let dropped = 0;
    for await (const threadId of only === undefined ? this.#registry.threads() : [only]) {
      const name = (namespace: string) => this.#registry.log(threadId, namespace);
      const thread: PrunedThread = {
        namespaces: await this.#registry.namespaces(threadId),
        reader: this.#reader,
        log: (namespace) => this.#log({ threadId, namespace }),
        removeLog: (namespace, expectedRevision) =>
          this.#stores.deleteThread(name(namespace), { expectedRevision }),
        unregister: (namespaces) => this.#registry.unregister(threadId, namespaces),
      };
      dropped += await pruneThread(thread, { keep, before });
    }
    return dropped;
  }

  /** Deletes all checkpoints and writes of a thread, in all namespaces. Can be repeated after a failure. */
  override async deleteThread(threadId: string): Promise<void> {
    checkId("deleteThread: threadId", threadId);
    const remove = async (namespace: string) => {
      const name = this.#registry.log(threadId, namespace);
      await this.#log({ threadId, namespace }).delete(() => this.#stores.deleteThread(name));
      this.#logs.delete(name);
    };
    await this.#registry.remove(threadId, remove);
  }

  /** Implements LangGraph's specification, in one pass over the log. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0) return {};
    const address = addressOf("getDeltaChannelHistory", config);
    const log = address && this.#log(address);
    const id = address?.checkpointId ?? (await log?.content())?.checkpoint.id;
    if (!log || id === undefined)
      return Object.fromEntries(channels.map((channel) => [channel, { writes: [] }]));
    return await retried(() => this.#reader.history(log, id, channels));
  }

  /** The lists of the namespaces of a config. */
  async #lists(config: RunnableConfig): Promise<AsyncGenerator<ListedCheckpoint, void>[]> {
    const address = addressOf("list", config);
    const only = namespaceOf("list", config);
    const id = checkpointIdOf("list", config);
    const lists: AsyncGenerator<ListedCheckpoint, void>[] = [];
    for await (const threadId of address ? [address.threadId] : this.#registry.threads())
      for (const namespace of only === undefined ? await this.#registry.namespaces(threadId) : [only])
        lists.push(listedCheckpoints({ threadId, namespace }, this.#log({ threadId, namespace }), id));
    return lists;
  }

  #log({ threadId, namespace }: Namespace): CheckpointLog {
    const name = this.#registry.log(threadId, namespace);
    const log =
      this.#logs.get(name) ??
      new CheckpointLog(this.#stores.open(name), this.#registry.registration(threadId, namespace));
    this.#logs.delete(name);
    this.#logs.set(name, log);
    return log;
  }

  /** Forgets the logs that were not used for the longest time. */
  #trimCache(): void {
    let size = 0;
    for (const log of this.#logs.values()) size += log.size;
    for (const [name, log] of this.#logs) {
      if (this.#logs.size <= CACHE.logs && size <= CACHE.size) return;
      this.#logs.delete(name);
      size -= log.size;
    }
  }
}

function refused(threadId: string, reason: string): StoreError {
  return new StoreError(
    "CONFLICT",
    `put: the checkpoint of thread "${threadId}" is refused: ${reason}; run the turn again`,
  );
}
