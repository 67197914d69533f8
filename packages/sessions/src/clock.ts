let last = 0;

/**
 * A moment in microseconds since the epoch, later than any that this process was given before and than `known`. Only
 * what is finished for a process that died is ever compared by it.
 */
export function nextStamp(known = 0): number {
  last = Math.max(Date.now() * 1_000, last + 1, known + 1);
  return last;
}
