import type { Call } from "./history.ts";

/** What can happen to a request. Each takes one of the faults of a scope. */
export type FaultKind =
  /** It has no effect, and its caller is told that the connection was lost. */
  | "lost request"
  /** It takes effect, and its caller is told that the connection was lost. */
  | "lost reply"
  /** It takes effect, and its reply comes later. */
  | "slow reply"
  /** It takes effect, and once more at any time later. */
  | "doubled"
  /** Its process dies. It is lost, or takes effect at any time later. */
  | "crash"
  /** An amendment reaches a part of its rows. Then its process dies. */
  | "torn";

/** What is explored: every order of the requests of a few processes, with every combination of a few faults. */
export interface Scope {
  readonly name: string;
  /** Made one after the other by a process of its own before the exploration begins. A number: that time passes. */
  readonly before: readonly (Call | number)[];
  /** The calls of each process. */
  readonly processes: readonly (readonly Call[])[];
  /** Each passes at once, at any moment, one after the other. */
  readonly jumps?: readonly number[];
  /** The processes whose calls must have ended before time passes. Default: none. */
  readonly jumpsAfter?: readonly number[];
  readonly faults?: readonly FaultKind[];
  /** Default: 0. */
  readonly mostFaults?: number;
  /** By how many milliseconds the clock of each process is ahead. Default: 0. */
  readonly skews?: readonly number[];
  /** How often the backend deletes rows that have expired. Default: 1. */
  readonly mostDeletions?: number;
  /** The number of rows of which the backend deletes any subset once they have expired. Of more it deletes fewer sets. Default: 6. */
  readonly mostFree?: number;
}
