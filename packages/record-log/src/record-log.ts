import {
  type DriverCapabilities,
  type DriverTarget,
  type EntryIndex,
  type ErrorClassification,
  invalid,
  isId,
} from "@scrollback/store-core/driver";

/** Rows below this number are roots: the first rows of a thread's incarnations. Every stream has at least one. */
export const FIRST_ROW = 2 ** 40;

/** One row of a log. */
export interface LogRow {
  /** The row's number in its stream: an integer from 1 to `Number.MAX_SAFE_INTEGER`. Numbers have large gaps. */
  readonly number: number;
  /** A few hundred bytes that stay as long as the row does. Opaque to the log. */
  readonly head: string;
  /** The content. `""` replaces a text that was blanked. Opaque to the log. */
  readonly texts: readonly string[];
  /** The backend may delete the row from this time on, in milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number | undefined;
}

/**
 * A change to the existing rows `from` to `to - 1`. Numbers without a row are skipped: an amendment never creates a row.
 * Every range in this contract includes `from` and excludes `to`.
 */
export interface Amendment {
  readonly from: number;
  readonly to: number;
  /** The texts to replace by `""`: `"all"`, or those at index `from` to `to - 1`. Default: none. */
  readonly blank?: "all" | { readonly from: number; readonly to: number };
  /** Sets the rows' `expiresAt`, in milliseconds since 1970. Default: unchanged. Not together with `extend`. */
  readonly expiresAt?: number;
  /**
   * Moves `expiresAt` to `to` (`null`: never), only in rows that expire at `atLeast` or later and before `to`. Rows that
   * never expire stay as they are: an amendment that arrives late must never shorten the time that a row is kept.
   */
  readonly extend?: { readonly to: number | null; readonly atLeast: number };
}

/** The options of {@link RecordLog.streams}. */
export interface StreamsRequest {
  /** Only streams whose names begin with this prefix; `""` for all. */
  readonly prefix: string;
  /** The maximum number of streams, from 1 to 1,000. */
  readonly limit: number;
  /** The `next` of the previous page; undefined for the first page. Untrusted input. */
  readonly after: string | undefined;
}

/** A page of streams. */
export interface StreamPage {
  readonly streams: readonly string[];
  /** The start of the next page, in the log's own format, at most 4 KiB; absent on the last page. */
  readonly next?: string | undefined;
}

/** The capabilities of a {@link RecordLog}, as frozen plain data. */
export interface RecordLogCapabilities
  extends Pick<DriverCapabilities, "backend" | "sharing" | "roundTrips"> {
  /** The largest row in UTF-8 bytes, its key not counted: at least 64 KiB. Larger content is split across rows. */
  readonly maxRowBytes: number;
}

/**
 * The smallest contract that a backend can fulfil: rows under the keys (stream, number) that can be inserted if absent and
 * read backwards. `RecordLogDriver` makes a driver of it, with every promise of the protocol. No transactions, no locks, no
 * secondary index.
 *
 * A stream is a thread id: a well-formed string of 1 to 1,024 bytes with any characters. Streams never mix. Only the backend
 * deletes rows, at any time after their `expiresAt`, in any order; a backend that cannot delete automatically keeps them. Verbs
 * throw the backend's raw errors. Every verb must settle: a request without a reply fails after a few seconds, because the next
 * commit to the thread waits for it.
 */
export interface RecordLog {
  readonly capabilities: RecordLogCapabilities;
  /** As `Driver.target`. */
  readonly target?: DriverTarget | undefined;
  /** As `Driver.index`: the index of the same backend, beside the log. */
  readonly index?: EntryIndex | undefined;
  /**
   * Inserts a row unless its key is taken, also by a row that is past its `expiresAt` and not yet deleted. Atomic, durable
   * when it returns, and seen by every read that starts later.
   *
   * @returns `true` once the row is inserted. If the key is taken: the row that has it, if the backend returns that row with its
   *   refusal (which saves the caller a read); otherwise `false`.
   */
  insert(stream: string, row: LogRow): Promise<boolean | LogRow>;
  /**
   * Returns the rows with the highest numbers below `below` (Infinity: from the end), highest first: `limit` of them, or as
   * many as exist, whether past their `expiresAt` or not. Sees every insert that returned before. With `heads` the caller ignores
   * the texts, so they may be omitted.
   */
  read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]>;
  /**
   * Amends rows. Each row is amended atomically; the amendments as a whole need not be. May be repeated, and may run concurrently
   * with others in any order. Ranges may overlap. The order of the amendments does not matter: one call sets the expiry of a row
   * or extends it, never both, and of two extensions the later time holds. All amendments are complete when it returns.
   *
   * Costs one request for any number of amendments and rows if the backend has a statement or a batch of that size; else as
   * few requests as its batches allow, and never one per row. A backend that can only compare and swap may read the rows
   * first, with one request per range. The driver calls it before an insert, so a commit waits for it: every 32nd commit of a
   * thread that trims, and each `clear`. The suite counts these requests (C12).
   */
  amend(stream: string, amendments: readonly Amendment[]): Promise<void>;
  /**
   * Returns the names of streams that have a row below {@link FIRST_ROW}, whether past its `expiresAt` or not, in the log's own
   * order. A stream that has one during the whole listing is on at least one page. A page may be short, or empty, and have a
   * `next`. Costs a few requests per page, independent of the number of streams and rows.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an `after` that is not this log's.
   */
  streams(request: StreamsRequest): Promise<StreamPage>;
  close(): Promise<void>;
  setup?(): Promise<void>;
  /** As `Driver.classifyError`. */
  classifyError(error: unknown): ErrorClassification | undefined;
}

/** The error for an `after` that is not one of the log's own. */
export function refuseStreamCursor(): never {
  return invalid("listThreads: cursor must be one that listThreads() gave for the same prefix");
}

/**
 * Checks the `after` of a request to a log whose pages end with a stream's name, see {@link streamPageOf}.
 *
 * @throws StoreError `INVALID_ARGUMENT` if no stream with the prefix can have that name.
 */
export function checkStreamCursor({ prefix, after }: StreamsRequest): void {
  if (after !== undefined && (isId(after) !== undefined || !after.startsWith(prefix))) refuseStreamCursor();
}

/**
 * Makes a page of the names that a log found, in order. The log passes one name more than requested if there are more, so
 * that a listing does not end with an empty page. The page's `next` is its last name.
 */
export function streamPageOf(names: readonly string[], limit: number): StreamPage {
  const streams = names.slice(0, limit);
  return { streams, ...(names.length > limit && { next: streams.at(-1) }) };
}
