import type { Revision } from "@scrollback/store-core";
import type { CheckpointEntry } from "./log-entry.ts";

/** The metadata of a log's thread. */
export interface LogFormat {
  readonly version: 1;
  /** A checkpoint was written after one with a higher id, so the log is not in the order of the ids. */
  readonly isUnsorted?: true;
  /** The log was created, and its registration is not confirmed yet. It has no checkpoints. */
  readonly isUnconfirmed?: true;
}

/** The cached end of a log, at one revision. */
export interface LogTail {
  readonly revision: Revision | null;
  readonly highestId: string | undefined;
  readonly format: LogFormat | undefined;
  /** The newest checkpoint and the most recently looked-up ones, by id. */
  readonly recent: ReadonlyMap<string, CheckpointEntry>;
  /** Keys that this process has written to the log. */
  readonly keys: ReadonlySet<string>;
}
