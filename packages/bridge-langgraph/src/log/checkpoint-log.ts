import { isDeepStrictEqual } from "node:util";
import { envelope } from "@scrollback/collections";
import { type MessageStore, type Revision, StoreError } from "@scrollback/store-core";
import { retried } from "../retried.ts";
import {
  formatOf,
  type LogAddition,
  type LogFormat,
  type LogMessage,
  type PlacedMessage,
} from "./log-message.ts";
import {
  type CheckpointContent,
  checkpointsOf,
  type FoundCheckpoint,
  LARGEST_PAGE,
  LogReading,
  type LogState,
} from "./log-reading.ts";
import type { LogWindow } from "./log-window.ts";
import { pruned } from "./prune.ts";

/** The number of messages of the first read: of the newest checkpoint, and of one by its id. */
const FIRST_PAGE = { newest: 8, search: 16 };
/** The number of checkpoints whose messages and values are cached. */
const CACHED = 2;
/** The size of a commit that every backend accepts, in characters or bytes: one takes at most 16 MiB, and JSON six bytes for a character. */
const COMMIT = 2 * 1_024 ** 2;

/** When a thread expires, in milliseconds since 1970; undefined: never. */
export type Expiry = number | undefined;

/** Registers a log, so that a deletion finds it. */
export interface LogRegistration {
  /** Called before and after the creation of the log, before its first message, and when it is due. Returns its expiry. */
  register(): Promise<Expiry>;
  /** Whether a registration with this expiry may end before a log that is written now. */
  isDue(expiry: Expiry): boolean;
}

/**
 * The checkpoints of one namespace and their pending writes: the messages of a thread, in the order in which they were written. A
 * writer commits by compare-and-set on its cached end of the log, so a write usually takes one request; a read of the newest
 * checkpoint takes one, or two if its values refer to messages that are not cached.
 */
export class CheckpointLog {
  readonly #store: MessageStore;
  readonly #registration: LogRegistration;
  #cached: LogState | undefined;
  /** The writes of this process, one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(store: MessageStore, registration: LogRegistration) {
    this.#store = store;
    this.#registration = registration;
  }

  /** The approximate memory of the cache, in characters. */
  get size(): number {
    return this.#cached?.window.size ?? 0;
  }

  /** Returns the checkpoint with this id, or the one with the highest id. */
  async content(id?: string): Promise<CheckpointContent | undefined> {
    return await retried(async () => {
      const reading = await this.#read(id === undefined ? FIRST_PAGE.newest : FIRST_PAGE.search);
      const found = id === undefined ? await reading.newest() : await reading.find(id);
      return found && (await this.#content(reading, found));
    });
  }

  /** Yields the checkpoints, highest id first, each with the reading that found it. */
  async *checkpoints(): AsyncGenerator<readonly [found: FoundCheckpoint, reading: LogReading]> {
    let last: string | undefined;
    for (let isWhole = false; !isWhole; ) {
      const reading = await this.#read(FIRST_PAGE.search);
      try {
        for await (const found of reading.checkpoints()) {
          const { id } = found.checkpoint;
          if (last !== undefined && id >= last) continue;
          last = id;
          yield [found, reading];
        }
        isWhole = true;
      } catch (error) {
        // The log was replaced meanwhile: the rest is read from the new one.
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
    }
  }

  /** Yields a checkpoint, its parent, the parent of that, and so on, each with the reading that found it. */
  async *lineage(id: string): AsyncGenerator<readonly [found: FoundCheckpoint, reading: LogReading]> {
    const reading = await this.#read(FIRST_PAGE.search);
    for (let next: string | undefined = id; next !== undefined; ) {
      const found = await reading.find(next);
      if (found) yield [found, reading];
      next = found?.checkpoint.parentId;
    }
  }

  /**
   * Appends what `build` returns for the log as it is: no other writer commits between. Calls `build` again if another process has
   * written to the log meanwhile.
   *
   * @throws the error of `build`; nothing is written then. StoreError `CONFLICT` if other writers win too often.
   */
  async append(build: (log: LogReading) => Promise<LogAddition | undefined>): Promise<void> {
    await this.#exclusively(() =>
      retried(async () => {
        try {
          // What is decided by a cached state without a commit, which compares the revision, is decided again.
          if (!this.#cached || !(await this.#append(new LogReading(this.#store, this.#cached), build)))
            await this.#append(await this.#read(FIRST_PAGE.newest), build);
        } catch (error) {
          this.#cached = undefined;
          throw error;
        }
      }),
    );
  }

  /**
   * Drops checkpoints, their pending writes and all that nothing refers to any more, in one commit: a reader sees the log before or
   * after.
   *
   * @param select returns the checkpoints to keep, of all, highest id first; among them ancestors, which are dropped but stored.
   * @param remove deletes the log at this revision. Called if no checkpoint is kept.
   * @returns the number of dropped checkpoints.
   */
  async prune(
    select: (all: readonly FoundCheckpoint[]) => Promise<readonly FoundCheckpoint[]>,
    remove: (expectedRevision: Revision | null) => Promise<void>,
  ): Promise<number> {
    return await this.#exclusively(() =>
      retried(async () => {
        this.#cached = undefined;
        const reading = await this.#read(LARGEST_PAGE);
        const all = await reading.all();
        const kept = await select(all);
        const dropped = countOf(all) - countOf(kept);
        if (kept.length === all.length && dropped === 0) return 0;
        if (kept.length === 0) {
          await remove(reading.state.revision);
          return dropped;
        }
        const { messages, early } = pruned(reading.state.window, kept, all);
        // The commit lets the log live longer, so its registration must too.
        const { format, revision } = (await this.#registered(reading)).state;
        await this.#add(messages, 0, revision, {
          metadata: formatOf({ early, registeredUntil: format?.registeredUntil }),
          drop: "all",
        });
        return dropped;
      }),
    );
  }

