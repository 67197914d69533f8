import { randomBytes } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { incarnationText } from "./directory-kind.ts";
import type { Key } from "./position.ts";

/** The time for which one mark covers the writes of its process. */
export const HOLD_MS = 30_000;
/**
 * The maximum number of marks without a running write that one process keeps open in one directory. Every list reads the members
 * that have an open mark, and a compaction carries them over, so a process that writes to thousands of members in a short time
 * closes the oldest marks early.
 */
export const MOST_HELD = 32;

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

/** The dependencies of {@link HeldMarks}. */
export interface HeldMarksParts {
  readonly clock: DirectoryClock;
  readonly holdMs: number;
  readonly mostHeld: number;
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
  /** By directory, then by member. The oldest mark of a directory is first. */
  readonly #held = new Map<string, Map<string, HeldMark>>();

  constructor(parts: HeldMarksParts) {
    this.#parts = parts;
  }

  /** Returns the open mark of an incarnation, or a new one. The caller must release it with {@link HeldMarks.leave}. */
  async enter(threadId: string, key: Key, incarnation: string): Promise<HeldMark> {
    let mark = this.#held.get(threadId)?.get(incarnationText({ key, incarnation }));
    if (!mark || mark.isAbandoned || elapsed(this.#parts.clock, mark) >= this.#parts.holdMs)
      mark = this.#new(threadId, key, incarnation);
    mark.users += 1;
    try {
      await mark.written;
    } catch (error) {
      // The mark may be in the log. No write was made under it.
      mark.users -= 1;
      this.#remove(mark);
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
    for (const marks of this.#held.values()) for (const mark of marks.values()) this.#end(mark);
  }

  /** Drops the mark of an incarnation that has ended, without a note. Returns its token. */
  forget({
    threadId,
    key,
    incarnation,
  }: Pick<HeldMark, "threadId" | "key" | "incarnation">): string | undefined {
    const mark = this.#held.get(threadId)?.get(incarnationText({ key, incarnation }));
    if (!mark) return undefined;
    mark.cancelTimer?.();
    mark.isAbandoned = true;
    this.#remove(mark);
    return mark.token;
  }

  #new(threadId: string, key: Key, incarnation: string): HeldMark {
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
    const before = this.#held.get(threadId)?.get(incarnationText(mark));
    if (before) this.#end(before);
    this.#keep(mark);
    mark.cancelTimer = clock.timer(holdMs, () => this.#end(mark), { unref: true });
    this.#parts.open(mark).then(written.resolve, written.reject);
    return mark;
  }

  /** Closes a mark that covers no further writes, after the last one has ended. */
  #end(mark: HeldMark): void {
    if (mark.users > 0) return;
    mark.cancelTimer?.();
    this.#remove(mark);
    if (mark.isAbandoned) return;
    mark.isAbandoned = true;
    this.#parts.close(mark);
  }

  #keep(mark: HeldMark): void {
    for (const older of this.#held.get(mark.threadId)?.values() ?? []) {
      if ((this.#held.get(mark.threadId)?.size ?? 0) < this.#parts.mostHeld) break;
      this.#end(older);
    }
    const marks = this.#held.get(mark.threadId) ?? new Map<string, HeldMark>();
    this.#held.set(mark.threadId, marks);
    const text = incarnationText(mark);
    marks.delete(text);
    marks.set(text, mark);
  }

  #remove(mark: HeldMark): void {
    const marks = this.#held.get(mark.threadId);
    const text = incarnationText(mark);
    if (!marks || marks.get(text) !== mark) return;
    marks.delete(text);
    if (marks.size === 0) this.#held.delete(mark.threadId);
  }
}

/** Milliseconds since a mark, by the clock that shows more: one may stop while the machine sleeps. */
export function elapsed(clock: DirectoryClock, mark: Pick<HeldMark, "wall" | "monotonic">): number {
  return Math.max(clock.wall() - mark.wall, clock.monotonic() - mark.monotonic);
}
