import { envelope, parseMetadata, valueOf as valueOfEnvelope } from "@scrollback/collections";
import {
  type ChatMessage,
  type Cursor,
  type MessageStore,
  pause,
  type Revision,
  StoreError,
} from "@scrollback/store-core";
import { type CheckpointEntry, keysOf, type LogEntry } from "./log-entry.ts";

/** The number of entries that a search reads first. It reads four times as many each further time. */
const FIRST_PAGE = { newest: 2, search: 8 };
const LARGEST_PAGE = 256;
const MAX_ATTEMPTS = 20;
/** The number of keys that are remembered of writes without their checkpoint. */
const REMEMBERED_KEYS = 64;
/** The maximum number of keys in one message; this many fit at any length. */
const KEYS_PER_MESSAGE = 1_000;

/** The metadata of a log's thread. */
interface Format {
  readonly version: 1;
  /** A checkpoint was written after one with a higher id: the order of the log is not that of the ids. */
  readonly isUnsorted?: true;
}

/** What is known of the end of a log, at one revision. */
interface Tail {
  readonly revision: Revision | null;
  readonly highestId: string | undefined;
  readonly format: Format | undefined;
  /** The newest checkpoint and others that were looked up last, by id. */
  readonly recent: ReadonlyMap<string, CheckpointEntry>;
  /** Keys that this process has written to the log. */
  readonly keys: ReadonlySet<string>;
}

/** The log as a writer sees it. No other writer comes between this look and the commit. */
export interface LogView {
  /** Whether nothing is in the log. */
  readonly isEmpty: boolean;
  find(id: string): Promise<CheckpointEntry | undefined>;
  /** See {@link CheckpointLog.entries}. */
  entries(): AsyncIterable<CheckpointEntry>;
}

/** The options of {@link CheckpointLog.delete}. */
export interface LogDeletion {
  /** Names of attachments that every log may have. */
  readonly keys: readonly string[];
  deleteAttachments(key: string): Promise<void>;
  deleteLog(revision: Revision): Promise<void>;
}

/**
 * The checkpoints of one namespace: a thread with a message for each. Readers get them by descending id. A writer commits by
 * compare-and-set on what it knows of the log's end, so that in the steady state a write is one request.
 */
export class CheckpointLog {
  readonly #store: MessageStore;
  #tail: Tail | undefined;
  /** The writes of this process, one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(store: MessageStore) {
    this.#store = store;
  }

  /** The checkpoint with the highest id. */
  async newest(): Promise<CheckpointEntry | undefined> {
    for await (const entry of this.entries(FIRST_PAGE.newest)) return entry;
    return undefined;
  }

  /** The checkpoint with this id. Reads the log backwards from its end. */
  async find(id: string): Promise<CheckpointEntry | undefined> {
    for await (const entry of this.entries(FIRST_PAGE.search)) {
      if (entry.id === id) return this.#remember(entry);
      if (entry.id < id) return undefined;
    }
    return undefined;
  }

  /** Whether this process knows without a request that the log has this checkpoint or its key. */
  knows(id: string): boolean {
    return this.#tail?.recent.has(id) === true || this.#tail?.keys.has(id) === true;
  }

  /** The parent of a checkpoint, its parent, and so on. */
  async *ancestors(entry: CheckpointEntry): AsyncGenerator<CheckpointEntry> {
    let wanted = entry.parentId;
    for await (const other of this.entries()) {
      if (wanted === undefined || other.id < wanted) break;
      if (other.id !== wanted) continue;
      yield other;
      wanted = other.parentId;
    }
    // A parent with a higher id than its child was passed by.
    const passed = wanted === undefined ? undefined : await this.find(wanted);
    if (!passed) return;
    yield passed;
    yield* this.ancestors(passed);
  }

  /** The checkpoints, highest id first; of several with one id the one that was written last. */
  async *entries(firstPage = FIRST_PAGE.search): AsyncGenerator<CheckpointEntry> {
    let last: CheckpointEntry | undefined;
    for await (const entry of this.#descending(firstPage)) {
      if (entry.id !== last?.id) yield entry;
      last = entry;
    }
  }

