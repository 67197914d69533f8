import { REMEMBERED_MS } from "@scrollback/store-core/driver";
import type { Moment } from "../chain/chain.ts";

/** An insert of this process whose outcome is not known. */
export interface Attempt {
  readonly number: number;
  readonly token: string;
  readonly incarnation: string;
  readonly n: number;
  readonly digest: string;
  /** The row was inserted, but too late to be certainly part of the thread. */
  isLate: boolean;
}

/** A closing row that this process has sent to delete a thread, with unknown outcome. */
export interface Closing {
  readonly number: number;
  readonly token: string;
  readonly incarnation: string;
  /** The number of the incarnation's root. */
  readonly root: number;
  readonly sent: Moment;
}

/** The attempts of one operation, remembered until its outcome is known. */
export interface Operation {
  readonly attempts: Attempt[];
  readonly closings: Closing[];
}

interface Entry extends Operation {
  /** The number of running calls. */
  calls: number;
  /** When the last call ended, by the monotonic clock. */
  ended: number;
}

/** The maximum number of remembered operations without a running call. */
const OPERATIONS_KEPT = 1_000;

/**
 * The operations with unknown outcome. An operation stays remembered while a call is running and while a store may still repeat
 * it: otherwise its commit could be made twice.
 */
export class Operations {
  readonly #entries = new Map<string, Entry>();

  /** Begins a call. */
  begin(key: string, now: number): Operation {
    const known = this.#entries.get(key);
    const entry = known ?? { attempts: [], closings: [], calls: 0, ended: now };
    entry.calls += 1;
    // The newest is last.
    if (known) this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Ends a call. `isOutcomeKnown`: the outcome is known. */
  end(key: string, now: number, isOutcomeKnown: boolean): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    entry.calls -= 1;
    entry.ended = now;
    if (entry.calls > 0) return;
    if (isOutcomeKnown || entry.attempts.length + entry.closings.length === 0) this.#entries.delete(key);
    if (this.#entries.size > OPERATIONS_KEPT) this.#forget(now);
  }

  clear(): void {
    this.#entries.clear();
  }

  #forget(now: number): void {
    for (const [key, { calls, ended }] of this.#entries) {
      if (this.#entries.size <= OPERATIONS_KEPT) return;
      if (calls === 0 && ended < now - REMEMBERED_MS) this.#entries.delete(key);
    }
  }
}
