import { MAX_SHARED } from "../rules/limits.ts";

/** A write that waits for its turn. */
export interface Turn {
  readonly signal: AbortSignal | undefined;
  /** The length of what it writes, if it can share a swap with others; undefined: it is made alone. */
  readonly sharedLength: number | undefined;
  reject(reason: unknown): void;
}

/** Turns whose texts are longer than this together are made one after the other. */
const MAX_SHARED_LENGTH = 1024 ** 2;

/** The writes of one process to each thread, one after the other, or several at once. */
export class Turns<T extends Turn> {
  readonly #queues = new Map<string, T[]>();
  readonly #make: (threadId: string, turns: readonly T[]) => Promise<unknown>;

  /** @param make makes writes that share a swap, and settles them. Never rejects. */
  constructor(make: (threadId: string, turns: readonly T[]) => Promise<unknown>) {
    this.#make = make;
  }

  add(threadId: string, turn: T): void {
    const waiting = this.#queues.get(threadId);
    if (waiting) waiting.push(turn);
    else {
      this.#queues.set(threadId, [turn]);
      void this.#run(threadId);
    }
  }

  async #run(threadId: string): Promise<void> {
    const queue = this.#queues.get(threadId) ?? [];
    while (queue.length > 0) {
      const turns = takeNext(queue);
      if (turns.length > 0) await untilNeeded(this.#make(threadId, turns), turns);
    }
    this.#queues.delete(threadId);
  }
}

/** The first turn, with those behind it that can share its swap. A caller that waits no more is refused. */
function takeNext<T extends Turn>(queue: T[]): T[] {
  const turns: T[] = [];
  let length = 0;
  for (let turn = queue[0]; turn; turn = queue[0]) {
    if (turn.signal?.aborted) {
      queue.shift();
      turn.reject(turn.signal.reason);
      continue;
    }
    length += turn.sharedLength ?? Number.POSITIVE_INFINITY;
    if (turns.length > 0 && (length > MAX_SHARED_LENGTH || turns.length >= MAX_SHARED)) break;
    turns.push(turn);
    queue.shift();
  }
  return turns;
}

/** Resolves when a write ends, or no caller waits for it any more: it must not delay the next one. */
async function untilNeeded(work: Promise<unknown>, turns: readonly Turn[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const signals = turns.map(({ signal }) => signal);
  const abort = () => {
    if (signals.every((signal) => signal?.aborted)) resolve(undefined);
  };
  for (const signal of signals) signal?.addEventListener("abort", abort);
  await Promise.race([work, promise]);
  for (const signal of signals) signal?.removeEventListener("abort", abort);
}
