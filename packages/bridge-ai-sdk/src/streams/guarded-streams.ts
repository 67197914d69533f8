import { callNow, callWithin } from "@scrollback/store-core/internal";
import type { ChatStreams } from "./streams.ts";

/**
 * Streams of the application, whose failures affect neither an answer nor a stop: they are reported. `resume` and `stop`
 * settle within `ms` milliseconds. The handler closes only its own streams.
 */
export function guardedStreams(
  streams: ChatStreams,
  ms: number,
  onError: (error: unknown) => void,
): ChatStreams {
  const handling = (name: string) => ({ name: `streams.${name}`, onError });
  return {
    publish(runId, stream) {
      callNow<void>(() => streams.publish(runId, stream), {
        ...handling("publish"),
        otherwise: () => void stream.cancel().catch(() => undefined),
      });
    },
    resume: (runId) => callWithin(ms, "streams.resume", () => streams.resume(runId)),
    stop: (runId) => callWithin(ms, "streams.stop", () => streams.stop(runId)).catch(onError),
    onStop(runId, listener) {
      const remove = callNow<() => void>(() => streams.onStop(runId, listener), {
        ...handling("onStop"),
        otherwise: () => () => undefined,
      });
      return () => callNow<void>(remove, { ...handling("onStop"), otherwise: () => undefined });
    },
    close: () => streams.close(),
  };
}
