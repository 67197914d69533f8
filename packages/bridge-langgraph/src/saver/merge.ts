/** A source that is read entry by entry, with its next entry. */
interface Source<T> {
  readonly next: T;
  readonly rest: AsyncIterator<T>;
  /** Of equal entries, the one of the earlier source comes first. */
  readonly place: number;
}

const AT_ONCE = 16;

/** Merges sources that are each sorted by `compare`. Reads the first entry of each source before it yields one. */
export async function* merge<T>(
  iterables: readonly AsyncIterable<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const isBehind = (a: Source<T>, b: Source<T>) => compare(a.next, b.next) || a.place - b.place;
  const sources: Source<T>[] = [];
  const advance = async (rest: AsyncIterator<T>, place: number): Promise<Source<T>[]> => {
    const { done, value } = await rest.next();
    return done ? [] : [{ next: value, rest, place }];
  };
  for (let start = 0; start < iterables.length; start += AT_ONCE) {
    const batch = iterables.slice(start, start + AT_ONCE);
    const opened = batch.map((one, index) => advance(one[Symbol.asyncIterator](), start + index));
    sources.push(...(await Promise.all(opened)).flat());
  }
  // The last source has the next entry.
  sources.sort((a, b) => isBehind(b, a));
  for (let first = sources.pop(); first; first = sources.pop()) {
    yield first.next;
    for (const source of await advance(first.rest, first.place)) {
      let low = 0;
      let high = sources.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        const other = sources[middle];
        if (other && isBehind(other, source) > 0) low = middle + 1;
        else high = middle;
      }
      sources.splice(low, 0, source);
    }
  }
}
