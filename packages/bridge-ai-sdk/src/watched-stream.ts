import type { UIMessageChunk } from "ai";
import { ERROR_TEXT } from "./contained-stream.ts";

/** After so long without a chunk a listener looks whether the answer is still being made. */
const SILENCE_MS = 5_000;
/** Keeps proxies from closing the connection. */
const KEEP_ALIVE = ": keep-alive\n\n";
const ERROR = `data: ${JSON.stringify({ type: "error", errorText: ERROR_TEXT } satisfies UIMessageChunk)}\n\ndata: [DONE]\n\n`;

/**
 * A running answer for a late listener, as text of server-sent events. The process that makes the answer may die, and then no chunk
 * tells it: where nothing comes and the run is found ended twice, the stream ends with an error.
 *
 * @param isRunning Asked while nothing comes.
 */
export function watchedStream(
  stream: ReadableStream<string>,
  isRunning: () => Promise<boolean>,
): ReadableStream<string> {
  const reader = stream.getReader();
  let next: ReturnType<typeof reader.read> | undefined;
  let wasRunning = true;
  return new ReadableStream<string>({
    async pull(controller) {
      next ??= reader.read();
      const result = await withinSilence(next);
      if (result) {
        next = undefined;
        if (result.done) controller.close();
        else controller.enqueue(result.value);
        return;
      }
      // A store that is down for a moment does not end the answer.
      const isRunningNow = await isRunning().catch(() => true);
      const isOver = !isRunningNow && !wasRunning;
      wasRunning = isRunningNow;
      controller.enqueue(isOver ? ERROR : KEEP_ALIVE);
      if (!isOver) return;
      controller.close();
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** What a promise settles with; undefined where it takes too long. */
async function withinSilence<T>(promise: Promise<T>): Promise<T | undefined> {
  const { promise: silence, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), SILENCE_MS);
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
