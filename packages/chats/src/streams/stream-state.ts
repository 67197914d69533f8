import type { StoreFactory } from "@scrollback/store-core";
import type { StreamClock } from "./waiter.ts";

/** The metadata of the thread of a stream. */
export interface StreamState {
  /** The run whose answer the thread has. */
  readonly run?: string;
  /** Whether the answer has ended, so that no text follows. */
  readonly isEnded?: true;
}

/** What the streams of a chat need of it. */
export interface StreamContext {
  readonly stores: StoreFactory;
  readonly clock: StreamClock;
  /** Whether the chat is there, and the run is its run. */
  isCurrent(runId: string): Promise<boolean>;
  onError(error: unknown): void;
}

/** What a page says of its stream. */
export function stateOf({ metadata }: { readonly metadata?: unknown }): StreamState {
  return Object(metadata) as StreamState;
}
