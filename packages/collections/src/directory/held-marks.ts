import { randomBytes } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import type { Key } from "./position.ts";

/** How long one mark covers the writes of its process. */
export const HOLD_MS = 30_000;

/** A mark of this process that is in the log or being written. */
export interface HeldMark {
  readonly threadId: string;
  readonly key: Key;
  readonly incarnation: string;
  readonly token: string;
  /** The times before it was written. */
  readonly wall: number;
  readonly monotonic: number;
  readonly written: Promise<void>;
  /** The number of running writes that it covers. */
  users: number;
  /** Whether the outcome of a write is unknown. Then this process must not close the mark. */
  isAbandoned: boolean;
  cancelTimer?: () => void;
}

/** What held marks need. */
export interface HeldMarksParts {
  readonly clock: DirectoryClock;
  readonly holdMs: number;
  /** Writes a mark and returns when it is written. */
  open(mark: HeldMark): Promise<void>;
  /** Queues the note that a mark is closed; it is written within a second. */
  close(mark: HeldMark): void;
}

/** A random name for a mark. */
export function newToken(): string {
  return randomBytes(9).toString("base64url");
}

/** The open marks of this process. */
export class HeldMarks {
  readonly #parts: HeldMarksParts;
  readonly #held = new Map<string, HeldMark>();

  constructor(parts: HeldMarksParts) {
    this.#parts = parts;
  }

  /** Returns the open mark of an incarnation, or a new one. The caller must release it with {@link HeldMarks.leave}. */
  async enter(threadId: string, key: Key, incarnation: string): Promise<HeldMark> {
    const text = JSON.stringify([threadId, key, incarnation]);
    let mark = this.#held.get(text);
    if (!mark || mark.isAbandoned || elapsed(this.#parts.clock, mark) >= this.#parts.holdMs) {
      mark = this.#new(text, threadId, key, incarnation);
      this.#held.set(text, mark);
    }
    mark.users += 1;
    try {
      await mark.written;
    } catch (error) {
      // The mark may be in the log. No write was made under it.
      mark.users -= 1;
      if (this.#held.get(text) === mark) this.#held.delete(text);
      if (!mark.isAbandoned && !StoreError.is(error, "CLOSED")) this.#parts.close(mark);
      mark.isAbandoned = true;
      throw error;
    }
    return mark;
  }

  /** Ends a write. With `isUncertain` the mark stays open, because the write may still happen. */
  leave(mark: HeldMark, isUncertain: boolean): void {
    mark.users -= 1;
    if (isUncertain) mark.isAbandoned = true;
    if (elapsed(this.#parts.clock, mark) >= this.#parts.holdMs) this.#end(mark);
  }

  /** Closes all marks without a running write. */
  closeAll(): void {
    for (const mark of this.#held.values()) this.#end(mark);
  }

  /** Drops the mark of an incarnation that has ended, without a note. Returns its token. */
  forget({
    threadId,
    key,
    incarnation,
  }: Pick<HeldMark, "threadId" | "key" | "incarnation">): string | undefined {
    const text = JSON.stringify([threadId, key, incarnation]);
    const mark = this.#held.get(text);
    if (!mark) return undefined;
    mark.cancelTimer?.();
    mark.isAbandoned = true;
    this.#held.delete(text);
    return mark.token;
  }

  #new(text: string, threadId: string, key: Key, incarnation: string): HeldMark {
    const { clock, holdMs } = this.#parts;
    const token = newToken();
    const moment = { wall: clock.wall(), monotonic: clock.monotonic() };
    const written = Promise.withResolvers<void>();
    const mark: HeldMark = {
      ...{ threadId, key, incarnation, token },
      ...moment,
      written: written.promise,
      users: 0,
      isAbandoned: false,
    };
    const before = this.#held.get(text);
    if (before) this.#end(before);
    mark.cancelTimer = clock.timer(holdMs, () => this.#end(mark), { unref: true });
    this.#parts.open(mark).then(written.resolve, written.reject);
    return mark;
  }

  /** Closes a mark that covers no further writes, after the last one has ended. */
  #end(mark: HeldMark): void {
    if (mark.users > 0) return;
    mark.cancelTimer?.();
    const text = JSON.stringify([mark.threadId, mark.key, mark.incarnation]);
    if (this.#held.get(text) === mark) this.#held.delete(text);
    if (mark.isAbandoned) return;
    mark.isAbandoned = true;
    this.#parts.close(mark);
  }
}

/** Milliseconds since a mark, by the clock that shows more: one may stop while the machine sleeps. */
export function elapsed(clock: DirectoryClock, mark: Pick<HeldMark, "wall" | "monotonic">): number {
  return Math.max(clock.wall() - mark.wall, clock.monotonic() - mark.monotonic);
}
