import { envelope, parseMetadata, valueOf as valueOfEnvelope } from "@scrollback/collections";
import type { ChatMessage, Cursor, MessageStore, Revision } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import { type CheckpointEntry, keysOf, type LogEntry } from "./log-entry.ts";
import type { LogFormat, LogTail } from "./log-tail.ts";
import { retried } from "./retried.ts";

/** The number of entries of the first read. Each further read requests four times as many. */
const FIRST_PAGE = { newest: 2, search: 8 };
const LARGEST_PAGE = 256;
/** The number of remembered keys of writes without their checkpoint. */
const REMEMBERED_KEYS = 64;
/** The maximum number of keys in one message. This many fit, independent of their length. */
const KEYS_PER_MESSAGE = 1_000;

/** A writer's view of the log. No other writer commits between this view and the commit. */
export interface LogView {
  /** The highest id of a checkpoint. Undefined for an empty log. */
  readonly newestId: string | undefined;
  find(id: string): Promise<CheckpointEntry | undefined>;
  /** See {@link CheckpointLog.entries}. */
  entries(): AsyncIterable<CheckpointEntry>;
}

/** Registers a log, so that a deletion finds it. Both methods reject with `CONFLICT` if other writers win too often. */
export interface LogRegistration {
  /** Called before the log is created. */
  add(): Promise<void>;
  /** Called between the creation of the log and its first entry. Must change the revision of the registration. */
  confirm(): Promise<void>;
}

/** The options of {@link CheckpointLog.delete}. */
export interface LogDeletion {
  /** Names of attachments that every log may have. */
  readonly keys: readonly string[];
  deleteAttachments(key: string): Promise<void>;
  deleteLog(revision: Revision): Promise<void>;
}

/**
 * The checkpoints of one namespace: a thread with one message per checkpoint. Readers get them by descending id. A writer commits
 * by compare-and-set on its cached end of the log, so a write usually takes one request.
 */
export class CheckpointLog {
  readonly #store: MessageStore;
  readonly #registration: LogRegistration;
  #tail: LogTail | undefined;
  /** The writes of this process, one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(store: MessageStore, registration: LogRegistration) {
    this.#store = store;
    this.#registration = registration;
  }

  /** Returns the checkpoint with the highest id. */
  async newest(): Promise<CheckpointEntry | undefined> {
    for await (const entry of this.entries(FIRST_PAGE.newest)) return entry;
    return undefined;
  }

  /** Returns the checkpoint with this id. Reads the log backwards from its end. */
  async find(id: string): Promise<CheckpointEntry | undefined> {
    for await (const { entry, revision } of this.#descending(FIRST_PAGE.search)) {
      if (entry.id === id) return this.#remember(entry, revision);
      if (entry.id < id) return undefined;
    }
    return undefined;
  }

  /** Whether the log has this checkpoint or its key, according to this process's cache. Sends no request. */
  knows(id: string): boolean {
    return this.#tail?.recent.has(id) === true || this.#tail?.keys.has(id) === true;
  }

  /** Yields the parent of a checkpoint, then its parent, and so on. */
  async *ancestors(entry: CheckpointEntry): AsyncGenerator<CheckpointEntry> {
    let wanted = entry.parentId;
    for await (const other of this.entries()) {
      if (wanted === undefined || other.id < wanted) break;
      if (other.id !== wanted) continue;
      yield other;
      wanted = other.parentId;
    }
    // The loop has skipped a parent with a higher id than its child.
    const passed = wanted === undefined ? undefined : await this.find(wanted);
    if (!passed) return;
    yield passed;
    yield* this.ancestors(passed);
  }

  /** Yields the checkpoints, highest id first. Of several with one id, yields the last one that was written. */
  async *entries(firstPage = FIRST_PAGE.search): AsyncGenerator<CheckpointEntry> {
    let last: CheckpointEntry | undefined;
    for await (const { entry } of this.#descending(firstPage)) {
      if (entry.id !== last?.id) yield entry;
      last = entry;
    }
  }

