import { setImmediate as otherEvents } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type EntryIndex,
  type ErrorClassification,
  type ListRequest,
  MAX_VALUE_BYTES,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { pause, systemClock, untilAborted } from "@scrollback/store-core/internal";
import { withoutBusyTimeout } from "./busy-timeout.ts";
import { commitThread } from "./commit.ts";
import { classifySqliteError, isBusy, rowsLeft } from "./errors.ts";
import { listThreads } from "./list.ts";
import { connect, type OpenDatabase, prepareDatabase } from "./open-database.ts";
import { pathOf, type SqliteSource } from "./options.ts";
import { readThread } from "./read.ts";
import { deleteThread, sweepExpired } from "./remove.ts";

/** The time for which a verb retries while the database is locked. The message of `SQLITE_BUSY` in errors.ts contains it. */
const BUSY_DEADLINE_MS = 10_000;
/**
 * The longest pause before a verb retries. SQLite does not queue writers: beside one that writes continuously, the file is free for
 * a small part of the time, and an attempt takes microseconds. With pauses of 25 ms, one of two such writers waited for 1.5 s.
 */
const BUSY_PAUSE_MS = 2;
/**
 * After this number of calls other events of the process get a turn. No call waits for I/O, so a loop of awaited calls would keep
 * timers, sockets and signals waiting until it ends.
 */
const CALLS_AT_ONCE = 64;
/** The number of messages that a deletion, or a clear of an expired thread, removes in one step of some milliseconds. */
const SWEPT_AT_ONCE = 1_000;
/** The time for which a clear or a deletion tries to empty the write-ahead log. Any active reader prevents this. */
const EMPTY_LOG_DEADLINE_MS = 1_000;

/**
 * The driver for one SQLite database. A verb is one synchronous transaction: verbs of one process never overlap, and SQLite's
 * locks order those of several processes. The connection has no busy timeout: if the database is locked, a verb retries
 * after a pause and does not block the event loop. Writes are queued, so that only the first one retries.
 */
