import { checkOptions } from "@scrollback/store-core/driver";
import { isPositiveInteger } from "@scrollback/store-core/internal";
import { AnswerLog } from "./answer-log.ts";
import type { ChatStreams } from "./streams.ts";
import { ERROR_EVENTS } from "./watched-stream.ts";

const DEFAULT_MAX_BYTES = 64 * 1_024 * 1_024;
/** The memory that each running answer may take although `maxBytes` is used up, for listeners that are a little behind. */
const WINDOW_BYTES = 256 * 1_024;

/**
 * Running answers of this process, in memory. Other processes cannot read them. Does no I/O.
 *
 * @param options `maxBytes`: memory for all answers and their listeners together, default 64 MiB. Beyond it, each running answer
 * takes at most 256 KiB, or one chunk. An answer that does not fit is still made and saved, and sent to the listeners that keep up.
 * It cannot be resumed, and a listener that is behind gets an error.
 */
export function inProcessStreams(options: { maxBytes?: number } = {}): ChatStreams {
  checkOptions("inProcessStreams", options, { maxBytes: isPositiveInteger });
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  const windowBytes = Math.min(WINDOW_BYTES, maxBytes);
  const running = new Map<string, AnswerLog>();
  /** Ended answers that a listener is still reading, oldest first. */
  const ended = new Set<AnswerLog>();
  const stops = new Map<string, Set<() => void>>();
  let usedBytes = 0;

  const release = (answer: AnswerLog) => {
    ended.delete(answer);
    usedBytes -= answer.cut(0);
  };
  const append = (answer: AnswerLog, chunk: string) => {
    if (answer.isEnded) return;
    usedBytes += answer.append(chunk);
    for (const one of ended) if (usedBytes > maxBytes) release(one);
    if (usedBytes > maxBytes || !answer.isWhole) usedBytes -= answer.cut(windowBytes);
  };
  const end = (runId: string, answer: AnswerLog) => {
    answer.end();
    if (running.get(runId) === answer) running.delete(runId);
    if (answer.hasListeners) ended.add(answer);
    else release(answer);
  };

  return {
    publish(runId, stream) {
      const answer = new AnswerLog();
      running.set(runId, answer);
      void stream
        .pipeTo(new WritableStream({ write: (chunk) => append(answer, chunk) }))
        .catch(() => undefined)
        .finally(() => end(runId, answer));
    },
    async resume(runId) {
      const answer = running.get(runId);
      if (!answer?.isWhole) return undefined;
      return answer.listen(ERROR_EVENTS, () => {
        if (answer.isEnded && !answer.hasListeners) release(answer);
      });
    },
    async stop(runId) {
      for (const listener of stops.get(runId) ?? []) listener();
    },
    onStop(runId, listener) {
      const listeners = stops.get(runId) ?? new Set();
      stops.set(runId, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stops.delete(runId);
      };
    },
    async close() {
      for (const [runId, answer] of running) end(runId, answer);
      stops.clear();
    },
  };
}
