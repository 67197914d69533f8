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
