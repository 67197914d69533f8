import { StoreError } from "../errors.ts";
import { countOf, pinnedOf, type SequenceBounds } from "../trimming/trimming.ts";

/** If more messages than this are missing, the read fails instead of returning an empty record for each. */
const MOST_MISSING = 10_000;

/** A stored message. */
interface Entry {
  readonly sequence: number;
  readonly record: string;
}

/**
 * The messages within `wanted`, for a backend with a row per message: those that were found, in order, and an empty record for each that is
 * missing. That makes it visible; leaving it out would hide it.
 *
 * @throws StoreError `CORRUPT` if more than 10,000 are missing.
 */
export function withMissing(wanted: SequenceBounds, found: readonly Entry[]): readonly Entry[] {
  const missing = countOf(wanted) - found.length;
  if (missing === 0) return found;
  if (missing > MOST_MISSING) {
    throw new StoreError(
      "CORRUPT",
      `the thread is damaged: ${missing} of ${countOf(wanted)} messages are missing`,
    );
  }
  const { first, next } = wanted;
  const records = new Map(found.map(({ sequence, record }) => [sequence, record]));
  const sequences = Array.from({ length: next - first }, (_, index) => first + index);
  sequences.unshift(...pinnedOf(wanted));
  return sequences.map((sequence) => ({ sequence, record: records.get(sequence) ?? "" }));
}
