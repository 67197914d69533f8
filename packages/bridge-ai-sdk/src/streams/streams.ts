import { guarded } from "@scrollback/store-core/internal";
import { callWithin } from "../turn/call-within.ts";

/** Running answers as text of server-sent events, for late listeners. Each run is published once. */
export interface ChatStreams {
  /** Reads `stream` to its end, even without listeners. */
  publish(runId: string, stream: ReadableStream<string>): void;
  /**
   * Returns a running answer from its beginning; undefined if no such answer is available.
   *
   * @throws any error if the process that makes the answer does not reply. The handler then asks again for 10 s.
   */
  resume(runId: string): Promise<ReadableStream<string> | undefined>;
  /** Sends a stop request to the process that makes the answer. */
  stop(runId: string): Promise<void>;
  /** Calls `listener` when a stop of the run is requested. Returns a function that removes the listener. */
  onStop(runId: string, listener: () => void): () => void;
  /** Ends all listeners. */
  close(): Promise<void>;
}

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
