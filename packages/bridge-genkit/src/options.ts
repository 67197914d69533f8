import type { SessionStoreOptions } from "@genkit-ai/ai/session";
import type { StoreFactory } from "@scrollback/store-core";
import { type Check, checkOptions } from "@scrollback/store-core/driver";
import { isBoolean, isFunction, isStoreFactory, isTimerMs } from "@scrollback/store-core/internal";

/** Options of `ScrollbackSessionStore`. */
export interface ScrollbackSessionStoreOptions {
  /**
   * A store factory of any backend and any message type, without `maxMessages`. The factory stays open. With `ttlMs` a snapshot
   * expires `ttlMs` milliseconds after it was written.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /**
   * Separates tenants: returns the caller's scope from a call's context. Ids of one scope are unknown in another.
   * Default: one scope for all.
   */
  readonly scope?: ((context: SessionStoreOptions["context"]) => string) | undefined;
  /** Makes a lookup by session fail with `FAILED_PRECONDITION` if its history has branches. Default: the newest leaf. */
  readonly rejectBranchingSessions?: boolean | undefined;
  /**
   * The interval of polls for changes by other processes, for `onSnapshotStateChange`, in milliseconds, at most 2,147,483,647.
   * Default: 2,000; 10,000 for stores that give hints of them (`StoreFactory.watch`), which are then read at once.
   */
  readonly pollIntervalMs?: number | undefined;
  /** Called with errors that a callback of `onSnapshotStateChange` throws. They do not fail the save that caused the call. Default: a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checks: Record<keyof ScrollbackSessionStoreOptions, Check> = {
  stores: isStoreFactory("snapshots"),
  scope: isFunction,
  rejectBranchingSessions: isBoolean,
  pollIntervalMs: isTimerMs,
  onError: isFunction,
};

/** @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim. */
export function checkStoreOptions(options: ScrollbackSessionStoreOptions): void {
  checkOptions("ScrollbackSessionStore", options, checks, ["stores"]);
}
