/** The number of items that are read, or written, concurrently. */
export const AT_ONCE = 16;

/** The next items of an iteration: fewer at its end. */
export async function take<T>(iterator: AsyncIterator<T, undefined>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) {
    const { value, done } = await iterator.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

export async function inBatches<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < all.length; start += AT_ONCE)
    await Promise.all(all.slice(start, start + AT_ONCE).map(run));
}
