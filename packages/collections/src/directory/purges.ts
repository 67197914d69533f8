import { StoreError } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { incarnationText } from "./directory-kind.ts";
import { type Purged, type PurgeParts, purge } from "./purge.ts";
import { OutdatedError } from "./tree.ts";

const MAX_ATTEMPTS = 20;
const MOST_IN_BACKGROUND = 256;

/** The dependencies of {@link Purges}. */
export interface PurgesParts<V> extends PurgeParts<V> {
  readonly clock: DirectoryClock;
  onError(error: unknown): void;
}

interface Batch {
  readonly members: Purged[];
  readonly done: Promise<void>;
}

/**
 * The purges of this process. Each purge rewrites its directory, so the purges of one directory run one after the other. Those
 * that are requested during a purge run together in the next commit.
 */
export class Purges<V> {
  readonly #parts: PurgesParts<V>;
  /** The batch of each directory that takes further members. */
  readonly #waiting = new Map<string, Batch>();
  /** The last batch of each directory. */
  readonly #last = new Map<string, Promise<void>>();
  readonly #inBackground = new Map<string, Promise<void>>();

  constructor(parts: PurgesParts<V>) {
    this.#parts = parts;
  }

  /**
   * Returns when the directory contains no data of the member.
   *
   * @throws StoreError `UNAVAILABLE`, when other processes rewrote the directory before each attempt.
   */
  async purge(threadId: string, member: Purged): Promise<void> {
    const batch = this.#waiting.get(threadId) ?? this.#begin(threadId);
    batch.members.push(member);
    await batch.done;
  }

  /**
   * Purges a member that a list has found, in the background, if `isGone` resolves to true. While many of these are running, a
   * further one is not started.
   */
  start(threadId: string, member: Purged, isGone: () => Promise<boolean> = async () => true): void {
    const text = JSON.stringify([threadId, incarnationText(member)]);
    if (this.#inBackground.has(text) || this.#inBackground.size >= MOST_IN_BACKGROUND) return;
    const purging = isGone()
      .then((isTrue) => (isTrue ? this.purge(threadId, member) : undefined))
      // The next list finds it again.
      .catch(this.#parts.onError)
      .finally(() => this.#inBackground.delete(text));
    this.#inBackground.set(text, purging);
  }

  /** Returns when no purge is running. */
  async flush(): Promise<void> {
    while (this.#last.size + this.#inBackground.size > 0)
      await Promise.allSettled([...this.#inBackground.values(), ...this.#last.values()]);
  }

  #begin(threadId: string): Batch {
    const members: Purged[] = [];
    const done = this.#run(threadId, members).finally(() => {
      if (this.#last.get(threadId) === done) this.#last.delete(threadId);
    });
    const batch = { members, done };
    this.#waiting.set(threadId, batch);
    this.#last.set(threadId, done);
    return batch;
  }

  async #run(threadId: string, members: readonly Purged[]): Promise<void> {
    // The callers of a failed purge have already received its error.
    await this.#last.get(threadId)?.catch(() => undefined);
    this.#waiting.delete(threadId);
    for (let attempt = 0; ; attempt++) {
      try {
        return await purge(this.#parts, threadId, members);
      } catch (error) {
        if (!(error instanceof OutdatedError)) throw error;
        if (attempt >= MAX_ATTEMPTS)
          throw new StoreError(
            "UNAVAILABLE",
            "purge: other processes rewrote the directory before each attempt; try again",
            { cause: error },
          );
      }
      await this.#pause(25 * 2 ** Math.min(attempt, 3));
    }
  }

  /** Waits for a random part of `ms` milliseconds. */
  async #pause(ms: number): Promise<void> {
    const { clock } = this.#parts;
    await new Promise<void>((resolve) => clock.timer(ms * clock.random(), resolve));
  }
}
