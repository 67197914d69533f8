import type { Revision } from "@scrollback/store-core";
import type { LogRow } from "../index.ts";
import type { Head } from "../rows/format.ts";

/** A call of a driver's method, from its beginning to its end. */
export interface SimulatedCall {
  readonly client: number;
  readonly threadId: string;
  readonly operationId: string | undefined;
  /** The deletion; undefined for any other call. */
  readonly deletion: Deletion | undefined;
  /** The caller. It is the same if it repeats the call, and another one if another caller takes the call over. */
  readonly caller: string;
  /** The step of the thread's history after which it began. */
  readonly since: number;
  /** The number of requests of the client during the call. */
  requests: number;
  /** The number of rows that it has inserted into its thread. */
  rows: number;
  /** Rows that it has inserted, but not into its thread. */
  readonly lateRows: StoredRow[];
  /** Whether no other call of the client ran at the same time, so that all requests are its own. */
  isAlone: boolean;
  /** The lowest and the highest time of the client's clock during the call. */
  lowestWall: number;
  highestWall: number;
  /** Whether its caller has aborted it, and so no longer waits for it. */
  isAborted: boolean;
  /** Whether a fault hit one of its requests. */
  isDisturbed: boolean;
  ended: "resolved" | "rejected" | "died" | undefined;
}

/** A deletion that a caller attempts until it knows the outcome. */
export interface Deletion {
  readonly id: string;
  readonly threadId: string;
  /** The expected revision, if there is one. */
  readonly expectedRevision: Revision | null | undefined;
  /** Of the first call: the step after which it began, and the caller's clock. */
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

/** A stored row, with the simulator's own data about it. */
export interface StoredRow {
  readonly number: number;
  /** The row that clients read. Replaced, never changed, so that pending replies stay unchanged. */
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
  /** Whether an amendment has set its expiry, to free its key. */
  isFreed: boolean;
  /** Whether that was done by a deletion of the thread. */
  isReleased: boolean;
  /** Whether a late amendment, or one after a deletion, has extended its expiry: such a row may stay although it was freed. */
  isExtendedLate: boolean;
  /** Whether its insert took effect twice, so that its writer got the reply that the key is taken. */
  isDoubled: boolean;
}

/** The sender of an insert, and the time. */
export interface RowOrigin {
  readonly client: number;
  /** The call that sent it; undefined if unknown. */
  readonly call: SimulatedCall | undefined;
  /** The calls of the earlier commits of the row, oldest first. */
  readonly earlier: readonly (SimulatedCall | undefined)[];
  /** The bounds of the wall clock with which the writer planned the row. */
  readonly earliestWall: number;
  readonly latestWall: number;
  /** The simulated time at which the insert was sent. */
  readonly sentAt: number;
  /** Whether this is the second effect of a repeated request. */
  readonly isEcho: boolean;
}
