import { countOf, shownCount, shownDuration } from "./figures.ts";
import type { Output } from "./output.ts";

/** The interval of lines: the first comes after one interval, so shorter work shows nothing. */
const TERMINAL_EVERY_MS = 1_000;
const ELSE_EVERY_MS = 5_000;

/** The number of threads that are done, and of all that are selected, if it is known. */
interface Sums {
  readonly selected: number | undefined;
  readonly done: number;
}

/** `12 of 100 threads` */
export function doneOf({ selected, done }: Sums): string {
  return selected === undefined
    ? countOf(done, "thread")
    : `${shownCount(done)} of ${countOf(selected, "thread")}`;
}

/** Shows the progress of a command, with rate and remaining time: on a terminal in one line, else a line every 5 s. Returns what ends it. */
export function showProgress(output: Output, label: string, sums: Sums): () => void {
  const start = performance.now();
  const show = () => {
    const { selected, done } = sums;
    const elapsed = performance.now() - start;
    const parts = [`${label} ${doneOf(sums)}`];
    if (done > 0) parts.push(`${shownCount(Math.round(done / (elapsed / 1_000)))}/s`);
    if (done > 0 && selected !== undefined)
      parts.push(`${shownDuration((elapsed / done) * (selected - done))} left`);
    if (output.stderr.isTTY) output.status(parts.join(", "));
    else output.note(parts.join(", "));
  };
  const timer = setInterval(show, output.stderr.isTTY ? TERMINAL_EVERY_MS : ELSE_EVERY_MS);
  return () => {
    clearInterval(timer);
    output.status("");
  };
}
