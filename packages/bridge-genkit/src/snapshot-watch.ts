import type { SessionSnapshot } from "@genkit-ai/ai/session";
import { type Revision, StoreError } from "@scrollback/store-core";

/** A snapshot and its revision. */
export interface FoundSnapshot<S> {
  readonly value: SessionSnapshot<S>;
  readonly revision: Revision;
}

/** What a {@link SnapshotWatch} takes. */
export interface SnapshotWatchOptions<S> {
  readonly pollIntervalMs: number;
  /** The revision of the snapshot in the backend, without the snapshot. */
  readonly readRevision: () => Promise<Revision | null>;
  readonly read: () => Promise<FoundSnapshot<S> | undefined>;
  readonly callback: (snapshot: SessionSnapshot<S>) => void;
  /** Called with what `callback` throws. */
  readonly onError: (error: unknown) => void;
}

/**
 * Tells of each change of a snapshot: at once of those by this process, and of those by others at the next poll. Changes
 * between two polls are told as one. Keeps no process alive.
 */
export class SnapshotWatch<S> implements Disposable {
  readonly #options: SnapshotWatchOptions<S>;
  readonly #timer: NodeJS.Timeout;
  #told: Revision | null = null;
  #isPolling = false;
  #isClosed = false;

  constructor(options: SnapshotWatchOptions<S>) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#poll(), options.pollIntervalMs);
    this.#timer.unref();
    void this.#poll();
  }

  tell({ value, revision }: FoundSnapshot<S>): void {
    if (this.#isClosed || revision === this.#told) return;
    this.#told = revision;
    try {
      this.#options.callback(structuredClone(value));
    } catch (error) {
      // It concerns neither the save nor the other callbacks.
      this.#options.onError(error);
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const told = this.#told;
    try {
      const revision = await this.#options.readRevision();
      if (revision === null || revision === told) return;
      const found = await this.#options.read();
      // What this process has told meanwhile is newer.
      if (found && this.#told === told) this.tell(found);
    } catch (error) {
      // The next poll tries again, except where there will be no answer any more.
      if (StoreError.is(error, "CLOSED")) this[Symbol.dispose]();
      else if (!StoreError.is(error)) this.#options.onError(error);
    } finally {
      this.#isPolling = false;
    }
  }
}