  /**
   * Appends what `build` returns. `build` is called again where another process has written to the log meanwhile.
   *
   * @throws what `build` throws; nothing is written then. StoreError `CONFLICT` where others kept writing.
   */
  async append(build: (log: LogView) => Promise<LogEntry | undefined>): Promise<void> {
    await this.#exclusively(async () => {
      for (let attempt = 0; ; attempt++) {
        const tail = this.#tail ?? (await this.#readTail());
        try {
          const entry = await build({
            isEmpty: tail.revision === null,
            find: async (id) => tail.recent.get(id) ?? (await this.find(id)),
            entries: () => this.entries(),
          });
          if (entry) await this.#commit(tail, entry);
          return;
        } catch (error) {
          this.#tail = undefined;
          if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
        }
        await pause(Math.min(attempt, 3));
      }
    });
  }

  /**
   * Deletes the log and what belongs to it. Its checkpoints are gone in one commit, which leaves the names of their
   * attachments, so that the rest can be done by the next call where the process dies.
   */
  async delete({ keys: others, deleteAttachments, deleteLog }: LogDeletion): Promise<void> {
    await this.#exclusively(async () => {
      this.#tail = undefined;
      for (let attempt = 0; ; attempt++) {
        try {
          const { revision, keys, hasCheckpoints } = await this.#readKeys(others);
          const isWhole = revision !== null && hasCheckpoints;
          const left = isWhole ? await this.#leaveKeys(revision, keys) : revision;
          for (let start = 0; start < keys.length; start += 16)
            await Promise.all(keys.slice(start, start + 16).map(deleteAttachments));
          if (left !== null) await deleteLog(left);
          return;
        } catch (error) {
          if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
        }
        await pause(Math.min(attempt, 3));
      }
    });
  }

  async #exclusively<T>(write: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(write);
    this.#writing = done.catch(() => undefined);
    return await done;
  }

  async #commit(tail: Tail, entry: LogEntry): Promise<void> {
    const isCheckpoint = entry.kind === "checkpoint";
    const isLower = isCheckpoint && tail.highestId !== undefined && entry.id < tail.highestId;
    const format: Format = { version: 1, ...((isLower || tail.format?.isUnsorted) && { isUnsorted: true }) };
    const isSame = tail.format !== undefined && tail.format.isUnsorted === format.isUnsorted;
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

  /** A look at the end of the log, which is then what this process knows of it. */
  async #readTail(): Promise<Tail> {
    this.#tail = undefined;
    await this.newest();
    return (
      this.#tail ?? {
        ...{ revision: null, format: undefined, highestId: undefined },
        ...{ recent: new Map(), keys: new Set() },
      }
    );
  }

  async *#descending(firstPage: number): AsyncGenerator<CheckpointEntry> {
    let start: Pick<Tail, "revision" | "format"> | undefined;
    const all: CheckpointEntry[] = [];
    const begin = (first: CheckpointEntry | undefined) => {
      if (!start) return;
      const recent = new Map(first && [[first.id, first]]);
      if (this.#tail?.revision !== start.revision)
        this.#tail = { ...start, highestId: first?.id, recent, keys: new Set() };
    };
    let isFirst = true;
    for await (const { messages, revision, metadata } of this.#pages(firstPage)) {
      start ??= { revision, format: parseMetadata<Format>(this.#store.threadId, metadata, owner) };
      for (const message of messages.reverse()) {
        const entry = valueOfEnvelope<LogEntry>(message);
        if (entry.kind !== "checkpoint") continue;
        if (start.format?.isUnsorted) {
          all.push(entry);
          continue;
        }
        if (isFirst) begin(entry);
        isFirst = false;
        yield entry;
      }
    }
    // The sort is stable: of two entries with one id the one that was written last comes first.
    const sorted = all.sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
    if (isFirst) begin(sorted[0]);
    yield* sorted;
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

  async #readKeys(
    others: readonly string[],
  ): Promise<{ revision: Revision | null; keys: string[]; hasCheckpoints: boolean }> {
    const keys = new Set(others);
    let hasCheckpoints = false;
    let first: Revision | null | undefined;
    for await (const { messages, revision } of this.#pages(LARGEST_PAGE)) {
      if (first === undefined) first = revision;
      for (const message of messages) {
        const entry = valueOfEnvelope<LogEntry>(message);
        hasCheckpoints ||= entry.kind === "checkpoint";
        for (const key of keysOf(entry)) keys.add(key);
      }
    }
    return { revision: first ?? null, keys: [...keys], hasCheckpoints };
  }

  /** Replaces the checkpoints by the names of their attachments. */
  async #leaveKeys(expectedRevision: Revision, keys: readonly string[]): Promise<Revision> {
    const append: ChatMessage[] = [];
    for (let start = 0; start < keys.length; start += KEYS_PER_MESSAGE)
      append.push(envelope("user", { kind: "keys", keys: keys.slice(start, start + KEYS_PER_MESSAGE) }));
    return String(await this.#store.commit({ drop: "all", append }, { expectedRevision }));
  }

  #remember(entry: CheckpointEntry): CheckpointEntry {
    if (this.#tail && !this.#tail.recent.has(entry.id)) {
      const recent = new Map([[entry.id, entry], ...[...this.#tail.recent].slice(-1)]);
      this.#tail = { ...this.#tail, recent };
    }
    return entry;
  }
}

const owner = { package: "@scrollback/bridge-langgraph", kind: "checkpoint log" };
