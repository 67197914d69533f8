import type { MessageRecord, SequenceBounds, ThreadView, TrimSearch } from "@scrollback/store-core/driver";
import type { Connection, Value, Values } from "./clients/index.ts";
import { damagedThread } from "./errors.ts";

/**
 * Returns the stored form of a text: the text itself, or its bytes if it contains a NUL character. Some supported versions of
 * Node end a text at the first NUL when they read it.
 */
export function toStored(text: string): string | Uint8Array {
  return text.includes("\0") ? Buffer.from(text) : text;
}

/** Returns the text of a stored value; empty if the value is not a text. */
export function fromStored(stored: Value | undefined): string {
  if (typeof stored === "string") return stored;
  return stored instanceof Uint8Array ? Buffer.from(stored).toString() : "";
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
function toThread(values: Values): ThreadRow | BareThread {
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
interface OperationRow {
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

/** The driver's statements. */
export function prepareStatements(connection: Connection, prefix: string) {
  const first = (text: string) => connection.first(text.replaceAll("$", prefix));
  const all = (text: string) => connection.all(text.replaceAll("$", prefix));
  const command = (text: string) => connection.command(text.replaceAll("$", prefix));
  const selectThread = first(`SELECT ${threadColumns} ${newestCommit}`);
  const selectKind = first("SELECT kind FROM $messages WHERE thread = ? AND sequence = ?");
  const selectKey = first("SELECT key FROM $threads WHERE id = ?");
  const expired = "SELECT key FROM $threads WHERE expires_at <= ? LIMIT 1";
  const selectExpired = first(expired);
  const selectOldest = first(
    "SELECT sequence FROM $messages WHERE thread = ? ORDER BY sequence LIMIT 1 OFFSET ? - 1",
  );
  const selectOperation = first("SELECT number, digest FROM $commits WHERE thread = ? AND operation = ?");
  const selectMetadata = first("SELECT text FROM $metadata WHERE thread = ?");
  // In one statement, because a commit needs both.
  const selectThreadAndExpired = first(`SELECT ${threadColumns}, (${expired}) ${newestCommit}`);
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
    selectThreads: all(
      `SELECT t.id, t.key, t.created_at, t.expires_at, c.updated_at, c.pinned, c.compaction, c.first, c.next, c.number
       FROM $threads t LEFT JOIN $commits c
         ON c.thread = t.key AND c.number = (SELECT max(number) FROM $commits WHERE thread = t.key)
       WHERE t.id >= ifnull(?, x'') AND t.id IS NOT ? ORDER BY t.id LIMIT ?`,
    ),
    /** Returns the key. */
    insertThread: first(
      "INSERT INTO $threads (id, incarnation, created_at, expires_at) VALUES (?, ?, ?, ?) RETURNING key",
    ),
    setExpiry: command("UPDATE $threads SET expires_at = ? WHERE key = ?"),
    detachThread: command("UPDATE $threads SET id = ?, expires_at = 0 WHERE key = ?"),
    deleteThread: command("DELETE FROM $threads WHERE key = ?"),

    /** Returns the kind of a message; undefined for a missing one. */
    kindOf: (key: number, sequence: number) =>
      selectKind(key, sequence)?.[0] as MessageRecord["kind"] | undefined,
    selectMessages: all(
      `SELECT sequence, kind, created_at, text FROM $messages
       WHERE thread = ? AND sequence >= ? AND sequence < ? ORDER BY sequence`,
    ),
    insertMessage: command("INSERT INTO $messages VALUES (?, ?, ?, ?, ?)"),
    deleteMessages: command("DELETE FROM $messages WHERE thread = ? AND sequence >= ? AND sequence < ?"),
    deleteAllMessages: command("DELETE FROM $messages WHERE thread = ?"),
    /** Returns the sequence of the oldest message but `count - 1`; undefined if there are fewer than `count`. */
    findOldest: (key: number, count: number) => selectOldest(key, count)?.[0] as number | undefined,

    findOperation(key: number, operationId: string): OperationRow | undefined {
      const [number, digest] = selectOperation(key, operationId) ?? [];
      return number === undefined ? undefined : { number: number as number, digest: digest as string };
    },
    insertCommit: command("INSERT INTO $commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteCommits: command("DELETE FROM $commits WHERE thread = ? AND number <= ?"),
    deleteAllCommits: command("DELETE FROM $commits WHERE thread = ?"),

    /** Returns the metadata of a thread; undefined for none. */
    metadataOf(key: number): string | undefined {
      const found = selectMetadata(key);
      return found && fromStored(found[0]);
    },
    // SQLite knows the length of a value without reading it.
    selectBytes: first("SELECT total(octet_length(text)) FROM $messages WHERE thread = ?"),
    setMetadata: command("REPLACE INTO $metadata VALUES (?, ?)"),
    deleteMetadata: command("DELETE FROM $metadata WHERE thread = ?"),

    emptyLog: first("PRAGMA wal_checkpoint(TRUNCATE)"),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
