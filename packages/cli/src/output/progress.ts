import cliProgress from "cli-progress";
import { countOf, shownCount, shownDuration } from "./figures.ts";
import type { Output } from "./output.ts";

/** The time after which progress is shown. Shorter work shows nothing. */
const SHOWN_AFTER_MS = 1_000;
/** The minimum interval of lines without a terminal. */
const LINES_EVERY_MS = 5_000;

/** The totals for the progress of a long command. */
export interface ProgressTotals {
  /** The name of the work, such as `copying`. */
  readonly label: string;
  readonly threads: number;
  /** The total work, in any unit that grows with the required time. */
  readonly work: number;
}

/** Shows the progress of a command: on a terminal a bar with rate and remaining time, else a line every 5 s. */
export class Progress {
  readonly #totals: ProgressTotals;
  readonly #output: Output;
  readonly #bar: cliProgress.SingleBar;
  readonly #start = performance.now();
  #threads = 0;
  #work = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(output: Output, totals: ProgressTotals) {
    this.#totals = totals;
    this.#output = output;
    const isTerminal = output.stderr.isTTY === true;
    this.#bar = new cliProgress.SingleBar(
      {
        stream: output.stderr,
        format: (options, { progress }) =>
          isTerminal ? `${cliProgress.Format.BarFormat(progress, options)} ${this.#line()}` : this.#line(),
        barsize: 20,
        noTTYOutput: true,
        notTTYSchedule: LINES_EVERY_MS,
        clearOnComplete: true,
        hideCursor: null,
        linewrap: null,
        forceRedraw: true,
        // The CLI handles Ctrl-C itself.
        gracefulExit: false,
      },
      cliProgress.Presets.shades_classic,
    );
    this.#timer = setTimeout(() => {
      this.#bar.start(Math.max(1, totals.work), this.#work);
      if (isTerminal) output.beforeNote(() => output.stderr.write("\r\u001b[K"));
    }, SHOWN_AFTER_MS);
  }

  /** Adds completed work of a thread. */
  advance(work: number): void {
    this.#work += work;
    if (this.#bar.isActive) this.#bar.update(Math.min(this.#work, this.#totals.work));
  }

  /** Adds a completed thread. */
  finishThread(): void {
    this.#threads += 1;
  }

  /** Removes the bar. Further calls have no effect. */
  stop(): void {
    clearTimeout(this.#timer);
    if (this.#bar.isActive) this.#bar.stop();
    this.#output.beforeNote(() => undefined);
  }

  #line(): string {
    const { label, threads, work } = this.#totals;
    const elapsed = performance.now() - this.#start;
    const rate = this.#threads / (elapsed / 1_000);
    const left = this.#work === 0 ? undefined : (elapsed / this.#work) * (work - this.#work);
    const parts = [
      `${label} ${shownCount(this.#threads)} of ${countOf(threads, "thread")}`,
      `${Math.floor((100 * this.#work) / Math.max(1, work))}%`,
    ];
    if (Math.round(rate) > 0) parts.push(`${shownCount(Math.round(rate))}/s`);
    if (left !== undefined) parts.push(`${shownDuration(left)} left`);
    return parts.join(", ");
  }
}
