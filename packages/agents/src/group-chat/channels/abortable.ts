import { untilAborted } from "@scrollback/store-core";

/**
 * What an iterable gives, until the signal is aborted, which rejects with `ABORTED` at once, also while the iterable
 * hangs; it is told to end, but not waited for then.
 */
export async function* abortable<T>(
  iterable: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, void> {
  const iterator = iterable[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await untilAborted(async () => await iterator.next(), signal);
      if (done) break;
      yield value;
    }
    isOver = true;
  } finally {
    if (!isOver) {
      const ended = (async () => await iterator.return?.())();
      if (signal?.aborted) ended.catch(() => {});
      else await ended;
    }
  }
}
