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
  /** Clocks differ. */
  "wrong clocks",
  /** Clocks are set while they run. */
  "clock jumps",
  /** The backend deletes expired data. */
  "deletion",
] as const;
export type Fault = (typeof faults)[number];

/** Counts by name. */
export class Counters {
  readonly counts = new Map<string, number>();

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}
