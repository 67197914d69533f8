import { randomFillSync, randomUUID } from "node:crypto";
import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isFunction,
  isId,
  isOneOf,
  isPositiveInteger,
  isSignal,
  isTtl,
} from "./arguments.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Codec, encodeText, jsonCodec } from "./codec.ts";
import { Connection } from "./connection.ts";
import { type CopyThreadOptions, copyChecks, copyThread, type ThreadCopy } from "./copy-thread.ts";
import { digestOf } from "./digest.ts";
import { type CommitRequest, type Driver, formatRevision } from "./driver.ts";
import { newEpoch } from "./epoch.ts";
import { revisionConflict, type StoreError } from "./errors.ts";
import {
  iterateThreads,
  type ListThreadsOptions,
  listThreads,
  type ThreadInfo,
  type ThreadList,
} from "./list-threads.ts";
import { type ChatMessage, chatMessageTraits, type MessageTraits } from "./message.ts";
import { checkNodeVersion } from "./node-version.ts";
import { offerSpans } from "./opentelemetry.ts";
import { isRevision, PortableStore } from "./portable-store.ts";
import { formatMetadataRecord } from "./record.ts";
import { parseState, type StoreSettings } from "./state.ts";
import type { MessageStore, WriteOptions } from "./store.ts";
import type { Trimming } from "./trimming.ts";

checkNodeVersion();

/** What {@link StoreFactory.deleteThread} takes. */
export type DeleteThreadOptions = Pick<WriteOptions, "expectedRevision" | "signal">;

/** The options that every backend's factory takes. */
export interface StoreOptions<M = ChatMessage> {
  /** After any write a thread holds at most so many messages. A whole number from 1 on. Default: unlimited. */
  maxMessages?: number;
  /** How a thread is cut to `maxMessages`. Default `"turns"`. */
  trimming?: Trimming;
  /** A thread expires so many milliseconds after its last write. A whole number from 1 to 36,500 days. Default: never. */
  ttlMs?: number;
  /** How messages and metadata become text: {@link jsonCodec} (the default), `gzipCodec`, `aesGcmCodec`, or your own. */
  codec?: Codec;
  /** What the library asks of a message. Default {@link chatMessageTraits}, for {@link ChatMessage}; other messages need theirs. */
  traits?: MessageTraits<M>;
  /** Called with the `CORRUPT` error of each record that cannot be read, which is then skipped. Default: reads throw it. */
  onCorruptRecord?: (error: StoreError) => void;
}

/**
 * Makes `traits` required where messages are no {@link ChatMessage}. What an adapter's factory takes beside its options.
 *
 * @example
 * export function createMyStores<M = ChatMessage>(options: MyOptions<M> & TraitsOption<M>): StoreFactory<M>;
 */
export type TraitsOption<M> = [M] extends [ChatMessage] ? unknown : { readonly traits: MessageTraits<M> };

/** A factory's {@link Connection}, for what takes two factories. */
const connections = new WeakMap<object, Connection<unknown>>();

