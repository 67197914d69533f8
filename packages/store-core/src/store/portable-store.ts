// Exceeds 300 lines because it implements every method of the protocol once, for all backends.
import { observed, recordSize, retried } from "#diagnostics";
import { byteLength } from "#runtime";
import { type Check, checkOptions, invalid, isCount, isId, isSignal, isString, isTtl } from "../arguments.ts";
import { jsonCodec } from "../codec/codec.ts";
import { digestOf, OWN_OPERATION_DIGEST } from "../codec/digest.ts";
import { decodeMessage, isRecordTime, type MessageRecord, type ThreadEntry } from "../codec/record.ts";
import type { MessageKind } from "../codec/record-location.ts";
import { type CommitRequest, REPEATED_WITHIN_MS, type ThreadView } from "../driver/driver.ts";
import {
  boundsAt,
  type CursorRange,
  formatCursor,
  newIncarnation,
  parseCursor,
  type Revision,
} from "../driver/revision.ts";
import { revisionConflict, StoreError } from "../errors.ts";
import { kindOf } from "../message/chat-message-traits.ts";
import { randomId } from "../random.ts";
import { retryOnConflict, untilAborted } from "../retry.ts";
import type { StoreCall } from "./observation.ts";
import { isNoState, parseState, type StoreSettings, type StoreState } from "./state.ts";
import type { Change, ExpireOptions, MessageStore, ReadOptions, ThreadPage, WriteOptions } from "./store.ts";
import type { StoreContext } from "./store-context.ts";
import { trimmedView } from "./trimmed-view.ts";

const MAX_METADATA_BYTES = 256 * 1024;
/** Pauses stop growing after this attempt, because the other writers of this factory wait meanwhile. */
const LONGEST_PAUSE = 2;
/** The maximum number of UTF-8 bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;
const NO_MESSAGES = "(the messages) must be an array of messages";

const changeChecks = {
  drop: (value: unknown) =>
    value === "all" || isCount(value) === undefined ? undefined : `must be "all" or an integer of 0 or more`,
  append: (value: unknown) => (Array.isArray(value) ? undefined : NO_MESSAGES),
  metadata: () => undefined,
};

/** Checks the argument of `commit`. The other methods make their changes themselves. */
function checkChange(change: unknown): void {
  if (typeof change !== "object" || change === null) invalid("commit: the change must be an object");
  checkOptions("commit", change, changeChecks);
}

/** The valid values of `expectedRevision`. */
export const isRevision: Check = (value) =>
  value === null || isString(value) === undefined
    ? undefined
    : "must be a revision that this thread had, or null";
const expireChecks = { expectedRevision: isRevision, signal: isSignal };
const writeChecks = { ...expireChecks, operationId: isId, createdAt: isRecordTime };
const listChecks = { limit: isCount, signal: isSignal };
const readChecks = { ...listChecks, before: isString, after: isString };
const popChecks = { signal: isSignal };

interface ReadRange extends CursorRange {
  readonly limit: number;
  readonly metadata: boolean;
}

/** The times of a commit that imports messages. */
export interface ImportTimes {
  /** One for each message. */
  readonly messages: readonly number[];
  /** The thread's, if the commit begins it. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Options of a commit that only store-core uses. */
interface CommitDetails {
  /** The thread that the caller read. Default: the store's current thread. */
  readonly threadId?: string;
  /** Default: all of the write's `createdAt`. */
  readonly times?: ImportTimes;
  /** The expiry; undefined: never. Default: the store's. With it, an empty change makes a commit too. */
  readonly expiry?: { readonly ttlMs: number | undefined };
  /** Commits with this operation id count as the same change, regardless of their content. */
  readonly operationId?: string;
  /** Whether other commits wait for this one, so that it must not wait for them. */
  readonly isAlone?: boolean;
  /** Called if the commit was made before: in this incarnation of the thread, or in a deleted one. */
  readonly onRepeated?: () => void;
}

/**
 * The {@link MessageStore} of every backend. Handles argument checks, codec, cursors, state, retries, cancellation and
 * the closed state; a driver does the rest. Created by `open` and `restore` of a factory.
 */
export class PortableStore<M> implements MessageStore<M> {
  readonly #context: StoreContext<M>;
  #threadId: string;
  #settings: StoreSettings;
  #closed = false;

