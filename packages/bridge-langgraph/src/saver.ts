import { isDeepStrictEqual } from "node:util";
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
import { chatMessageTraits, type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid, isId, isOneOf } from "@scrollback/store-core/driver";
import { CheckpointLog } from "./checkpoint-log.ts";
import { CheckpointReader, type FoundCheckpoint } from "./checkpoint-reader.ts";
import { CheckpointWriter, NO_PARENT } from "./checkpoint-writer.ts";
import {
  addressOf,
  type CheckpointAddress,
  checkConfig,
  checkpointIdOf,
  checkThreadId,
  configOf,
  namespaceOf,
  requiredAddress,
} from "./configurable.ts";
import type { CheckpointEntry } from "./log-entry.ts";
import { merge } from "./merge.ts";
import { ThreadNames } from "./names.ts";
import { checkStores } from "./options.ts";
import { addWrites, encodeWrites } from "./pending-writes.ts";
import { checkDeltaOptions, checkListOptions, checkPut, checkPutWrites } from "./saver-arguments.ts";
import { ThreadRegistry } from "./thread-registry.ts";

/** The number of logs whose state is cached, so that a write needs no read. */
const CACHE_SIZE = 256;
/** The number of checkpoints that a list reads concurrently. */
const AT_ONCE = 8;

/** Options of {@link ScrollbackSaver}. */
export interface ScrollbackSaverOptions {
  /** The storage of checkpoints: a store factory of any backend, without `maxMessages` and `ttlMs`. The factory stays open. */
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
export class ScrollbackSaver extends BaseCheckpointSaver implements AsyncDisposable {
  readonly #stores: StoreFactory;
  readonly #names: ThreadNames;
  readonly #registry: ThreadRegistry;
  readonly #reader: CheckpointReader;
  readonly #rejectsStale: boolean;
  readonly #logs = new Map<string, CheckpointLog>();

  /**
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim or expire; `UNSUPPORTED` for a backend
   *   without an index.
   */
  constructor(options: ScrollbackSaverOptions) {
    checkOptions("ScrollbackSaver", options ?? null, {
      stores: hasMethods("withTraits"),
      prefix: isId,
      serde: hasMethods("dumpsTyped", "loadsTyped"),
      staleWriter: isOneOf("fork", "reject"),
    });
    const { stores, prefix = "langgraph", serde, staleWriter = "fork" } = options;
    checkStores("ScrollbackSaver", stores);
    super(serde);
    this.#rejectsStale = staleWriter === "reject";
    this.#stores = stores.withTraits(chatMessageTraits);
    this.#names = new ThreadNames(prefix);
    this.#registry = new ThreadRegistry(this.#stores, this.#names);
    this.#reader = new CheckpointReader(this, (namespace, key) => this.#attachments(namespace, key));
  }

