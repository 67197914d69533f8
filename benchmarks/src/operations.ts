import type { ChatMessage } from "@scrollback/store-core";
import type { Call, Thread } from "./backend.ts";

/** How many messages the threads hold in a full run. */
export const threadLengths = [10, 1_000, 100_000] as const;

/** Room for a batch above a thread's length: threads are trimmed to that, so that they stay as long as they are said to be. */
export const ROOM = 20;

export interface Operation {
  readonly name: string;
  readonly kind: "commit" | "read";
  /** On threads of which lengths it is measured; absent for all. */
  readonly lengths?: readonly number[];
  /** How many messages it appends. */
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

/** In the order in which they are measured: the reads while the threads still have exactly their lengths. */
export const operations: readonly Operation[] = [newest20, all, append(1), append(20)];