  constructor(context: StoreContext<M>, threadId: string, settings: StoreSettings) {
    this.#context = context;
    this.#threadId = threadId;
    this.#settings = settings;
  }

  get threadId(): string {
    return this.#threadId;
  }

  // The methods that write return the promise of #commit directly: another promise would cost each write a microtask.
  addMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null> {
    // Not undefined, which would mean no messages.
    return this.#commit("addMessages", { append: messages ?? null }, options);
  }

  replaceMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null> {
    return this.#commit("replaceMessages", { drop: "all", append: messages ?? null }, options);
  }

  clear(options?: WriteOptions): Promise<Revision | null> {
    return this.#commit("clear", { drop: "all", metadata: null }, options);
  }

  commit(change: Change<M>, options?: WriteOptions): Promise<Revision | null> {
    return this.#commit("commit", change, options);
  }

  async listMessages(options: { limit?: number; signal?: AbortSignal } = {}): Promise<M[]> {
    this.#assertOpen();
    checkOptions("listMessages", options, listChecks);
    const { limit = Number.POSITIVE_INFINITY, signal } = options;
    if (limit === 0) return [];
    const threadId = this.#threadId;
    const range = { limit, before: undefined, after: undefined, metadata: false };
    return await observed("read", "listMessages", this.#context.driver, threadId, async (call) => {
      const view = await this.#read(threadId, range, signal, call);
      return this.#decode(threadId, view, (message) => message);
    });
  }