/** One backend, all threads of one namespace, one connection. */
export interface StoreFactory<M = ChatMessage> extends AsyncDisposable {
  /** What the factory was given; absent where it was left out. Frozen. */
  readonly settings: Readonly<StoreSettings & { backend: string }>;
  /**
   * The store of a thread, without I/O. A thread id left out is generated (UUID v7). Thread ids are 1 to 1,024 bytes.
   *
   * @param settings win over the factory's, for this store.
   */
  open(threadId?: string, settings?: StoreSettings): MessageStore<M>;
  /** The store of a serialised state, without I/O. @throws StoreError `INVALID_STATE`, also for nothing. */
  restore(state: unknown): MessageStore<M>;
  /**
   * The same threads, settings and connection for messages of another type, without I/O. Closing one factory closes both.
   *
   * @throws StoreError `INVALID_ARGUMENT` for what are no traits.
   */
  withTraits<N>(traits: MessageTraits<N>): StoreFactory<N>;
  /**
   * How many bytes a value takes as a thread's metadata, encoded by the factory's codec; at most 256 KiB fit. No I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored, `TOO_LARGE` past a limit of the codec's own.
   */
  metadataSize(metadata: unknown): number;
  /**
   * One page of the factory's threads, in no particular order. A thread that is there during the whole listing is on at least
   * one page, perhaps on two; expired and deleted threads are on none. A page may be empty and have a cursor.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a cursor of another backend's listing; `CORRUPT` for a thread that cannot be
   *   read, which an `onCorruptRecord` is told of instead.
   */
  listThreads(options?: ListThreadsOptions): Promise<ThreadList>;
  /** The threads of all pages of {@link listThreads}, one after the other; reads a page when it is needed. */
  iterateThreads(options?: Omit<ListThreadsOptions, "cursor">): AsyncIterable<ThreadInfo>;
  /**
   * Deletes a thread for good, in one atomic step: its messages and metadata are gone from the backend when this returns, its
   * revision is `null`, and it is listed no more. What else was kept of it (its id, operation ids) goes within the time that
   * the backend's page states. A later write begins a new thread. A thread that is not there is no error.
   *
   * @throws StoreError `CONFLICT` where the thread is not at `expectedRevision`.
   * @example
   * await stores.deleteThread("chat-1");
   */
  deleteThread(threadId: string, options?: DeleteThreadOptions): Promise<void>;
  /**
   * Copies a thread: messages, their times, the thread's times and the metadata; in one atomic commit where they fit one, else
   * in several. The same call again goes on where one that failed has stopped, and nothing is doubled; after one that was
   * finished it does nothing. `maxMessages` is the target's, and so is `ttlMs` unless it is given. What is added to the source
   * meanwhile may be copied or not. A copy in several commits may show what was replaced meanwhile in part as it was before.
   *
   * @returns how many messages this call has copied, and the target's revision; `null` where there was nothing to copy.
   * @throws StoreError `CONFLICT` where the target has content that this copy did not write, and where the source was deleted,
   *   trimmed or cleared while it was copied in several commits, or is an unfinished copy itself; `INVALID_ARGUMENT` where
   *   `upTo` is no cursor of the source as it is now.
   * @example
   * await stores.copyThread("chat-1", "chat-1-branch", { upTo: page.newer });
   */
  copyThread(from: string, to: string, options?: CopyThreadOptions<M>): Promise<ThreadCopy>;
  /**
   * Makes what the backend needs (tables, indexes), and proves that the stores can work: the call by which a server's start
   * fails early. Sends at least one request each time where there is a backend to ask, and writes no message. Can run twice,
   * and at once from two processes. An outage is ridden out for 5 seconds.
   *
   * @throws StoreError `UNAVAILABLE` when nothing answers, or when a login, a permission, a database or a table is refused or
   *   missing: the message says which; `UNSUPPORTED` for a server or tables that the adapter cannot use.
   * @example
   * const stores = await openStores(process.env.DATABASE_URL);
   * await stores.setup();
   */
  setup(): Promise<void>;
  /** Frees what the factory opened; a client that was handed in stays open. Twice is the same as once. */
  close(): Promise<void>;
}

/** The checks of {@link StoreOptions}, for an adapter's own `checkOptions`. */
export const storeOptionChecks: Readonly<Record<keyof StoreOptions, Check>> = Object.freeze({
  maxMessages: isPositiveInteger,
  trimming: isOneOf("turns", "exact"),
  ttlMs: isTtl,
  codec: hasMethods("encode", "decode"),
  traits: hasMethods("role", "toolCalls", "toolResults"),
  onCorruptRecord: isFunction,
});

/**
 * Makes a factory of a driver. What every `create…Stores` of an adapter ends in; options beyond {@link StoreOptions} are
 * the adapter's and checked by it.
 *
 * @param how the clock that retries and pauses go by; for tests. Default: the system's.
 * @throws StoreError `INVALID_ARGUMENT` for a wrong option, `UNSUPPORTED` for one that the driver cannot honour.
 */
