import type { SessionSnapshot } from "@genkit-ai/ai/session";
import { type Revision, StoreError, storedCopy, unrefTimer } from "@scrollback/store-core";

/** A snapshot and its revision. */
export interface FoundSnapshot<S> {
  readonly value: SessionSnapshot<S>;
  readonly revision: Revision;
}

/** Options of {@link SnapshotWatch}. */
export interface SnapshotWatchOptions<S> {
  readonly pollIntervalMs: number;
  /** The revision of the snapshot in the backend, without the snapshot. */
  readonly readRevision: () => Promise<Revision | null>;
  readonly read: () => Promise<FoundSnapshot<S> | undefined>;
  readonly callback: (snapshot: SessionSnapshot<S>) => void;
  /** Called with errors that `callback` throws. */
  readonly onError: (error: unknown) => void;
}

/**
 * Reports each change of a snapshot: changes by this process immediately, changes by other processes at the next poll. Several
 * changes between two polls are reported as one. Does not keep the process running.
 */
export class SnapshotWatch<S> implements Disposable {
  readonly #options: SnapshotWatchOptions<S>;
  readonly #timer: NodeJS.Timeout;
  #told: Revision | null = null;
  #isPolling = false;
  #isClosed = false;

  constructor(options: SnapshotWatchOptions<S>) {
    this.#options = options;
    this.#timer = unrefTimer(setInterval(() => void this.#poll(), options.pollIntervalMs));
    void this.#poll();
  }

  tell({ value, revision }: FoundSnapshot<S>): void {
    if (this.#isClosed || revision === this.#told) return;
    this.#told = revision;
    const { callback, onError } = this.#options;
    // An error, also of an asynchronous callback, affects neither the save nor the other callbacks.
    void (async () => callback(storedCopy("onSnapshotStateChange: snapshot", value)))().catch(onError);
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
      // A snapshot that this process has reported meanwhile is newer.
      if (found && this.#told === told) this.tell(found);
    } catch (error) {
      // The next poll tries again, unless the stores are closed.
      if (StoreError.is(error, "CLOSED")) this[Symbol.dispose]();
      else if (!StoreError.is(error)) this.#options.onError(error);
    } finally {
      this.#isPolling = false;
    }
  }
}
