import type { Lists } from "@scrollback/collections";
import type { Parts } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "../chat.ts";
import type { ChatFiles } from "../files/chat-files.ts";
import type { SiblingBounds } from "../siblings/continuations.ts";
import type { AnswerStreams } from "../streams/answer-streams.ts";
import type { Followers } from "./followers.ts";
import type { StoredSummary } from "./head.ts";
import type { ListedChat } from "./listed-chat.ts";

/**
 * The source of an error that no caller receives: a heartbeat of a run; an attempt to end a run, which is repeated; the maintenance
 * of a list; a callback of the {@link ChatStoreOptions}, without which the work went on; the storing of a running answer for listeners of
 * other processes, which then get an error.
 */
export type ErrorSource = "beat" | "end" | "list" | "callback" | "stream";

/** The shared context of all chats of a {@link ChatStore}. */
export interface ChatContext<M extends Identified> extends SiblingBounds {
  readonly stores: StoreFactory;
  readonly lists: Lists<StoredSummary, ListedChat>;
  readonly parts: Parts;
  readonly files: ChatFiles;
  /** Releases the files of a chat that was deleted, and the text of its running answer. */
  release(threadId: string, signal: AbortSignal | undefined): Promise<void>;
  /** Releases the files that earlier chats of a thread have left. */
  sweep(threadId: string, signal: AbortSignal | undefined): Promise<void>;
  readonly streams: AnswerStreams;
  /** The labels that have lists of their own. */
  readonly indexedLabels: readonly string[];
  /** Returns the problem of a message, with its id and role, or undefined. */
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
