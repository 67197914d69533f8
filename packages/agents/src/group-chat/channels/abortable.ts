import { untilAborted } from "@scrollback/store-core/internal";

/**
 * Yields the values of an iterable until the signal is aborted. Then rejects with `ABORTED` at once, even if the iterable hangs,
 * and calls the iterable's `return` without waiting for it.
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
