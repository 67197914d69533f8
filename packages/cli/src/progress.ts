import cliProgress from "cli-progress";
import { countOf, shownCount, shownDuration } from "./figures.ts";
import type { Output } from "./output.ts";

/** Work that takes no longer shows nothing. */
const SHOWN_AFTER_MS = 1_000;
/** The minimum interval of lines without a terminal. */
const LINES_EVERY_MS = 5_000;

/** What a long command shows of how far it is. */
export interface ProgressTotals {
  /** What is being done, such as `copying`. */
  readonly label: string;
  readonly threads: number;
  /** The work in all, in any unit that grows with the time it takes. */
  readonly work: number;
}

/** Shows how far a command is: a bar with rate and time left on a terminal, else a line every few seconds. */
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
        // Ctrl-C ends the command as its own signal says.
        gracefulExit: false,
      },
      cliProgress.Presets.shades_classic,
    );
    this.#timer = setTimeout(() => {
      this.#bar.start(Math.max(1, totals.work), this.#work);
      if (isTerminal) output.beforeNote(() => output.stderr.write("\r\u001b[K"));
    }, SHOWN_AFTER_MS);
  }

  /** Some of a thread's work is done. */
  advance(work: number): void {
    this.#work += work;
    if (this.#bar.isActive) this.#bar.update(Math.min(this.#work, this.#totals.work));
  }

  /** A thread is done. */
  finishThread(): void {
    this.#threads += 1;
  }

  /** Takes the bar away. Further calls have no effect. */
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
