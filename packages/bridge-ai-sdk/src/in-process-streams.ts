import { checkOptions, isPositiveInteger } from "@scrollback/store-core";
import type { ChatStreams } from "./streams.ts";

const DEFAULT_MAX_BYTES = 64 * 1_024 * 1_024;

interface Running {
  /** Undefined if the answer did not fit into memory: a listener can no longer start at the beginning. */
  chunks: string[] | undefined;
  bytes: number;
  readonly listeners: Set<ReadableStreamDefaultController<string>>;
}

/**
 * Running answers of this process, in memory. Other processes cannot read them. Does no I/O.
 *
 * @param options `maxBytes`: memory for all running answers together, default 64 MiB. An answer that does not fit is still made,
 * saved and sent to its current listeners; it cannot be resumed.
 */
export function inProcessStreams(options: { maxBytes?: number } = {}): ChatStreams {
  checkOptions("inProcessStreams", options, { maxBytes: isPositiveInteger });
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  const running = new Map<string, Running>();
  const stops = new Map<string, Set<() => void>>();
  let usedBytes = 0;

  const keep = (run: Running, chunk: string) => {
    for (const listener of run.listeners) listener.enqueue(chunk);
    if (!run.chunks) return;
    run.chunks.push(chunk);
    run.bytes += chunk.length * 2;
    usedBytes += chunk.length * 2;
    if (usedBytes > maxBytes) forget(run);
  };
  const forget = (run: Running) => {
    usedBytes -= run.bytes;
    run.bytes = 0;
    run.chunks = undefined;
  };
  const end = (runId: string, run: Running) => {
    for (const listener of run.listeners) listener.close();
    run.listeners.clear();
    forget(run);
    running.delete(runId);
  };

  return {
    publish(runId, stream) {
      const run: Running = { chunks: [], bytes: 0, listeners: new Set() };
      running.set(runId, run);
      void stream
        .pipeTo(new WritableStream({ write: (chunk) => keep(run, chunk) }))
        .catch(() => undefined)
        .finally(() => end(runId, run));
    },
    async resume(runId) {
      const run = running.get(runId);
      if (!run?.chunks) return undefined;
      const { chunks, listeners } = run;
      let own: ReadableStreamDefaultController<string>;
      return new ReadableStream<string>({
        start(controller) {
          own = controller;
          if (chunks.length > 0) controller.enqueue(chunks.join(""));
          listeners.add(controller);
        },
        cancel: () => void listeners.delete(own),
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
      for (const [runId, run] of running) end(runId, run);
      stops.clear();
    },
  };
}
