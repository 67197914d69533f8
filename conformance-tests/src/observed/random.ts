import { createHash } from "node:crypto";

/** Pseudo-random numbers, equal for the same seed. */
export class Random {
  #state: number;

  constructor(seed: string) {
    this.#state = createHash("sha256").update(seed).digest().readUInt32LE(0);
  }

  /** From 0, below 1. The algorithm is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** True with the given probability. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(...values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }
}