  /**
   * Returns the checkpoint with the id of the config, or the latest one: the one with the highest id. Undefined if it does not
   * exist.
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const address = addressOf("getTuple", config);
    if (!address) return undefined;
    const entry = await this.#entry(address);
    const [tuple] = entry ? await this.#reader.tuples([{ address, entry }]) : [];
    return tuple;
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
    const sources = await this.#sources(config);
    const compare = (a: FoundCheckpoint, b: FoundCheckpoint) =>
      a.entry.id < b.entry.id ? 1 : a.entry.id > b.entry.id ? -1 : 0;
    let batch: FoundCheckpoint[] = [];
    let left = limit;
    if (left <= 0) return;
    for await (const listed of merge(sources, compare)) {
      if (end !== undefined && listed.entry.id >= end) continue;
      if (!(await this.#matches(listed.entry, filter))) continue;
      batch.push(listed);
      left -= 1;
      if (left === 0) break;
      if (batch.length < AT_ONCE) continue;
      yield* await this.#reader.tuples(batch);
      batch = [];
    }
    yield* await this.#reader.tuples(batch);
  }

  /**
   * Stores a checkpoint with the values of the channels in `newVersions`. The other values come from its parent, the checkpoint
   * of the config. Readers see the checkpoint either completely or not at all.
   *
   * @throws StoreError `CONFLICT` with `staleWriter: "reject"`, see there.
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { checkpointId: parentId, ...namespace } = requiredAddress("put", config);
    checkPut(checkpoint, newVersions);
    const open = (key: string) => this.#attachments(namespace, key);
    const rejectsStale = this.#rejectsStale;
    const added = { checkpoint, metadata, newVersions, parentId, rejectsStale };
    const writer = new CheckpointWriter(this.serde, open, added);
    const prepared = await writer.prepare();
    await this.#log(namespace).append((log) => writer.entry(log, prepared));
    if (writer.isStale) throw staleError(namespace.threadId);
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
    checkPutWrites(writes, taskId, taskPath);
    const encoded = await encodeWrites(this.serde, writes);
    if (encoded.length === 0) return;
    const log = this.#log(namespace);
    if (!log.knows(checkpointId)) {
      await log.append(async ({ find }) =>
        (await find(checkpointId)) ? undefined : { kind: "keys", keys: [checkpointId] },
      );
    }
    await addWrites(this.#attachments(namespace, checkpointId), taskId, taskPath, encoded);
    // Another process may have deleted the thread before the writes were stored.
    await log.ensure(checkpointId);
  }

  /** Deletes all checkpoints and writes of a thread, in all namespaces. Can be repeated after a failure. */
  override async deleteThread(threadId: string): Promise<void> {
    checkThreadId("deleteThread", threadId, "threadId");
    const remove = async (namespace: string) => {
      const name = this.#names.log(threadId, namespace);
      await this.#log({ threadId, namespace }).delete({
        keys: [NO_PARENT],
        deleteAttachments: (key) =>
          this.#stores.deleteThread(this.#names.attachments(threadId, namespace, key)),
        deleteLog: (expectedRevision) => this.#stores.deleteThread(name, { expectedRevision }),
      });
      this.#logs.delete(name);
    };
    await this.#registry.remove(threadId, remove);
  }

  /** Implements LangGraph's specification, in one pass over the log. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    checkDeltaOptions(options);
    const { config, channels } = options;
    if (channels.length === 0) return {};
    const address = addressOf("getDeltaChannelHistory", config);
    const entry = address && (await this.#entry(address));
    if (!entry) return Object.fromEntries(channels.map((channel) => [channel, { writes: [] }]));
    return await this.#reader.history(address, this.#log(address).ancestors(entry), channels);
  }

  /** Returns when no background work is pending. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#registry.flush();
  }

  /** The same as {@link ScrollbackSaver.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  async #entry({ checkpointId, ...namespace }: CheckpointAddress): Promise<CheckpointEntry | undefined> {
    const log = this.#log(namespace);
    return checkpointId === undefined ? await log.newest() : await log.find(checkpointId);
  }

  /** The logs that a list reads. */
  async #sources(config: RunnableConfig): Promise<AsyncIterable<FoundCheckpoint>[]> {
    const address = addressOf("list", config);
    const namespace = namespaceOf("list", config);
    const id = checkpointIdOf("list", config);
    const sources: AsyncIterable<FoundCheckpoint>[] = [];
    for await (const threadId of address ? [address.threadId] : this.#registry.threads()) {
      const isListed = address === undefined;
      const namespaces =
        namespace === undefined ? await this.#registry.namespaces(threadId, { isListed }) : [namespace];
      for (const one of namespaces) sources.push(this.#listed({ threadId, namespace: one }, id));
    }
    return sources;
  }

  async *#listed(
    address: FoundCheckpoint["address"],
    id: string | undefined,
  ): AsyncGenerator<FoundCheckpoint> {
    const log = this.#log(address);
    if (id === undefined) {
      for await (const entry of log.entries()) yield { address, entry };
      return;
    }
    const entry = await log.find(id);
    if (entry) yield { address, entry };
  }

  async #matches(entry: CheckpointEntry, filter: Record<string, unknown>): Promise<boolean> {
    const wanted = Object.entries(filter);
    if (wanted.length === 0) return true;
    const metadata: Record<string, unknown> = { ...(await this.#reader.metadata(entry)) };
    return wanted.every(([key, value]) => isDeepStrictEqual(metadata[key], value));
  }

  #log({ threadId, namespace }: FoundCheckpoint["address"]): CheckpointLog {
    const name = this.#names.log(threadId, namespace);
    const log =
      this.#logs.get(name) ??
      new CheckpointLog(this.#stores.open(name), this.#registry.registration(threadId, namespace));
    this.#logs.delete(name);
    this.#logs.set(name, log);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > CACHE_SIZE && oldest !== undefined) this.#logs.delete(oldest);
    return log;
  }

  #attachments({ threadId, namespace }: FoundCheckpoint["address"], key: string): MessageStore {
    return this.#stores.open(this.#names.attachments(threadId, namespace, key));
  }
}

function staleError(threadId: string): StoreError {
  return new StoreError(
    "CONFLICT",
    `put: another turn of thread "${threadId}" has written a checkpoint since this one began; run the turn again`,
  );
}
