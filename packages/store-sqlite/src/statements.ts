import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { MessageRecord, SequenceBounds, ThreadView, TrimSearch } from "@scrollback/store-core/driver";
import { damagedThread } from "./errors.ts";
import type { FileCheck } from "./file-check.ts";

/**
 * Returns the stored form of a text: the text itself, or its bytes if it contains a NUL character. Some supported versions of
 * Node end a text at the first NUL when they read it.
 */
export function toStored(text: string): string | Uint8Array {
  return text.includes("\0") ? Buffer.from(text) : text;
}

/** Returns the text of a stored value; empty if the value is not a text. */
export function fromStored(stored: SQLOutputValue | undefined): string {
  if (typeof stored === "string") return stored;
  return stored instanceof Uint8Array ? Buffer.from(stored).toString() : "";
}

/**
 * Prepares a statement with rows as objects, and with numbers, independent of the client's defaults. Each column that is read
 * by its name must have an alias: with other pragmas of the client, columns without one have other names.
 */
export function prepare(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReadBigInts(false);
  // Older versions of Node have neither this method nor the default that it overrides.
  statement.setReturnArrays?.(false);
  return statement;
}

/**
 * Prepares a statement that returns the values of its first row, in the order of the columns. A row with names takes twice the
 * time, so it is used only by versions of Node that have no rows without.
 */
function prepareValues(database: DatabaseSync, sql: string) {
  const statement = prepare(database, sql);
  if (returnsArrays(statement))
    return (...parameters: SQLInputValue[]) => statement.get(...parameters) as unknown as Values | undefined;
  return (...parameters: SQLInputValue[]): Values | undefined => {
    const row = statement.get(...parameters);
    return row && Object.values(row);
  };
}

type Values = readonly SQLOutputValue[];

/** Prepares a statement that returns the values of all rows, in the same way. */
export function prepareAllValues(database: DatabaseSync, sql: string) {
  const statement = prepare(database, sql);
  if (returnsArrays(statement))
    return (...parameters: SQLInputValue[]) => statement.all(...parameters) as unknown as readonly Values[];
  return (...parameters: SQLInputValue[]): readonly Values[] =>
    statement.all(...parameters).map((row) => Object.values(row));
}

/** Makes a statement return rows without names. Returns whether this version of Node can. */
function returnsArrays(statement: StatementSync): boolean {
  const { setReturnArrays }: Partial<StatementSync> = statement;
  setReturnArrays?.call(statement, true);
  return setReturnArrays !== undefined;
}

/**
 * Prepares a statement without rows. Runs it by `get`, because `run` also returns counts of rows, which takes up to a third of
 * the time of a statement.
 */
export function prepareCommand(
  database: DatabaseSync,
  sql: string,
): (...parameters: SQLInputValue[]) => void {
  const statement = prepare(database, sql);
  return (...parameters) => {
    statement.get(...parameters);
  };
}

