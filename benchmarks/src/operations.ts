import type { ChatMessage } from "@scrollback/store-core";
import type { Call, Thread } from "./backend.ts";

/** The thread lengths of a full run, in messages. */
export const threadLengths = [10, 1_000, 100_000] as const;

/** Threads are trimmed to their length plus this room for a batch, so that they keep their stated length. */
export const ROOM = 20;

export interface Operation {
  readonly name: string;
  readonly kind: "commit" | "read";
  /** The thread lengths for which it is measured; absent for all. */
  readonly lengths?: readonly number[];
  /** The number of messages that it appends. */
  readonly appended: number;
  /** @param messages as many as it appends. */
  prepare(thread: Thread, messages: readonly ChatMessage[]): Call;
}

function append(count: number): Operation {
  return {
    name: `append ${count}`,
    kind: "commit",
    appended: count,
    prepare: (thread, messages) => thread.append(messages),
  };
}

const newest20: Operation = {
  name: "newest 20",
  kind: "read",
  appended: 0,
  prepare: (thread) => thread.newest(20),
};

const all: Operation = {
  name: "all",
  kind: "read",
  lengths: [1_000],
  appended: 0,
  prepare: (thread) => thread.all(),
};

/** In the order of measurement: reads run while the threads still have exactly their lengths. */
export const operations: readonly Operation[] = [newest20, all, append(1), append(20)];