  async read(options: ReadOptions = {}): Promise<ThreadPage<M>> {
    this.#assertOpen();
    checkOptions("read", options, readChecks);
    const { limit = Number.POSITIVE_INFINITY, signal } = options;
    if (options.before !== undefined && options.after !== undefined)
      invalid("read: give before or after, not both");
    const before = options.before === undefined ? undefined : parseCursor("read: before", options.before);
    const after = options.after === undefined ? undefined : parseCursor("read: after", options.after);
    const threadId = this.#threadId;
    return await observed("read", "read", this.#context.driver, threadId, async (call) => {
      const range = { limit, before, after, metadata: true };
      const view = await this.#read(threadId, range, signal, call);
      return this.#pageOf(threadId, view, range);
    });
  }

  async popMessage(options: { signal?: AbortSignal } = {}): Promise<M | undefined> {
    this.#assertOpen();
    checkOptions("popMessage", options, popChecks);
    const { signal } = options;
    const threadId = this.#threadId;
    const newest = { limit: 1, before: undefined, after: undefined, metadata: false };
    return await this.#whileLost(threadId, signal, async (isAlone) => {
      const found = await observed("read", "popMessage", this.#context.driver, threadId, async (call) => {
        const { entries, revision } = await this.#read(threadId, newest, signal, call);
        const [entry] = entries;
        if (!entry) return undefined;
        const message = decodeMessage(this.#context.codec, entry, threadId, entry.sequence) as M;
        return { message, revision };
      });
      if (!found) return undefined;
      const expectedRevision = found.revision;
      await this.#commit("popMessage", { drop: 1 }, { expectedRevision, ...options }, { threadId, isAlone });
      return found.message;
    });
  }

  async expire(ttlMs: number | null, options: ExpireOptions = {}): Promise<Revision | null> {
    this.#assertOpen();
    const problem = ttlMs === null ? undefined : isTtl(ttlMs);
    if (problem) invalid(`expire: ttlMs ${problem}, or null`);
    checkOptions("expire", options, expireChecks);
    const { expectedRevision, signal } = options;
    const threadId = this.#threadId;
    const expiry = { ttlMs: ttlMs ?? undefined };
    if (ttlMs !== null) this.#context.assertExpiry();
    const compareAndSet = async (isAlone: boolean) => {
      const revision = await observed("read", "expire", this.#context.driver, threadId, (call) =>
        this.#revision(threadId, expectedRevision, signal, call),
      );
      if (revision === null) return null;
      const write = { expectedRevision: revision, ...(signal && { signal }) };
      return await this.#commit("expire", {}, write, { threadId, expiry, isAlone });
    };
    if (expectedRevision !== undefined) return await compareAndSet(false);
    return await this.#whileLost(threadId, signal, compareAndSet);
  }

  /** A commit of {@link copyThread}: messages with their own times, under an operation id that identifies the copy. */
  importMessages(
    change: Change<M>,
    options: WriteOptions & { times: ImportTimes; onRepeated?: () => void },
  ): Promise<Revision | null> {
    const { times, operationId, onRepeated, ...rest } = options;
    const isEmpty = !change.append?.length && change.metadata === undefined;
    return this.#commit("copyThread", isEmpty ? { ...change, metadata: null } : change, rest, {
      times,
      ...(operationId !== undefined && { operationId }),
      ...(onRepeated && { onRepeated }),
    });
  }

  async serialize(): Promise<StoreState> {
    this.#assertOpen();
    const { driver } = this.#context;
    const { maxMessages, trimming, ttlMs } = this.#settings;
    const thread = driver.exportThread?.(this.#threadId);
    return {
      type: "scrollback.store",
      version: 1,
      backend: driver.capabilities.backend,
      threadId: this.#threadId,
      ...(maxMessages !== undefined && { maxMessages }),
      ...(trimming !== undefined && { trimming }),
      ...(ttlMs !== undefined && { ttlMs }),
      ...(thread !== undefined && { thread }),
    };
  }

  async updateFromState(state: unknown): Promise<void> {
    this.#assertOpen();
    if (isNoState(state)) return;
    const parsed = parseState(state, this.#context.driver.capabilities.backend);
    this.#settings = this.#context.settingsFor(parsed);
    if (parsed.thread) this.#context.driver.importThread?.(parsed.threadId, parsed.thread);
    this.#threadId = parsed.threadId;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError("CLOSED", "this store was disposed; open the thread again");
    this.#context.assertOpen();
  }

  /**
   * Runs a read and a compare-and-set that depends on it, and retries when another writer committed in between. During
   * retries the other writers of this factory wait: a read plus a commit could never overtake their single commits.
   */
  async #whileLost<T>(
    threadId: string,
    signal: AbortSignal | undefined,
    compareAndSet: (isAlone: boolean) => Promise<T>,
  ): Promise<T> {
    try {
      return await compareAndSet(false);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
    const retries = { longestPause: LONGEST_PAUSE, signal, clock: this.#context.clock };
    const again = () => retryOnConflict(() => compareAndSet(true), retries);
    return await this.#context.alone(threadId, again, signal);
  }

  async #commit(
    caller: StoreCall["method"],
    change: Change<M>,
    given?: WriteOptions,
    details: CommitDetails = {},
  ): Promise<Revision | null> {
    this.#assertOpen();
    if (caller === "commit") checkChange(change);
    else if (change.append !== undefined && !Array.isArray(change.append))
      invalid(`${caller}: append ${NO_MESSAGES}`);
    if (given !== undefined) checkOptions(caller, given, writeChecks);
    const options = given ?? {};
    const { threadId = this.#threadId, times, expiry } = details;
    const operationId = options.operationId ?? details.operationId ?? randomId();
    const { expectedRevision, createdAt = this.#context.now(), signal } = options;
    const { drop = 0, append: messages = [] } = change;
    const append = this.#encodeMessages(messages, times?.messages ?? createdAt, threadId, operationId);
    const metadata =
      change.metadata == null
        ? (change.metadata as null | undefined)
        : this.#encodeMetadata(change.metadata, threadId, operationId);
    this.#checkSize(append, metadata);
    if (drop === 0 && append.length === 0 && metadata === undefined && !expiry) {
      return await observed("read", caller, this.#context.driver, threadId, (call) =>
        this.#revision(threadId, expectedRevision, signal, call),
      );
    }
    const isOwnId = options.operationId === undefined;
    let digest = OWN_OPERATION_DIGEST;
    if (!isOwnId) {
      // A write that is repeated later is the same. JSON does not depend on the time.
      const isTimeless = this.#context.codec === jsonCodec;
      const timeless = isTimeless ? append : this.#encodeMessages(messages, 0, threadId, operationId);
      digest = digestOf(drop, timeless, metadata);
    }
    const { maxMessages, trimming = "turns" } = this.#settings;
    const { ttlMs } = expiry ?? this.#settings;
    const { driver, clock } = this.#context;
    let isNewOperation = isOwnId && details.operationId === undefined;
    let sendBefore: number | undefined;
    const attempt = () => {
      this.#assertOpen();
      const request: CommitRequest = {
        threadId,
        operationId,
        digest,
        isNewOperation,
        // A new incarnation for each attempt: the thread may have expired since the last one.
        newIncarnation: newIncarnation(),
        expectedRevision,
        drop,
        append,
        metadata,
        maxMessages,
        trimming,
        ttlMs,
        createdAt: times?.createdAt ?? createdAt,
        updatedAt: times?.updatedAt ?? createdAt,
        sendBefore,
        signal,
      };
      isNewOperation = false;
      sendBefore ??= clock.monotonic() + REPEATED_WITHIN_MS;
      return driver.commit(request);
    };
    return await observed("commit", caller, this.#context.driver, threadId, async (call) => {
      if (call) recordSize(call, append, metadata);
      const turn = details.isAlone ? undefined : this.#context.writers.get(threadId);
      if (turn) await untilAborted(() => turn, signal);
      const outcome = await this.#context.request(attempt, signal, call && ((error) => retried(call, error)));
      if (outcome.outcome === "repeated") details.onRepeated?.();
      if (outcome.outcome === "committed" || outcome.outcome === "repeated") return outcome.revision;
      throw outcome.outcome === "revision-conflict" ? revisionConflict() : operationConflict(operationId);
    });
  }

  async #revision(
    threadId: string,
    expected: Revision | null | undefined,
    signal: AbortSignal | undefined,
    call: StoreCall | undefined,
  ): Promise<Revision | null> {
    const nothing = { threadId, limit: 0, before: undefined, after: undefined, metadata: false, signal };
    const read = () => {
      this.#assertOpen();
      return this.#context.driver.read(nothing);
    };
    const { revision } = await this.#context.request(read, signal, call && ((error) => retried(call, error)));
    if (expected !== undefined && expected !== revision) throw revisionConflict();
    return revision;
  }

  /** @param createdAt the time of all messages, or one for each. */
  #encodeMessages(
    messages: readonly M[],
    createdAt: number | readonly number[],
    threadId: string,
    operationId: string,
  ): MessageRecord[] {
    const { traits, codec } = this.#context;
    const records: MessageRecord[] = [];
    // Not messages.map, which would skip holes.
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index] as M;
      const time = typeof createdAt === "number" ? createdAt : (createdAt[index] as number);
      let kind: MessageKind | undefined;
      try {
        const problem = traits.check?.(message);
        if (problem) invalid(problem);
        if (Object(message) !== message || Array.isArray(message)) invalid("must be an object");
        kind = kindOf(message, traits);
        const write = { threadId, operationId, kind, index, createdAt: time };
        records.push({ kind, createdAt: time, text: codec.encode(message, write) });
      } catch (cause) {
        throw refused(`messages[${index}]`, kind === undefined ? "traits" : "codec", cause);
      }
    }
    return records;
  }

  #encodeMetadata(metadata: unknown, threadId: string, operationId: string): string {
    const write = { threadId, operationId, kind: "m", index: 0 } as const;
    try {
      return this.#context.codec.encode(metadata, write);
    } catch (cause) {
      throw refused("metadata", "codec", cause);
    }
  }

  #checkSize(append: readonly MessageRecord[], metadata: string | null | undefined): void {
    const { maxMessageBytes, maxCommitBytes, maxCommitMessages } = this.#context.driver.capabilities;
    if (append.length > maxCommitMessages) {
      throw new StoreError(
        "TOO_LARGE",
        `messages: ${append.length} in one commit, at most ${maxCommitMessages} fit; add them in several commits`,
      );
    }
    const metadataUnits = metadata?.length ?? 0;
    let units = metadataUnits;
    let largest = 0;
    for (const { text } of append) {
      units += text.length;
      if (text.length > largest) largest = text.length;
    }
    // Bytes are counted only if they may exceed the limit.
    if (
      metadataUnits * MAX_BYTES_PER_UNIT > MAX_METADATA_BYTES ||
      largest * MAX_BYTES_PER_UNIT > maxMessageBytes ||
      units * MAX_BYTES_PER_UNIT > maxCommitBytes
    ) {
      this.#countBytes(append, metadata);
    }
  }

  #countBytes(append: readonly MessageRecord[], metadata: string | null | undefined): void {
    const { maxMessageBytes, maxCommitBytes } = this.#context.driver.capabilities;
    const tooLarge = (name: string, bytes: number, limit: number) => {
      throw new StoreError("TOO_LARGE", `${name}: ${bytes} bytes encoded, at most ${limit} fit`);
    };
    const metadataBytes = metadata ? byteLength(metadata) : 0;
    if (metadataBytes > MAX_METADATA_BYTES) tooLarge("metadata", metadataBytes, MAX_METADATA_BYTES);
    let total = metadataBytes;
    append.forEach(({ text }, index) => {
      const bytes = byteLength(text);
      if (bytes > maxMessageBytes) tooLarge(`messages[${index}]`, bytes, maxMessageBytes);
      total += bytes;
    });
    if (total > maxCommitBytes) tooLarge("the messages of one commit", total, maxCommitBytes);
  }

  async #read(
    threadId: string,
    range: ReadRange,
    signal: AbortSignal | undefined,
    call: StoreCall | undefined,
  ): Promise<ThreadView> {
    const { driver } = this.#context;
    const { maxMessages, trimming = "turns" } = this.#settings;
    const { limit, metadata } = range;
    const read = async () => {
      this.#assertOpen();
      const bounds = { before: range.before?.sequence, after: range.after?.sequence };
      let view = await driver.read({ threadId, limit, ...bounds, metadata, signal });
      if (range.before || range.after) {
        const { before, after } = boundsAt(view.revision, range);
        if (before !== bounds.before || after !== bounds.after) {
          signal?.throwIfAborted();
          view = await driver.read({ threadId, limit, before, after, metadata, signal });
        }
      }
      if (maxMessages === undefined || view.count <= maxMessages) return view;
      return await trimmedView(driver, threadId, view, range, { maxMessages, trimming }, signal);
    };
    const view = await this.#context.request(read, signal, call && ((error) => retried(call, error)));
    if (call) recordSize(call, view.entries, view.metadata);
    return view;
  }

  #pageOf(threadId: string, view: ThreadView, range: CursorRange): ThreadPage<M> {
    const { revision } = view;
    const { count, createdAt, updatedAt, expiresAt, metadata } = view;
    const entries = this.#decode(threadId, view, (message, { sequence, createdAt }) => ({
      sequence,
      createdAt,
      message,
    }));
    const page: ThreadPage<M> = {
      ...{ entries, revision, count },
      ...(metadata !== undefined && this.#context.metadataOf(metadata, threadId)),
    };
    if (revision === null) return page;
    Object.assign(page, { createdAt, updatedAt, ...(expiresAt !== undefined && { expiresAt }) });
    if (count === 0) return page;
    let [start, end] = [view.entries[0]?.sequence, view.entries.at(-1)?.sequence];
    if (start === undefined || end === undefined) {
      // The position of an empty page: after `after`, before `before`, or at the end.
      const { before = view.last + 1, after } = boundsAt(revision, range);
      start = after === undefined ? before : after + 1;
      end = start - 1;
    }
    if (view.first < start) page.older = formatCursor(revision, start);
    page.newer = formatCursor(revision, end);
    return page;
  }

  #decode<T>(threadId: string, view: ThreadView, toResult: (message: M, entry: ThreadEntry) => T): T[] {
    const results: T[] = [];
    const { codec } = this.#context;
    for (const entry of view.entries) {
      try {
        const message = decodeMessage(codec, entry, threadId, entry.sequence) as M;
        results.push(toResult(message, entry));
      } catch (error) {
        this.#context.reportCorrupt(error);
      }
    }
    return results;
  }
}

/** The error for a value that the traits or the codec refused. @param name of the value. */
function refused(name: string, by: "traits" | "codec", cause: unknown): StoreError {
  const problem = StoreError.is(cause) ? cause.message : `was refused by the ${by}`;
  const isTooLarge = by === "codec" && StoreError.is(cause, "TOO_LARGE");
  return new StoreError(isTooLarge ? "TOO_LARGE" : "INVALID_ARGUMENT", `${name}: ${problem}`, { cause });
}

function operationConflict(operationId: string): StoreError {
  return new StoreError(
    "CONFLICT",
    `operationId: "${operationId}" was used for another change of this thread; use a new id for each change`,
  );
}
