import type { Clock } from "./clock.ts";

/**
 * The time for which other processes are assumed to write to a thread, after one of their swaps was first, and the same in
 * swaps, for a slow server.
 */
const CONTENDED_MS = 5_000;
const CONTENDED_SWAPS = 128;
/**
 * The number of commits that a process makes in succession while others write. It then pauses, so that another process
 * can be first. On a slow server it makes as many as fit into a second, but at least two.
 */
const COMMITS_IN_SUCCESSION = { most: 8, least: 2, ms: 1_000 };
/** The same if no other writer is known: others may lose every race without this process noticing. */
const COMMITS_ALONE = { most: 128, least: 32, ms: 4_000 };
/** Pauses are multiples of the time of one swap, which is the duration of a race. */
const LONGEST_PAUSE = 16;
const PAUSE_OF_WINNER = 8;
const PAUSE_ALONE = 4;
/** After this number of losses in succession, pauses are short, so that an attempt falls into a pause of the winner. */
const PATIENT_LOSSES = 6;
const IMPATIENT_PAUSE = 2;
const SLOWEST_SWAP_MS = 1_000;
/**
 * The estimated time of a swap grows by at most this factor with each swap: a single one that waited, for example for a
 * checkpoint of the server, must not cause long pauses.
 */
const LARGEST_GROWTH = 4;
const LONGEST_PAUSE_MS = 4_000;

type Timing = Pick<Clock, "monotonic" | "sleep">;

/**
 * Decides when a process pauses, so that it shares a thread with other processes that write continuously. The winner of a race
 * knows the end of the thread, while a loser must read it first, so the winner would win every race. Therefore a winner pauses
 * after some commits, and a loser pauses longer with each loss, because each early attempt costs two requests. After several
 * losses its pauses are short, so that it does not miss every pause of the winner.
 *
 * Pauses do not affect correctness: the swap of a head decides which process commits.
 */
export class Contention {
  /** The last time at which another process was first, by the monotonic clock. */
  #lostAt = Number.NEGATIVE_INFINITY;
  /** The end of the last commit. */
  #madeAt = Number.NEGATIVE_INFINITY;
  /** Commits without a pause between them. */
  #inSuccession = 0;
  /** Losses without a commit between them. */
  #losses = 0;
  /** The next pause, in times of a swap. */
  #pause = 0;
  /** The estimated time of a swap. */
  #swapMs = 0;

  /** Records that another process was first. */
  lost(clock: Timing, swapMs: number): void {
    this.#losses += 1;
    const longer = Math.min(LONGEST_PAUSE, Math.max(1, 2 * this.#pause));
    // A first loss may only mean that this process did not write for a while.
    if (!this.isContended(clock)) this.#pause = 0;
    else this.#pause = this.#losses > PATIENT_LOSSES ? IMPATIENT_PAUSE : longer;
    this.#lostAt = clock.monotonic();
    this.#inSuccession = 0;
    this.#observe(swapMs);
  }

  /** Records a commit of this process. */
  made(clock: Timing, swapMs: number): void {
    this.#madeAt = clock.monotonic();
    this.#inSuccession += 1;
    this.#losses = 0;
    this.#observe(swapMs);
  }

  /** Whether the next commit has to pause first. */
  yields(clock: Timing): boolean {
    const isContended = this.isContended(clock);
    if (clock.monotonic() - this.#madeAt > this.#swapMs) this.#inSuccession = 0;
    const { most, least, ms } = isContended ? COMMITS_IN_SUCCESSION : COMMITS_ALONE;
    if (this.#inSuccession < Math.max(least, Math.min(most, ms / this.#swapMs))) return false;
    this.#inSuccession = 0;
    this.#pause = isContended ? Math.max(PAUSE_OF_WINNER, this.#pause / 2) : PAUSE_ALONE;
    return true;
  }

  /** Waits for a random part of the next pause. Returns false if there is none. */
  async pause(clock: Timing, signal?: AbortSignal): Promise<boolean> {
    const ms = Math.min(LONGEST_PAUSE_MS, this.#pause * this.#swapMs);
    if (ms > 0) await clock.sleep(ms, signal);
    return ms > 0;
  }

  #observe(swapMs: number): void {
    this.#swapMs = Math.min(SLOWEST_SWAP_MS, swapMs, LARGEST_GROWTH * this.#swapMs + 1);
  }

  /** Whether others write to the thread, so that the state from before a pause is outdated. */
  isContended(clock: Timing): boolean {
    return clock.monotonic() - this.#lostAt < Math.max(CONTENDED_MS, CONTENDED_SWAPS * this.#swapMs);
  }
}
