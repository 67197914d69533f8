import { channel, tracingChannel } from "node:diagnostics_channel";
import type { MessageRecord } from "../codec/record.ts";
import type { Driver, DriverTarget } from "../driver/driver.ts";
import { StoreError, type StoreErrorCode } from "../errors.ts";

/**
 * One commit or one read, as published on the tracing channels `scrollback:commit` and `scrollback:read` of
 * `node:diagnostics_channel`. The object stays the same from `start` to `asyncEnd`. It contains no message and no
 * metadata.
 *
 * @example
 * import { tracingChannel } from "node:diagnostics_channel";
 *
 * tracingChannel<object, StoreCall>("scrollback:commit").subscribe({
 *   asyncEnd: (call) => console.log(call.method, call.durationMs, call.outcome),
 * });
 */
export interface StoreCall {
  readonly operation: "commit" | "read";
  /** The method of the store that was called. One call of `popMessage` makes one or more reads and commits. */
  readonly method:
    | "addMessages"
    | "replaceMessages"
    | "clear"
    | "commit"
    | "copyThread"
    | "expire"
    | "popMessage"
    | "listMessages"
    | "read";
  /** The backend's name, as in a serialised state. */
  readonly backend: string;
  /** The thread's location in the backend; absent if the driver does not provide it. */
  readonly target: DriverTarget | undefined;
  /** May be private. */
  readonly threadId: string;
  /** The number of messages that a commit appends or a read returned. 0 until known, at the latest at `asyncEnd`. */
  messages: number;
  /** The encoded size of these messages, and of metadata that was set or read, in UTF-8 bytes. 0 until known. */
  bytes: number;
  /** The number of retries so far. */
  retries: number;
  /** The time that the call took, with retries and decoding, in milliseconds. 0 until it ends. */
  durationMs: number;
  /** `done`, or the code of the call's `StoreError`; `_OTHER` for another error, such as one of a callback. Absent until the call ends. */
  outcome?: "done" | StoreErrorCode | "_OTHER";
  /** The error of a failed call; absent until it fails. Its `cause` is the backend's raw error. */
  error?: unknown;
}

/** Published on the channel `scrollback:retry` before a call is retried after an outage. */
export interface StoreRetry {
  readonly call: StoreCall;
  readonly error: StoreError;
}

/** The channels, by operation. */
export const callChannels = Object.freeze({
  commit: tracingChannel<object, StoreCall>("scrollback:commit"),
  read: tracingChannel<object, StoreCall>("scrollback:read"),
});
export const retryChannel = channel("scrollback:retry");

let later: (() => boolean) | undefined;

/** Calls `subscribe` before each commit and read, until it returns true. */
export function subscribeLater(subscribe: () => boolean): void {
  later = subscribe;
}

/** Runs a commit or a read and publishes it. Without a subscriber it only calls `run(undefined)`. */
export function observed<T>(
  operation: StoreCall["operation"],
  method: StoreCall["method"],
  driver: Driver,
  threadId: string,
  run: (call: StoreCall | undefined) => Promise<T>,
): Promise<T> {
  if (later?.()) later = undefined;
  const calls = callChannels[operation];
  return calls.hasSubscribers
    ? publish(
        {
          operation,
          method,
          backend: driver.capabilities.backend,
          target: driver.target,
          threadId,
          messages: 0,
          bytes: 0,
          retries: 0,
          durationMs: 0,
        },
        run,
      )
    : run(undefined);
}

async function publish<T>(call: StoreCall, run: (call: StoreCall) => Promise<T>): Promise<T> {
  const results: T[] = [];
  // The channel publishes the result of the traced function. It returns nothing, because the result contains messages.
  await callChannels[call.operation].tracePromise(async () => {
    const began = performance.now();
    try {
      results.push(await run(call));
      call.outcome = "done";
    } catch (error) {
      call.outcome = StoreError.is(error) ? error.code : "_OTHER";
      throw error;
    } finally {
      call.durationMs = performance.now() - began;
    }
  }, call);
  return results[0] as T;
}

/** Sets the number of messages and of bytes that a call carries. */
export function recordSize(
  call: StoreCall,
  messages: readonly MessageRecord[],
  metadata: string | null | undefined,
): void {
  call.messages = messages.length;
  call.bytes = messages.reduce(
    (sum, { text }) => sum + Buffer.byteLength(text),
    Buffer.byteLength(metadata ?? ""),
  );
}

/** Counts and publishes a retry of a call. */
export function retried(call: StoreCall | undefined, error: StoreError): void {
  if (!call) return;
  call.retries += 1;
  if (retryChannel.hasSubscribers) retryChannel.publish({ call, error } satisfies StoreRetry);
}
