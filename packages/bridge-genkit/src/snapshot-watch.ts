import type { SessionSnapshot } from "@genkit-ai/ai/session";
import { type Revision, StoreError } from "@scrollback/store-core";
import { storedCopy } from "@scrollback/store-core/internal";

const POLL_INTERVAL_MS = 2_000;
/** For stores that give hints. */
const HINTED_POLL_INTERVAL_MS = 10_000;

/** A snapshot and its revision. */
export interface FoundSnapshot<S> {
  readonly value: SessionSnapshot<S>;
  readonly revision: Revision;
}

/** Options of {@link SnapshotWatch}. */
export interface SnapshotWatchOptions<S> {
  readonly pollIntervalMs: number | undefined;
  /** See `StoreFactory.watch`. */
  readonly watch: (onHint: () => void) => Disposable | undefined;
  /** The revision of the snapshot in the backend, without the snapshot. */
  readonly readRevision: () => Promise<Revision | null>;
  readonly read: () => Promise<FoundSnapshot<S> | undefined>;
  readonly callback: (snapshot: SessionSnapshot<S>) => void;
  /** Called with errors that `callback` throws. */
  readonly onError: (error: unknown) => void;
}

/**
 * Reports each change of a snapshot: changes by this process immediately, changes by other processes at the next poll, which a hint of
 * the stores brings forward. Several changes between two polls are reported as one. Does not keep the process running.
 */
export class SnapshotWatch<S> implements Disposable {
  readonly #options: SnapshotWatchOptions<S>;
  readonly #timer: NodeJS.Timeout;
  readonly #watch: Disposable | undefined;
  #told: Revision | null = null;
  #isPolling = false;
  /** Whether there was a hint since the current poll began. */
  #isHinted = false;
  #isClosed = false;

  constructor(options: SnapshotWatchOptions<S>) {
    this.#options = options;
    this.#watch = options.watch(() => {
      this.#isHinted = true;
      void this.#poll();
    });
    const { pollIntervalMs = this.#watch ? HINTED_POLL_INTERVAL_MS : POLL_INTERVAL_MS } = options;
    this.#timer = setInterval(() => void this.#poll(), pollIntervalMs);
    this.#timer.unref?.();
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
    this.#watch?.[Symbol.dispose]();
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#isHinted = false;
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
      if (this.#isHinted && !this.#isClosed) void this.#poll();
    }
  }
}
