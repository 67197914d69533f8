/** The middle value; for an even number of values, the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = at(sorted, sorted.length >> 1);
  return sorted.length % 2 === 1 ? upper : (at(sorted, sorted.length / 2 - 1) + upper) / 2;
}

/** The smallest value that at least `percent` per cent of the values do not exceed (the nearest rank). */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return at(sorted, Math.ceil((sorted.length * percent) / 100) - 1);
}

function at(sorted: readonly number[], index: number): number {
  const value = sorted[index];
  if (value === undefined) throw new RangeError("statistics of no values");
  return value;
}
