import type { DriverCapabilities, DriverTarget, ErrorClass } from "../driver.ts";

/** One row of a log. */
export interface LogRow {
  /** Its place in the stream, from 1. */
  readonly number: number;
  /** A few hundred bytes that stay as long as the row does. Opaque to the log. */
  readonly head: string;
  /** The content, text by text; `""` stands where one was blanked. Opaque to the log. */
  readonly texts: readonly string[];
  /** From when on the backend may delete the row, in milliseconds since the epoch; absent: never. */
  readonly expiresAt?: number | undefined;
}

/** A change to rows that are there, `from` to `to` inclusive. Numbers without a row are passed over. */
export interface Amendment {
  readonly from: number;
  readonly to: number;
  /** Which texts to replace by `""`: `"all"`, or those at index `from` to `to - 1`. Left out: none. */
  readonly blank?: "all" | { readonly from: number; readonly to: number };
  /** From when on the backend may delete the rows, in milliseconds since the epoch. Left out: as it was. */
  readonly expiresAt?: number;
  /**
   * Moves the rows' `expiresAt` further away, `null`: to never. Rows that have none, or a later one, stay as they are: a
   * writer that is late must never shorten a life. Not together with `expiresAt`.
   */
  readonly extendTo?: number | null;
}

/** What a {@link RecordLog} can do, as frozen plain data. */
export interface RecordLogCapabilities
  extends Pick<DriverCapabilities, "backend" | "sharing" | "roundTrips"> {
  /** The largest row in UTF-8 bytes, its key aside: at least 64 KiB. What is larger is split. */
  readonly maxRowBytes: number;
}

/**
 * The smallest thing that a backend can be: rows under the keys (stream, number) that can be inserted if absent and read
 * backwards. `RecordLogDriver` makes a driver of it, with every promise of the protocol. No transactions, no locks, no
 * secondary index.
 *
 * A stream is a well-formed string of 1 to 1,100 bytes with any characters; streams never meet. Rows are deleted by nobody
 * but the backend, at some time after their `expiresAt`, all at once or one by one; a backend that cannot delete by itself
 * leaves them. Verbs throw the backend's raw errors.
 */
export interface RecordLog {
  readonly capabilities: RecordLogCapabilities;
  /** As `Driver.target`. */
  readonly target?: DriverTarget | undefined;
  /**
   * Inserts a row unless its key has one (also one that is past its `expiresAt` and still there). Atomic, durable when it
   * returns, and seen by every read that starts after.
   *
   * @returns `true` once the row is inserted. Where its key was taken: the row that has it, if the backend hands that over
   *   with its refusal and so saves the loser a read; else `false`.
   */
  insert(stream: string, row: LogRow): Promise<boolean | LogRow>;
  /**
   * The rows with the highest numbers below `below` (Infinity: from the end), highest first: `limit` of them, or as many
   * as there are, whether past their `expiresAt` or not. Sees every insert that returned before. `heads`: texts are not
   * looked at and may be left out.
   */
  read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]>;
  /** Amends rows. Need not be atomic; may be repeated, and run beside others, in any order. */
  amend(stream: string, amendments: readonly Amendment[]): Promise<void>;
  close(): Promise<void>;
  setup?(): Promise<void>;
  /** As `Driver.classifyError`. */
  classifyError(error: unknown): ErrorClass | undefined;
}
