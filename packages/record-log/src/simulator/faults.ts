/** The faults of a simulated run. Each can be left out, which shrinks a failing run. */
export const faults = [
  /** A client dies between two requests; its last request may still take effect later. */
  "crashes",
  /** A request is lost before it has an effect. */
  "lost requests",
  /** A request takes effect, and the reply is lost. */
  "lost replies",
  /** The client is told that a request failed before it has its effect. */
  "late effects",
  /** A request takes effect twice, and the reply is that of the second time. */
  "doubled requests",
  /** A write stays under way for days. */
  "days under way",
  /** A client's process pauses, for up to days. */
  "pauses",
  /** A pause in which the monotonic clock stops too. */
  "frozen clocks",
  /** A request or a reply takes minutes to days. */
  "slow requests",
  /** A read sees its first half earlier than its second. */
  "torn reads",
  /** Amendments are made row by row, in any order, some later than others. */
  "torn amendments",
  /** An amendment reaches some of its rows. Then its client dies, and the other rows stay as they are. */
  "half amendments",
  /** Clocks differ. */
  "wrong clocks",
  /** Clocks are set while they run. */
  "clock jumps",
  /** The backend deletes expired rows. */
  "deletion",
  /** Nobody writes for hours to weeks. */
  "silences",
  /** A caller aborts a call and no longer waits for it. */
  "aborts",
] as const;
export type Fault = (typeof faults)[number];

/** Counts by name. */
export class Counters {
  readonly counts = new Map<string, number>();

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }

  /** Keeps the largest of all given values. */
  largest(name: string, value: number): void {
    if (value > (this.counts.get(name) ?? Number.NEGATIVE_INFINITY)) this.counts.set(name, value);
  }
}
