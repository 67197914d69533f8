import type { Interval } from "./world.ts";

interface Cluster {
  /** Undefined: no known write has the value. */
  write: Interval | undefined;
  readonly reads: Interval[];
}

/**
 * Records the writes and reads of one value, where each value is written at most once. Determines whether there is
 * an order of all writes and reads, each within its interval, in which each read returns the newest write's value.
 * A write with an unknown outcome may be at any position after its start, or absent.
 */
export class Register {
  readonly #clusters = new Map<unknown, Cluster>();
  /** Values from which nothing is concluded. */
  readonly #ignored = new Set<unknown>();

  constructor(initial?: unknown) {
    this.#of(initial).write = { start: 0, end: 0 };
  }

  /** The interval may end later. */
  wrote(value: unknown, interval: Interval): void {
    this.#of(value).write = interval;
  }

  read(value: unknown, interval: Interval): void {
    this.#of(value).reads.push({ ...interval });
  }

  /** Ignores a value that may have been written twice. */
  ignore(value: unknown): void {
    this.#ignored.add(value);
  }

  /** The problem as text; undefined if the order exists. By Gibbons and Korach, "Testing Shared Memories". */
  problem(): string | undefined {
    const forward: { value: unknown; low: number; high: number }[] = [];
    const backward: typeof forward = [];
    for (const [value, { write, reads }] of this.#clusters) {
      if (this.#ignored.has(value)) continue;
      if (!write) return `${format(value)} was read, which nobody wrote`;
      if (reads.some(({ end }) => end < write.start))
        return `${format(value)} was read before it was written`;
      if (reads.length === 0 && write.end === Number.POSITIVE_INFINITY) continue;
      const firstEnd = Math.min(write.end, ...reads.map(({ end }) => end));
      const lastStart = Math.max(write.start, ...reads.map(({ start }) => start));
      // A value with a forward zone is current for the whole zone; one with a backward zone for a moment of it.
      if (firstEnd < lastStart) forward.push({ value, low: firstEnd, high: lastStart });
      else backward.push({ value, low: lastStart, high: firstEnd });
    }
    forward.sort((a, b) => a.low - b.low);
    for (const [index, zone] of forward.entries()) {
      const next = forward[index + 1];
      if (next && next.low < zone.high) return clash(zone, next);
    }
    for (const zone of backward) {
      const around = forward.find(({ low, high }) => low < zone.low && zone.high < high);
      if (around) return clash(around, zone);
    }
    return undefined;
  }

  #of(value: unknown): Cluster {
    const cluster = this.#clusters.get(value) ?? { write: undefined, reads: [] };
    this.#clusters.set(value, cluster);
    return cluster;
  }
}

interface Zone {
  readonly value: unknown;
  readonly low: number;
  readonly high: number;
}

function clash(one: Zone, other: Zone): string {
  const words = ({ value, low, high }: Zone) => `${format(value)} (moments ${low} to ${high})`;
  return `${words(one)} and ${words(other)} cannot both be right: a write was lost, or came back`;
}

function format(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
