import { median, percentile } from "../src/statistics.ts";

/** The cost of a call at one size. */
export interface Point {
  readonly size: number;
  readonly medianMs: number;
  readonly percentile95Ms: number;
  /** The number of measured calls. */
  readonly calls: number;
}

/** A straight line through logarithms: `time = factor * size ** slope`. */
export interface Fit {
  readonly slope: number;
  readonly factor: number;
}

export function pointOf(size: number, times: readonly number[]): Point {
  return { size, medianMs: median(times), percentile95Ms: percentile(times, 95), calls: times.length };
}

/**
 * The line of least squares through the logarithms of sizes and median times. A slope near 0 is flat, 1 grows in proportion.
 *
 * @throws RangeError for fewer than two different sizes, or a size or time that is not above 0.
 */
export function fitLine(points: readonly Pick<Point, "size" | "medianMs">[]): Fit {
  const logs = points.map(({ size, medianMs }) => ({ x: Math.log(size), y: Math.log(medianMs) }));
  if (!logs.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))) {
    throw new RangeError("sizes and times must be above 0 to have logarithms");
  }
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(logs.map(({ x }) => x)), mean(logs.map(({ y }) => y))];
  const spread = logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  if (!(spread > 0)) throw new RangeError("a line needs two different sizes");
  const slope = logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread;
  return { slope, factor: Math.exp(meanY - slope * meanX) };
}

export function timeAt({ slope, factor }: Fit, size: number): number {
  return factor * size ** slope;
}
