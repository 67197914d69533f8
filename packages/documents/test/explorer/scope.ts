import type { Call } from "./history.ts";

/** What can happen to a request. Each takes one of the faults of a scope. */
export type FaultKind =
  /** It has no effect, and its caller is told that the connection was lost. */
  | "lost request"
  /** It takes effect, and its caller is told that the connection was lost. */
  | "lost reply"
  /** Its caller is told that the connection was lost. It takes effect at any time later, or never. */
  | "late"
  /** It reaches a part of its pages, and its caller is told that the connection was lost. */
  | "torn"
  /** Its process dies. It is lost, or takes effect at any time later. */
  | "crash";

/** What is explored: every order of the requests of a few processes, with every combination of a few faults. */
export interface Scope {
  readonly name: string;
  /** Made one after the other by a process of its own before the exploration begins. A number: that time passes. */
  readonly before?: readonly (Call | number)[];
  /** The calls of each process. */
  readonly processes: readonly (readonly Call[])[];
  /** Each passes at once, at any moment, one after the other. Documents whose time has come are then deleted one by one, in any order. */
  readonly jumps?: readonly number[];
  readonly faults?: readonly FaultKind[];
  /** Default: 0. */
  readonly mostFaults?: number;
  /** By how many milliseconds the clock of each process is ahead. Default: 0. */
  readonly skews?: readonly number[];
  /** See `DocumentCapabilities`. Default: 700, so that a head has at most two messages. */
  readonly maxDocumentBytes?: number;
}