  /** Runs a deletion of the log between the writes of this process. */
  async delete(deleteLog: () => Promise<void>): Promise<void> {
    await this.#exclusively(async () => {
      this.#cached = undefined;
      await deleteLog();
    });
  }

  async #exclusively<T>(write: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(write);
    this.#writing = done.catch(() => undefined);
    return await done;
  }

  async #read(limit: number): Promise<LogReading> {
    return await LogReading.begin(this.#store, limit, this.#cached);
  }

  async #content(reading: LogReading, found: FoundCheckpoint): Promise<CheckpointContent> {
    const content = await reading.content(found);
    const { window } = reading.state;
    if (found.position >= cachedFrom(window)) {
      for (const [channel, value] of content.values) window.remember(found.position, channel, value);
      this.#cache(reading.state);
    }
    return content;
  }

  /** Caches the end of the log. */
  #cache(state: LogState): void {
    const { window } = state;
    const low = cachedFrom(window);
    this.#cached = low > window.low ? { ...state, window: window.from(low), older: undefined } : state;
  }

  /** Returns whether something was added. */
  async #append(
    begun: LogReading,
    build: (log: LogReading) => Promise<LogAddition | undefined>,
  ): Promise<boolean> {
    const reading = await this.#registered(begun);
    const addition = await build(reading);
    if (addition) await this.#commit(reading, addition, begun.state.format);
    return addition !== undefined;
  }

  /** Creates the log if it is missing, and registers it if that is due. Its first message is committed only to the log as it was created. */
  async #registered(reading: LogReading): Promise<LogReading> {
    const { state } = reading;
    let { format, revision } = state;
    if (format && reading.end > 0 && !this.#registration.isDue(format.registeredUntil)) return reading;
    if (!format) {
      await this.#registration.register();
      format = formatOf({});
      revision = await this.#store.commit({ metadata: format }, { expectedRevision: null });
    }
    const registeredUntil = await this.#registration.register();
    const registered = formatOf({
      ...format,
      early: new Map(Object.entries(format.early ?? {})),
      registeredUntil,
    });
    return new LogReading(this.#store, { ...state, revision, format: registered });
  }

  async #commit(
    reading: LogReading,
    { parts, message, values = [], isEarly = false }: LogAddition,
    stored: LogFormat | undefined,
  ): Promise<void> {
    const { state } = reading;
    const early = new Map(Object.entries(state.format?.early ?? {}));
    if (message.kind === "checkpoint") early.delete(message.id);
    else if (isEarly && !early.has(message.checkpointId))
      early.set(message.checkpointId, reading.end + parts.length);
    const format = formatOf({ ...state.format, early });
    const isSame = isDeepStrictEqual(format, stored);
    let { revision } = state;
    let start = state.window.high;
    let messages: LogMessage[] = [];
    let size = 0;
    for (const part of parts) {
      if (size + part.data.length > COMMIT) {
        revision = await this.#add(messages, start, revision);
        start += messages.length;
        messages = [];
        size = 0;
      }
      messages.push(part);
      size += part.data.length;
    }
    revision = await this.#add([...messages, message], start, revision, isSame ? {} : { metadata: format });
    const window = state.window.withNewer([...parts, message]);
    for (const [channel, value] of values) window.remember(window.high - 1, channel, value);
    this.#cache({ ...state, revision, format, window });
  }

  /** @param start the position of the first of the messages. */
  async #add(
    messages: readonly LogMessage[],
    start: number,
    expectedRevision: Revision | null,
    rest: { readonly metadata?: LogFormat; readonly drop?: "all" } = {},
  ): Promise<Revision | null> {
    const placed = messages.map((message, index): PlacedMessage => ({ ...message, at: start + index }));
    const append = placed.map((message) => envelope("user", message));
    return await this.#store.commit({ ...rest, append }, { expectedRevision });
  }
}

/** The number of checkpoints that were not dropped. */
function countOf(found: readonly FoundCheckpoint[]): number {
  return found.filter(({ checkpoint }) => !checkpoint.isAncestor).length;
}

/** The position of the oldest checkpoint that is cached; the beginning of a window without so many. */
function cachedFrom(window: LogWindow): number {
  return checkpointsOf(window).at(CACHED - 1)?.position ?? window.low;
}
