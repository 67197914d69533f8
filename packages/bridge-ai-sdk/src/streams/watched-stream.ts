import type { UIMessageChunk } from "ai";
import { ERROR_TEXT } from "./contained-stream.ts";

/** After this time without a chunk a listener checks whether the answer is still being made. */
const SILENCE_MS = 5_000;
/** Keeps proxies from closing the connection. */
const KEEP_ALIVE = ": keep-alive\n\n";
/** The end of an answer that cannot be read further. */
export const ERROR_EVENTS = `data: ${JSON.stringify({ type: "error", errorText: ERROR_TEXT } satisfies UIMessageChunk)}\n\ndata: [DONE]\n\n`;

/**
 * A running answer for a late listener, as text of server-sent events. If the process that makes the answer dies, no chunk
 * reports this. So the stream ends with an error if no chunk arrives and two checks find that the run has ended.
 *
 * @param isRunning Called while no chunk arrives.
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
      // A short outage of the store does not end the answer.
      const isRunningNow = await isRunning().catch(() => true);
      const isOver = !isRunningNow && !wasRunning;
      wasRunning = isRunningNow;
      controller.enqueue(isOver ? ERROR_EVENTS : KEEP_ALIVE);
      if (!isOver) return;
      controller.close();
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The outcome of a promise; undefined after the timeout. */
async function withinSilence<T>(promise: Promise<T>): Promise<T | undefined> {
  const { promise: silence, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), SILENCE_MS);
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