/** A thread after its newest commit, as listings show it. */
export interface ThreadSummary extends SequenceBounds {
  readonly key: number;
  /** The number of the newest commit. */
  readonly number: number;
  /** The times are in milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
}

/** A thread after its newest commit. */
export interface ThreadRow extends ThreadSummary, TrimSearch {
  readonly incarnation: string;
}

/** A thread without the rows of its commits. Only damage causes it. */
interface BareThread extends Pick<ThreadRow, "key" | "expiresAt"> {
  readonly number: null;
}

/** The columns of a {@link ThreadRow}, of the newest commit of the thread with an id. */
const threadColumns = `t.key, t.created_at, c.updated_at, t.expires_at, c.pinned, c.compaction,
  c.first, c.next, c.userless, c.startless, c.newest_compaction, t.incarnation, c.number`;
const newestCommit = `FROM $threads t LEFT JOIN $commits c ON c.thread = t.key WHERE t.id = ?
  ORDER BY c.number DESC LIMIT 1`;

/** Reads the {@link threadColumns}. A value that is not of their types fails when it is read. */
function toThread(values: readonly SQLOutputValue[]): ThreadRow | BareThread {
  const number = values[12] as number | null;
  if (number === null) return { key: values[0] as number, expiresAt: values[3] as number | null, number };
  return {
    key: values[0] as number,
    createdAt: values[1] as number,
    updatedAt: values[2] as number,
    expiresAt: values[3] as number | null,
    pinned: values[4] as number | null,
    compaction: values[5] as number | null,
    first: values[6] as number,
    next: values[7] as number,
    userless: values[8] as number,
    startless: values[9] as number,
    newestCompaction: values[10] as number,
    incarnation: values[11] as string,
    number,
  };
}

/** A remembered commit. */
export interface OperationRow {
  readonly number: number;
  readonly digest: string;
}

/** Whether a thread has expired. Its rows may still exist. */
export function isExpired(thread: Pick<ThreadRow, "expiresAt">, now: number): boolean {
  return thread.expiresAt !== null && thread.expiresAt <= now;
}

/**
 * Returns a found thread; undefined if there is none, or if it has expired.
 *
 * @throws StoreError `CORRUPT` for a thread without the rows of its commits, or whose newest one has impossible numbers.
 */
export function liveThread(found: ThreadRow | BareThread | undefined, now: number): ThreadRow | undefined {
  if (!found || isExpired(found, now)) return undefined;
  if (found.number === null) throw damagedThread("those of its newest commits are missing");
  if (!hasOrder(found)) throw damagedThread(IMPOSSIBLE);
  return found;
}

export const IMPOSSIBLE = "the numbers of its newest commit are impossible";

/** Whether the numbers of the newest commit can be those of a thread: others are damage, with which no commit may go on. */
export function hasOrder({
  number,
  pinned,
  compaction,
  first,
  next,
}: SequenceBounds & Pick<ThreadRow, "number">): boolean {
  return (
    (pinned ?? 1) > 0 &&
    (compaction ?? first) > (pinned ?? 0) &&
    first > (compaction ?? pinned ?? 0) &&
    first <= next &&
    number > 0
  );
}

/** The times of a thread. */
export function timesOf({
  createdAt,
  updatedAt,
  expiresAt,
}: ThreadTimesRow): Pick<ThreadView, "createdAt" | "updatedAt" | "expiresAt"> {
  return { createdAt, updatedAt, ...(expiresAt !== null && { expiresAt }) };
}

type ThreadTimesRow = Pick<ThreadRow, "createdAt" | "updatedAt" | "expiresAt">;

/** The driver's statements. Parameters have no numbers: older versions of Node cannot bind numbered parameters by position. */
export function prepareStatements(database: DatabaseSync, prefix: string) {
  const sql = (text: string) => prepare(database, text.replaceAll("$", prefix));
  const command = (text: string) => prepareCommand(database, text.replaceAll("$", prefix));
  const values = (text: string) => prepareValues(database, text.replaceAll("$", prefix));
  const selectThread = values(`SELECT ${threadColumns} ${newestCommit}`);
  const selectKind = values("SELECT kind FROM $messages WHERE thread = ? AND sequence = ?");
  const selectKey = values("SELECT key FROM $threads WHERE id = ?");
  const expired = "SELECT key FROM $threads WHERE expires_at <= ? LIMIT 1";
  const selectExpired = values(expired);
  // In one statement, because a commit needs both.
  const selectThreadAndExpired = values(`SELECT ${threadColumns}, (${expired}) ${newestCommit}`);
  return {
    /** Returns the thread with a stored id, also if it has expired. */
    findThread(id: string | Uint8Array): ThreadRow | BareThread | undefined {
      const found = selectThread(id);
      return found && toThread(found);
    },
    /** Returns the key of the thread with a stored id, even if its other rows are damaged. */
    findKey: (id: string | Uint8Array) => selectKey(id)?.[0] as number | undefined,
    /** Returns the key of a thread that had expired by `now`. */
    findExpired: (now: number) => selectExpired(now)?.[0] as number | undefined,
    /** Returns what {@link findThread} and {@link findExpired} return. */
    findBoth(
      id: string | Uint8Array,
      now: number,
    ): { found?: ThreadRow | BareThread; expired: number | undefined } {
      const both = selectThreadAndExpired(now, id);
      if (!both) return { expired: this.findExpired(now) };
      return { found: toThread(both), expired: (both[13] as number | null) ?? undefined };
    },
    // The outer join makes SQLite walk the ids in order, and finds threads without commits.
    selectThreads: sql(
      `SELECT t.key AS key, t.id AS id, t.created_at AS createdAt, t.expires_at AS expiresAt, c.updated_at AS updatedAt,
         c.pinned AS pinned, c.compaction AS compaction, c.first AS first, c.next AS next, c.number AS number
       FROM $threads t LEFT JOIN $commits c
         ON c.thread = t.key AND c.number = (SELECT max(number) FROM $commits WHERE thread = t.key)
       WHERE t.id >= ifnull(?, x'') AND t.id IS NOT ? ORDER BY t.id LIMIT ?`,
    ),
    insertThread: sql("INSERT INTO $threads (id, incarnation, created_at, expires_at) VALUES (?, ?, ?, ?)"),
    setExpiry: command("UPDATE $threads SET expires_at = ? WHERE key = ?"),
    detachThread: command("UPDATE $threads SET id = ?, expires_at = 0 WHERE key = ?"),
    deleteThread: command("DELETE FROM $threads WHERE key = ?"),

    /** Returns the kind of a message; undefined for a missing one. */
    kindOf: (key: number, sequence: number) =>
      selectKind(key, sequence)?.[0] as MessageRecord["kind"] | undefined,
    selectMessages: prepareAllValues(
      database,
      `SELECT sequence, kind, created_at, text FROM $messages
       WHERE thread = ? AND sequence >= ? AND sequence < ? ORDER BY sequence`.replaceAll("$", prefix),
    ),
    insertMessage: command("INSERT INTO $messages VALUES (?, ?, ?, ?, ?)"),
    deleteMessages: command("DELETE FROM $messages WHERE thread = ? AND sequence >= ? AND sequence < ?"),
    deleteAllMessages: command("DELETE FROM $messages WHERE thread = ?"),
    /** Deletes nothing if there are fewer. */
    deleteOldestMessages: sql(
      `DELETE FROM $messages WHERE thread = ? AND sequence <=
       (SELECT sequence FROM $messages WHERE thread = ? ORDER BY sequence LIMIT 1 OFFSET ? - 1)`,
    ),

    findOperation: sql(
      "SELECT number AS number, digest AS digest FROM $commits WHERE thread = ? AND operation = ?",
    ),
    insertCommit: command("INSERT INTO $commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteCommits: command("DELETE FROM $commits WHERE thread = ? AND number <= ?"),
    deleteAllCommits: command("DELETE FROM $commits WHERE thread = ?"),

    selectMetadata: sql("SELECT text AS text FROM $metadata WHERE thread = ?"),
    // SQLite knows the length of a value without reading it.
    selectBytes: sql("SELECT total(octet_length(text)) AS bytes FROM $messages WHERE thread = ?"),
    setMetadata: command("REPLACE INTO $metadata VALUES (?, ?)"),
    deleteMetadata: command("DELETE FROM $metadata WHERE thread = ?"),

    emptyLog: sql("PRAGMA wal_checkpoint(TRUNCATE)"),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;

/** The transactions of one connection. */
export class Transactions {
  readonly #begin: { readonly read: () => void; readonly write: () => void };
  readonly #commit: () => void;
  readonly #rollback: () => void;
  readonly #file: FileCheck | undefined;

  /** @param file absent: the database has no file that could be moved. */
  constructor(database: DatabaseSync, file?: FileCheck | undefined) {
    this.#begin = {
      read: prepareCommand(database, "BEGIN"),
      // Takes the write lock at once: after a first read, the lock would be refused if another connection had written since.
      write: prepareCommand(database, "BEGIN IMMEDIATE"),
    };
    this.#commit = prepareCommand(database, "COMMIT");
    this.#rollback = prepareCommand(database, "ROLLBACK");
    this.#file = file;
  }

  /**
   * Runs a step that reads one consistent state of the database, or writes while no other connection does. If it throws, nothing is
   * written.
   *
   * @throws StoreError `UNAVAILABLE` if the file is no longer at its path.
   */
  run<T>(mode: "read" | "write", step: () => T): T {
    this.#file?.assertInPlace();
    this.#begin[mode]();
    try {
      const result = step();
      this.#commit();
      return result;
    } catch (error) {
      try {
        this.#rollback();
      } catch {
        // After some errors, for example a full disk, SQLite has already rolled back.
      }
      throw error;
    }
  }
}
