import { NoteQueue, type NoteQueueParts } from "./note-queue.ts";

/** Above this number of queues the idle ones are dropped. */
const MOST_QUEUES = 1_000;

/** The queues of the directories that this process writes to. */
export class Queues<N> {
  readonly #partsOf: (threadId: string) => NoteQueueParts<N>;
  readonly #queues = new Map<string, NoteQueue<N>>();

  constructor(partsOf: (threadId: string) => NoteQueueParts<N>) {
    this.#partsOf = partsOf;
  }

  /** The queue of a directory; created on first use. */
  of(threadId: string): NoteQueue<N> {
    let queue = this.#queues.get(threadId);
    if (!queue) {
      if (this.#queues.size >= MOST_QUEUES) this.#dropIdle();
      queue = new NoteQueue(this.#partsOf(threadId));
      this.#queues.set(threadId, queue);
    }
    return queue;
  }

  existing(threadId: string): NoteQueue<N> | undefined {
    return this.#queues.get(threadId);
  }

  /** Returns when all added notes are written and no compaction is running. */
  async flush(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.flush()));
  }

  #dropIdle(): void {
    for (const [threadId, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(threadId);
  }
}
