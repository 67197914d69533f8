import { callWithin, guarded } from "@scrollback/store-core/internal";
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
  const listen = guarded<Parameters<ChatStreams["onStop"]>, () => void>(
    (runId, listener) => streams.onStop(runId, listener),
    { name: "streams.onStop", onError, otherwise: () => () => undefined },
  );
  return {
    publish: guarded<Parameters<ChatStreams["publish"]>, void>(
      (runId, stream) => streams.publish(runId, stream),
      {
        ...{ name: "streams.publish", onError },
        otherwise: (_, stream) => void stream.cancel().catch(() => undefined),
      },
    ),
    resume: (runId) => callWithin(ms, "streams.resume", () => streams.resume(runId)),
    stop: (runId) => callWithin(ms, "streams.stop", () => streams.stop(runId)).catch(onError),
    onStop: (runId, listener) =>
      guarded(listen(runId, listener), { name: "streams.onStop", onError, otherwise: () => undefined }),
    close: () => streams.close(),
  };
}
