import { randomBytes } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import type { Key } from "./position.ts";
import { incarnationText } from "./rules.ts";

/** How long one mark serves the writes of its process. */
export const HOLD_MS = 30_000;
/**
 * How many marks one process holds in one directory while no write is under way under them. Every list reads the members
 * that have an open mark, and a compaction carries them over, so a process that writes to thousands of members in a short
 * time closes the oldest marks early.
 */
export const MOST_HELD = 32;

/** A mark of this process, which is in the log or on its way there. */
export interface HeldMark {
  readonly threadId: string;
  readonly key: Key;
  readonly incarnation: string;
  readonly token: string;
  /** Moments from before it was written. */
  readonly wall: number;
  readonly monotonic: number;
  readonly written: Promise<void>;
  /** How many writes are under way under it. */
  users: number;
  /** Whether an outcome is unknown: this process must not close it. */
  isAbandoned: boolean;
  cancelTimer?: () => void;
}

/** What held marks work with. */
export interface HeldMarksParts {
  readonly clock: DirectoryClock;
  readonly holdMs: number;
  readonly mostHeld: number;
  /** Writes a mark, and returns when it is written. */
  open(mark: HeldMark): Promise<void>;
  /** Notes that a mark is closed, within a second. */
  close(mark: HeldMark): void;
}

/** The name of a mark: random. */
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

  /** The mark of an incarnation: the open one, or a new one. Must be given back by {@link HeldMarks.leave}. */
  async enter(threadId: string, key: Key, incarnation: string): Promise<HeldMark> {
    let mark = this.#held.get(threadId)?.get(incarnationText({ key, incarnation }));
    if (!mark || mark.isAbandoned || elapsed(this.#parts.clock, mark) >= this.#parts.holdMs)
      mark = this.#new(threadId, key, incarnation);
    mark.users += 1;
    try {
      await mark.written;
    } catch (error) {
      // It may be in the log all the same. No write was made under it.
      mark.users -= 1;
      this.#remove(mark);
      if (!mark.isAbandoned && !StoreError.is(error, "CLOSED")) this.#parts.close(mark);
      mark.isAbandoned = true;
      throw error;
    }
    return mark;
  }

  /** Ends a write. With `isUncertain` the mark stays open: its write may happen yet. */
  leave(mark: HeldMark, isUncertain: boolean): void {
    mark.users -= 1;
    if (isUncertain) mark.isAbandoned = true;
    if (elapsed(this.#parts.clock, mark) >= this.#parts.holdMs) this.#end(mark);
  }

  /** Closes all marks under which no write is under way. */
  closeAll(): void {
    for (const marks of this.#held.values()) for (const mark of marks.values()) this.#end(mark);
  }

  /** Forgets the mark of an incarnation that has ended, without a note. Returns its token. */
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

  /** Closes a mark that serves no further writes, when the last one has ended. */
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

/** Milliseconds since a mark, by whichever clock shows more: one may stop while the machine sleeps. */
export function elapsed(clock: DirectoryClock, mark: Pick<HeldMark, "wall" | "monotonic">): number {
  return Math.max(clock.wall() - mark.wall, clock.monotonic() - mark.monotonic);
}