export class SqliteDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget;
  readonly #source: SqliteSource;
  readonly #tablePrefix: string;
  readonly #makesTables: boolean;
  #opening: Promise<OpenDatabase> | undefined;
  #closed = false;
  /** Resolves when the last queued write has finished. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** The number of calls so far. */
  #calls = 0;

  /** @param makesTables whether any call creates a missing file and missing tables, or `setup()` alone. */
  constructor(source: SqliteSource, tablePrefix: string, makesTables = true) {
    this.#source = source;
    // A database in memory is always new.
    this.#makesTables = makesTables || pathOf(source) === null;
    this.#tablePrefix = tablePrefix;
    // The path may contain a person's name, so it is left out.
    this.target = { collection: `${tablePrefix}messages` };
    this.capabilities = Object.freeze({
      backend: "sqlite",
      maxMessageBytes: 16 * 1024 ** 2,
      maxCommitBytes: 64 * 1024 ** 2,
      maxCommitMessages: Number.MAX_SAFE_INTEGER,
      sharing: pathOf(source) === null ? "driver" : "machine",
      expiry: true,
      trimmedWithinCommits: 0,
      deletedWithinMs: 0,
      index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }),
      roundTrips: Object.freeze({ commit: 0, read: 0 }),
    });
  }

  readonly index: EntryIndex = {
    insertEntry: (request) => this.#write(({ entries }) => entries.insert(request), request.signal),
    updateEntry: (request) => this.#write(({ entries }) => entries.update(request), request.signal),
    removeEntry: async (request) => {
      const isFound = await this.#write(({ entries }) => entries.remove(request), request.signal);
      // Also of an expired one, which counts as missing.
      await this.#emptyLog();
      return isFound;
    },
    entriesOf: (request) => this.#read(({ entries }) => entries.ofKey(request), request.signal),
    listEntries: (request) => this.#read(({ entries }) => entries.list(request), request.signal),
    listIndexes: (request) => this.#read(({ entries }) => entries.names(request), request.signal),
  };

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    // Only the first attempt skips the look-up of the operation: a failed attempt may have committed it.
    const outcome = await this.#write(
      ({ statements }, attempt) =>
        commitThread(statements, request, attempt === 0 && request.isNewOperation === true),
      request.signal,
    );
    if (request.drop === "all" && request.append.length === 0) await this.#removeContent();
    return outcome;
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    return await this.#read(({ statements }) => readThread(statements, request), request.signal);
  }

  async delete(request: DeleteRequest): Promise<DeleteOutcome> {
    const outcome = await this.#write(
      ({ statements }) => deleteThread(statements, request, SWEPT_AT_ONCE),
      request.signal,
    );
    if (outcome.outcome === "deleted") await this.#removeContent();
    return outcome;
  }

  async list(request: ListRequest): Promise<ThreadListing> {
    return await this.#read(({ statements }) => listThreads(statements, request), request.signal);
  }

  async setup(): Promise<void> {
    // Another call may be finding that the tables are missing.
    await this.#opening?.catch(() => undefined);
    await this.#open(true);
    // No thread has the key 0. SQLite rejects the DELETE if it cannot write, but would not reject an empty transaction.
    await this.#write(({ statements }) => statements.deleteThread(0));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#opening;
    this.#opening = undefined;
    if ("connection" in this.#source) return;
    const open = await opening?.catch(() => undefined);
    open?.connection.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifySqliteError(error);
  }

  #open(makes = this.#makesTables): Promise<OpenDatabase> {
    this.#opening ??= this.#connect(makes).catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(makes: boolean): Promise<OpenDatabase> {
    this.#assertOpen();
    const connection = connect(this.#source, makes);
    const withoutTimeout = withoutBusyTimeout(connection);
    try {
      return await this.#whenFree(
        () =>
          withoutTimeout(() =>
            prepareDatabase(connection, withoutTimeout, this.#source, this.#tablePrefix, makes),
          ),
        performance.now() + BUSY_DEADLINE_MS,
      );
    } catch (error) {
      if ("path" in this.#source) connection.close();
      throw error;
    }
  }

  /** Runs a step in a read transaction. */
  async #read<T>(step: (open: OpenDatabase) => T, signal: AbortSignal | undefined): Promise<T> {
    const open = await (this.#opening ?? this.#open());
    const deadline = performance.now() + BUSY_DEADLINE_MS;
    return await this.#whenFree(() => open.transactions.run("read", () => step(open)), deadline, signal);
  }

  /** Runs a step in a write transaction, after all earlier writes. @param step receives the number of earlier attempts. */
  async #write<T>(step: (open: OpenDatabase, attempt: number) => T, signal?: AbortSignal): Promise<T> {
    const open = await (this.#opening ?? this.#open());
    const deadline = performance.now() + BUSY_DEADLINE_MS;
    const result = this.#lastTurn.then(() =>
      this.#whenFree(
        (attempt) => open.transactions.run("write", () => step(open, attempt)),
        deadline,
        signal,
      ),
    );
    this.#lastTurn = result.catch(() => undefined);
    return await result;
  }

  /** @param step receives the number of earlier attempts. */
  async #whenFree<T>(step: (attempt: number) => T, deadline: number, signal?: AbortSignal): Promise<T> {
    this.#calls += 1;
    if (this.#calls % CALLS_AT_ONCE === 0) await otherEvents();
    for (let attempt = 0; ; attempt++) {
      this.#assertOpen();
      signal?.throwIfAborted();
      try {
        return step(attempt);
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw error;
      }
      await untilAborted(() => systemClock.sleep(BUSY_PAUSE_MS, signal), signal);
    }
  }

  /**
   * Removes content that a clear or a deletion leaves behind: rows of an expired or deleted thread, and removed content in the
   * write-ahead log.
   *
   * @throws StoreError `UNAVAILABLE` if rows are left. Later commits and deletions remove them.
   */
  async #removeContent(): Promise<void> {
    try {
      while (await this.#write(({ statements }) => sweepExpired(statements, 0, SWEPT_AT_ONCE)))
        await otherEvents();
    } catch (error) {
      throw rowsLeft(error);
    }
    await this.#emptyLog();
  }

  /**
   * Removes what the write-ahead log has, which is also in the file until the log is copied to it. That the log cannot be emptied is not
   * reported: a later checkpoint empties it.
   */
  async #emptyLog(): Promise<void> {
    // None after `close`.
    const open = await this.#opening;
    const deadline = performance.now() + EMPTY_LOG_DEADLINE_MS;
    while (open && !this.#closed && performance.now() < deadline) {
      try {
        if (open.withoutTimeout(open.statements.emptyLog)?.[0] === 0) return;
      } catch {
        return;
      }
      await pause(0);
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError("CLOSED", "the store factory was closed; create a new one");
  }
}
