/** An axis: where a value lies on it, from 0 to 1, and where its marks are. */
export interface Axis {
  at(value: number): number;
  readonly marks: readonly number[];
}

const PER_DECADE = [1, 2, 5] as const;

/**
 * A logarithmic axis between the nice numbers (1, 2 or 5 times a power of ten) around the values, a decade at least: on a shorter
 * one the noise of a flat cost would look like growth.
 *
 * @throws RangeError for values that are not above 0.
 */
export function logAxis(values: readonly number[]): Axis {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!(least > 0)) throw new RangeError("a logarithmic axis shows what is above 0 only");
  const nice = niceFrom(Math.floor(Math.log10(least)) - 1, Math.ceil(Math.log10(most)) + 1);
  let from = nice.findLastIndex((value) => value <= least);
  let to = nice.findIndex((value) => value >= most);
  // Three nice numbers are a decade. Above and below in turn, so that the values stay in the middle.
  while (to - from < PER_DECADE.length) {
    to += 1;
    if (to - from < PER_DECADE.length) from -= 1;
  }
  const within = nice.slice(from, to + 1);
  const [start, end] = [within[0] ?? least, within.at(-1) ?? most];
  const decades = within.filter(isDecade);
  const span = Math.log(end / start);
  return { at: (value) => Math.log(value / start) / span, marks: decades.length >= 4 ? decades : within };
}

/**
 * A linear axis from 0 to a mark above the values.
 *
 * @throws RangeError where no value is above 0.
 */
export function linearAxis(values: readonly number[]): Axis {
  const most = Math.max(...values);
  if (!(most > 0)) throw new RangeError("an axis from 0 needs a value above it");
  const steps = niceFrom(Math.floor(Math.log10(most)) - 1, Math.ceil(Math.log10(most)));
  const step = steps.find((value) => most / value <= 5) ?? most;
  const count = Math.ceil(most / step);
  const to = count * step;
  return { at: (value) => value / to, marks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

function niceFrom(lowest: number, highest: number): number[] {
  const powers = Array.from({ length: highest - lowest + 1 }, (_, index) => lowest + index);
  // By the text of the number, as 5 * 10 ** -2 is not 0.05 to the last digit.
  return powers.flatMap((power) => PER_DECADE.map((digit) => Number(`${digit}e${power}`)));
}

function isDecade(value: number): boolean {
  return value.toExponential().startsWith("1e");
}
