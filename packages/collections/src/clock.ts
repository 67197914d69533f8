import { type Clock, systemClock } from "@scrollback/store-core/internal";

/** The clock and timers of lists. Tests and simulations supply their own. */
export interface ListClock extends Pick<Clock, "wall" | "sleep"> {
  /** Calls `run` once, `ms` milliseconds from now, and keeps the process alive until then. Returns a function that cancels it. */
  timer(ms: number, run: () => void): () => void;
}

/** The clock and timers of this process. */
export const systemListClock: ListClock = Object.freeze({
  ...systemClock,
  timer(ms: number, run: () => void) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});
