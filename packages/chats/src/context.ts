import type { MarkedDirectories } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "./chat.ts";
import type { Followers } from "./followers.ts";
import type { StoredSummary } from "./head.ts";

/** The background work that failed: a heartbeat of a run, or the maintenance of a list. */
export type ErrorSource = "beat" | "list";

/** The shared context of all chats of a {@link ChatStore}. */
export interface ChatContext<M extends Identified> {
  readonly stores: StoreFactory;
  readonly directories: MarkedDirectories<StoredSummary>;
  /** Returns the problem of a message, or undefined. */
  check(message: unknown): string | undefined;
  preview(message: M): string;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly followers: Followers;
  now(): number;
  onError(error: unknown, source: ErrorSource): void;
  closeAnswer(message: M): M;
  /** Runs background work, for which no caller waits. */
  background(task: Promise<unknown>): void;
}
