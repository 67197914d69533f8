import type { MarkedDirectories } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "./chat.ts";
import type { StoredSummary } from "./head.ts";

/** What all chats of a {@link ChatStore} share. */
export interface ChatContext<M extends Identified> {
  readonly stores: StoreFactory;
  readonly directories: MarkedDirectories<StoredSummary>;
  /** What is wrong with a message, or nothing. */
  check(message: unknown): string | undefined;
  preview(message: M): string;
  now(): number;
  settle(message: M): M;
  /** Takes what is under way without anybody waiting for it. */
  background(task: Promise<unknown>): void;
}
