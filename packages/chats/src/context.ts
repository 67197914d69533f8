import type { MarkedDirectories } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "./chat.ts";
import type { Followers } from "./followers.ts";
import type { StoredSummary } from "./head.ts";

/** What failed in the background: a beat of a run, or the upkeep of a list. */
export type ErrorSource = "beat" | "list";

/** What all chats of a {@link ChatStore} share. */
export interface ChatContext<M extends Identified> {
  readonly stores: StoreFactory;
  readonly directories: MarkedDirectories<StoredSummary>;
  /** What is wrong with a message, or nothing. */
  check(message: unknown): string | undefined;
  preview(message: M): string;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly followers: Followers;
  now(): number;
  onError(error: unknown, source: ErrorSource): void;
  closeAnswer(message: M): M;
  /** Takes what is under way without anybody waiting for it. */
  background(task: Promise<unknown>): void;
}
