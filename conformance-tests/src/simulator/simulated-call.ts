import type { Head, LogRow, Revision } from "@scrollback/store-core";

/** A call of a driver's method, from its beginning to its end. */
export interface SimulatedCall {
  readonly client: number;
  readonly threadId: string;
  readonly operationId: string | undefined;
  /** What it deletes; undefined for any other call. */
  readonly deletion: Deletion | undefined;
  /** Who makes the call. A caller that makes it again is the same; another that takes it over is not. */
  readonly caller: string;
  /** The step of the thread's history that it began after. */
  readonly since: number;
  /** How many requests the client has made meanwhile. */
  requests: number;
  /** How many rows it has inserted into its thread. */
  rows: number;
  /** Rows that it has inserted, but not into its thread. */
  readonly lateRows: StoredRow[];
  /** Whether no other call of the client ran beside it, so that all requests are its own. */
  isAlone: boolean;
  /** The lowest and the highest that the client's clock has shown meanwhile. */
  lowestWall: number;
  highestWall: number;
  /** Whether a fault hit one of its requests. */
  isDisturbed: boolean;
  ended: "resolved" | "rejected" | "died" | undefined;
}

/** A deletion that a caller tries to make until it knows what came of it. */
export interface Deletion {
  readonly id: string;
  readonly threadId: string;
  /** The revision to expect, where the deletion expects one. */
  readonly expectedRevision: Revision | null | undefined;
  /** Of the first call: the step that it began after, and the caller's clock. */
  began: Pick<SimulatedCall, "since" | "lowestWall"> | undefined;
  /**
   * The step of the thread's history that it made, its row, whether the thread was over before, so that it ended nothing,
   * when the row was sent, and the root of what it ended; undefined until then.
   */
  made:
    | {
        readonly step: number;
        readonly row: number;
        readonly wasOver: boolean;
        readonly sentAt: number;
        readonly root: number;
      }
    | undefined;
}

/** A row as the simulated backend keeps it, with what only the simulator knows of it. */
export interface StoredRow {
  readonly number: number;
  /** What clients see. Replaced, never changed, so that a reply that is under way keeps what it saw. */
  row: LogRow;
  /** The same without texts. */
  heads: LogRow;
  /** Absent for a row that no driver wrote. */
  readonly head: Head | undefined;
  readonly origin: RowOrigin | undefined;
  /** The step of the thread's history that it was inserted after. */
  readonly insertedAt: number;
  /** Whether the row was part of the thread when it was inserted. */
  isLinked: boolean;
  /** Whether an amendment has set its expiry: its key is to be given back. */
  isFreed: boolean;
  /** Whether that was done by a deletion of the thread. */
  isReleased: boolean;
  /** Whether an amendment has extended its expiry that was late, or came after a deletion: it may keep a freed row. */
  isExtendedLate: boolean;
  /** Whether its insert had a second effect, so that its writer was told that the key is taken. */
  isDoubled: boolean;
}

/** Who sent an insert, and when. */
export interface RowOrigin {
  readonly client: number;
  /** The call that it was sent for; undefined where that is not known. */
  readonly call: SimulatedCall | undefined;
  /** The wall clock that the writer planned the row by lies between the two. */
  readonly earliestWall: number;
  readonly latestWall: number;
  /** When the insert was sent, in simulated time. */
  readonly sentAt: number;
  /** Whether this is the second effect of a request that was doubled. */
  readonly isEcho: boolean;
}
