import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { StoreFactory } from "@scrollback/store-core";

/** Options of ScrollbackSaver. */
export interface ScrollbackSaverOptions {
  /**
   * The storage of checkpoints: a store factory of any backend, without `maxMessages`. With `ttlMs` the checkpoints of a namespace
   * expire that long after the last write to it. The factory stays open.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The prefix of the thread ids. Savers with different prefixes have separate checkpoints. Default: `"langgraph"`. */
  readonly prefix?: string;
  /** Converts values to bytes and back. Default: LangGraph's `JsonPlusSerializer`. */
  readonly serde?: SerializerProtocol;
  /**
   * What `put` does with a checkpoint whose parent is not the newest one, because another turn of the thread has written since:
   * `"fork"` (default) stores it as a branch, as LangGraph's savers do, so the turn that writes last hides the other one; `"reject"`
   * throws `CONFLICT`, and the run fails. To go back to an older checkpoint, use a saver with `"fork"`.
   */
  readonly staleWriter?: "fork" | "reject";
}

/** Options of `ScrollbackSaver.prune`: at least one of `keep` and `olderThanMs`. */
export interface PruneOptions {
  /** Default: all threads. */
  readonly threadId?: string;
  /**
   * The number of newest checkpoints that stay in each namespace whatever their age, at least 1. Default with `olderThanMs`: 1. Not in
   * those of calls of subgraphs whose checkpoint is dropped.
   */
  readonly keep?: number;
  /** Drops only checkpoints that were created longer ago than this, in milliseconds, by the clock of their writer. Default: of any age. */
  readonly olderThanMs?: number;
}