  /**
   * Appends the entry that `build` returns. Calls `build` again if another process has written to the log meanwhile.
   *
   * @throws the error of `build`; nothing is written then. StoreError `CONFLICT` if other writers win too often.
   */
  async append(build: (log: LogView) => Promise<LogEntry | undefined>): Promise<void> {
    await this.#exclusively(() =>
      retried(async () => {
        try {
          const tail = await this.#confirmed(this.#tail ?? (await this.#readTail()));
          const entry = await build({
            newestId: tail.highestId,
            find: async (id) => tail.recent.get(id) ?? (await this.find(id)),
            entries: () => this.entries(),
          });
          if (entry) await this.#commit(tail, entry);
        } catch (error) {
          this.#tail = undefined;
          throw error;
        }
      }),
    );
  }

  /**
   * Ensures that the log has this checkpoint or its key, and adds the key if it has neither. The check uses a state of the log
   * that is not older than this call.
   */
  async ensure(id: string): Promise<void> {
    const isKnown = await this.#exclusively(async () => {
      const { revision } = await this.#store.read({ limit: 1 });
      return this.#tail?.revision === revision && this.knows(id);
    });
    if (isKnown || (await this.find(id))) return;
    await this.append(async () => ({ kind: "keys", keys: [id] }));
  }

  /**
   * Deletes the log and its attachments. One commit removes the checkpoints and leaves the names of their attachments, so that
   * the next call can complete the deletion if the process dies.
   */
  async delete({ keys: others, deleteAttachments, deleteLog }: LogDeletion): Promise<void> {
    await this.#exclusively(async () => {
      this.#tail = undefined;
      await retried(async () => {
        const { revision, keys } = await this.#readKeys(others);
        // Also changes a log without checkpoints: a writer of attachments must notice that their deletion has begun.
        const left = revision === null ? null : await this.#leaveKeys(revision, keys);
        for (let start = 0; start < keys.length; start += 16)
          await Promise.all(keys.slice(start, start + 16).map(deleteAttachments));
        if (left !== null) await deleteLog(left);
      });
    });
  }

  async #exclusively<T>(write: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(write);
    this.#writing = done.catch(() => undefined);
    return await done;
  }

  /** Creates the log if it is missing. Its first entry is committed only to the revision from before `confirm`. */
  async #confirmed(tail: LogTail): Promise<LogTail> {
    if (tail.format && !tail.format.isUnconfirmed) return tail;
    await this.#registration.add();
    const format: LogFormat = { version: 1, isUnconfirmed: true };
    const revision =
      tail.revision ?? (await this.#store.commit({ metadata: format }, { expectedRevision: null }));
    await this.#registration.confirm();
    return { ...tail, revision, format };
  }

  async #commit(tail: LogTail, entry: LogEntry): Promise<void> {
    const isCheckpoint = entry.kind === "checkpoint";
    const isLower = isCheckpoint && tail.highestId !== undefined && entry.id < tail.highestId;
    const format: LogFormat = {
      version: 1,
      ...((isLower || tail.format?.isUnsorted) && { isUnsorted: true }),
    };
    const { isUnsorted, isUnconfirmed } = tail.format ?? { isUnconfirmed: true };
    const isSame = !isUnconfirmed && isUnsorted === format.isUnsorted;
    const revision = await this.#store.commit(
      { append: [envelope("user", entry)], ...(!isSame && { metadata: format }) },
      { expectedRevision: tail.revision },
    );
    const highestId = isCheckpoint && !isLower ? entry.id : tail.highestId;
    const recent = isCheckpoint ? new Map([...tail.recent].slice(-1)).set(entry.id, entry) : tail.recent;
    const keys = isCheckpoint
      ? tail.keys
      : new Set([...[...tail.keys].slice(-REMEMBERED_KEYS), ...entry.keys]);
    this.#tail = { revision, highestId, format, recent, keys };
  }

  /** Reads the end of the log and caches it. */
  async #readTail(): Promise<LogTail> {
    this.#tail = undefined;
    await this.newest();
    return (
      this.#tail ?? {
        ...{ revision: null, format: undefined, highestId: undefined },
        ...{ recent: new Map(), keys: new Set() },
      }
    );
  }

  /** Yields the checkpoints, and the revision at which the reading began. */
  async *#descending(
    firstPage: number,
  ): AsyncGenerator<{ entry: CheckpointEntry; revision: Revision | null }> {
    let start: Pick<LogTail, "revision" | "format"> | undefined;
    const all: CheckpointEntry[] = [];
    const begin = (first: CheckpointEntry | undefined) => {
      if (!start) return;
      const recent = new Map(first && [[first.id, first]]);
      if (this.#tail?.revision !== start.revision)
        this.#tail = { ...start, highestId: first?.id, recent, keys: new Set() };
    };
    let isFirst = true;
    for await (const { messages, revision, metadata } of this.#pages(firstPage)) {
      start ??= { revision, format: parseMetadata<LogFormat>(this.#store.threadId, metadata, owner) };
      for (const message of messages.reverse()) {
        const entry = valueOfEnvelope<LogEntry>(message, isObject);
        if (entry.kind !== "checkpoint") continue;
        if (start.format?.isUnsorted) {
          all.push(entry);
          continue;
        }
        if (isFirst) begin(entry);
        isFirst = false;
        yield { entry, revision: start.revision };
      }
    }
    // The sort is stable: of two entries with one id, the one that was written last comes first.
    const sorted = all.sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
    if (isFirst) begin(sorted[0]);
    const revision = start?.revision ?? null;
    for (const entry of sorted) yield { entry, revision };
  }

  async *#pages(
    firstPage: number,
  ): AsyncGenerator<{ messages: ChatMessage[]; revision: Revision | null; metadata?: unknown }> {
    let before: Cursor | undefined;
    let limit = firstPage;
    do {
      const page = await this.#store.read({ limit, ...(before !== undefined && { before }) });
      const { revision, metadata } = page;
      yield { messages: page.entries.map(({ message }) => message), revision, metadata };
      before = page.older;
      limit = Math.min(limit * 4, LARGEST_PAGE);
    } while (before !== undefined);
  }

  async #readKeys(others: readonly string[]): Promise<{ revision: Revision | null; keys: string[] }> {
    const keys = new Set(others);
    let first: Revision | null | undefined;
    for await (const { messages, revision } of this.#pages(LARGEST_PAGE)) {
      if (first === undefined) first = revision;
      for (const message of messages) {
        for (const key of keysOf(valueOfEnvelope<LogEntry>(message, isObject))) keys.add(key);
      }
    }
    return { revision: first ?? null, keys: [...keys] };
  }

  /** Replaces the checkpoints by the names of their attachments. */
  async #leaveKeys(expectedRevision: Revision, keys: readonly string[]): Promise<Revision> {
    const append: ChatMessage[] = [];
    for (let start = 0; start < keys.length; start += KEYS_PER_MESSAGE)
      append.push(envelope("user", { kind: "keys", keys: keys.slice(start, start + KEYS_PER_MESSAGE) }));
    return String(await this.#store.commit({ drop: "all", append }, { expectedRevision }));
  }

  #remember(entry: CheckpointEntry, revision: Revision | null): CheckpointEntry {
    if (this.#tail?.revision === revision && !this.#tail.recent.has(entry.id)) {
      const recent = new Map([[entry.id, entry], ...[...this.#tail.recent].slice(-1)]);
      this.#tail = { ...this.#tail, recent };
    }
    return entry;
  }
}

const owner = { package: "@scrollback/bridge-langgraph", kind: "checkpoint log" };