export function createStores<M = ChatMessage>(
  driver: Driver,
  options: StoreOptions<M> = {},
  { clock = systemClock }: { readonly clock?: Clock } = {},
): StoreFactory<M> {
  checkOptions("createStores", options, storeOptionChecks);
  const { maxMessages, trimming, ttlMs, codec = jsonCodec, onCorruptRecord } = options;
  const traits = options.traits ?? (chatMessageTraits as MessageTraits<unknown> as MessageTraits<M>);
  const given: StoreSettings = {
    ...(maxMessages !== undefined && { maxMessages }),
    ...(trimming !== undefined && { trimming }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  offerSpans();
  return factoryOf(new Connection<M>(driver, given, { codec, traits, onCorruptRecord, clock }));
}

function factoryOf<M>(connection: Connection<M>): StoreFactory<M> {
  const { driver, codec } = connection;
  const factory: StoreFactory<M> = {
    settings: Object.freeze({ backend: driver.capabilities.backend, ...connection.settingsFor({}) }),
    open(threadId = uuidV7(), settings = undefined) {
      checkOptions("open", settings, settingChecks);
      connection.assertOpen();
      checkThreadId("open", "threadId", threadId);
      return storeOf(connection, threadId, settings);
    },
    restore(state) {
      connection.assertOpen();
      const parsed = parseState(state, driver.capabilities.backend);
      const settings = connection.settingsFor(parsed);
      if (parsed.thread) driver.importThread?.(parsed.threadId, parsed.thread);
      return new PortableStore(connection, parsed.threadId, settings);
    },
    withTraits<N>(traits: MessageTraits<N>) {
      connection.assertOpen();
      const problem = storeOptionChecks.traits(traits);
      if (problem) invalid(`withTraits: traits ${problem}`);
      return factoryOf(connection.withTraits(traits));
    },
    metadataSize(metadata) {
      const write = { threadId: "size", operationId: "size", kind: "m", index: 0 } as const;
      return Buffer.byteLength(formatMetadataRecord(encodeText(codec, metadata, write)));
    },
    listThreads: (options = {}) => listThreads(connection, options),
    iterateThreads: (options = {}) => iterateThreads(connection, options),
    async deleteThread(threadId, options = {}) {
      connection.assertOpen();
      checkThreadId("deleteThread", "threadId", threadId);
      checkOptions("deleteThread", options, deleteChecks);
      const { expectedRevision, signal } = options;
      const request = { threadId, operationId: randomUUID(), expectedRevision, signal };
      const { outcome } = await connection.request(() => driver.delete(request), signal);
      if (outcome === "revision-conflict") throw revisionConflict();
    },
    async copyThread(from, to, options = {}) {
      connection.assertOpen();
      checkThreadId("copyThread", "from", from);
      checkThreadId("copyThread", "to", to);
      checkOptions("copyThread", options, copyChecks);
      const target = connections.get(options.target ?? factory) as Connection<M> | undefined;
      if (!target) return invalid("copyThread: target must be a store factory");
      target.assertOpen();
      if (from === to && target.driver === driver)
        invalid("copyThread: to must be another thread than from, or of another factory");
      const { ttlMs } = options;
      const copy = storeOf(target, to, ttlMs === undefined ? {} : { ttlMs });
      return await copyThread(storeOf(connection, from), copy, options);
    },
    setup: () =>
      connection.request(async () => {
        await driver.setup?.();
        await driver.commit(refusedCommit());
      }),
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  };
  connections.set(factory, connection as Connection<unknown>);
  return factory;
}

const { maxMessages, trimming, ttlMs } = storeOptionChecks;
const settingChecks = { maxMessages, trimming, ttlMs };
const deleteChecks = { expectedRevision: isRevision, signal: isSignal };

/** A thread's store. `settings` win over the factory's; those that are undefined count as left out. */
function storeOf<M>(
  connection: Connection<M>,
  threadId: string,
  settings: StoreSettings = {},
): PortableStore<M> {
  if (settings.ttlMs !== undefined) connection.assertExpiry();
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  return new PortableStore(connection, threadId, { ...connection.settingsFor({}), ...given });
}

function checkThreadId(caller: string, name: string, threadId: unknown): void {
  const problem = isId(threadId);
  if (problem) invalid(`${caller}: ${name} ${problem}`);
}

/** A commit that takes all the way to the backend and is refused there: it expects a revision that no thread is at. */
function refusedCommit(): CommitRequest {
  const id = uuidV7();
  const epoch = newEpoch();
  return {
    threadId: id,
    operationId: id,
    digest: digestOf("all", [], undefined),
    newEpoch: epoch,
    expectedRevision: formatRevision(epoch, 1),
    drop: "all",
    append: [],
    metadata: undefined,
    maxMessages: undefined,
    trimming: "turns",
    ttlMs: undefined,
    createdAt: 0,
    updatedAt: 0,
    signal: undefined,
  };
}

/** A UUID of version 7: 48 bits of time in milliseconds, then 74 random bits (RFC 9562, section 5.7). */
function uuidV7(): string {
  const bytes = randomFillSync(Buffer.alloc(16));
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
