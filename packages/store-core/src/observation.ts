import { channel, tracingChannel } from "node:diagnostics_channel";
import type { Driver, DriverTarget } from "./driver.ts";
import type { StoreError } from "./errors.ts";

/**
 * One commit or one read, as the tracing channels `scrollback:commit` and `scrollback:read` of `node:diagnostics_channel`
 * publish it: the same object from `start` to `asyncEnd`. It holds no message and no metadata.
 *
 * @example
 * import { tracingChannel } from "node:diagnostics_channel";
 *
 * tracingChannel<object, StoreCall>("scrollback:commit").subscribe({
 *   asyncEnd: (call) => console.log(call.method, call.messages, call.error ?? "done"),
 * });
 */
export interface StoreCall {
  readonly operation: "commit" | "read";
  /** The method of the store that was called. One call of `popMessage` is a read and a commit, or several. */
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
  /** Where the backend keeps the thread; absent where the driver does not tell. */
  readonly target: DriverTarget | undefined;
  /** Whose thread it is may be private. */
  readonly threadId: string;
  /** How many messages a commit appends or a read got. 0 until that is known, by `asyncEnd` at the latest. */
  messages: number;
  /** The size of these, and of metadata that was set or got, as encoded: bytes of UTF-8. 0 until that is known. */
  bytes: number;
  /** How often it was tried again so far. */
  retries: number;
  /** Why it failed; absent until it does. Its `cause` is the backend's raw error. */
  error?: unknown;
}

/** What the channel `scrollback:retry` publishes, when a call that met an outage is about to be tried again. */
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

/** Runs a commit or a read and publishes it. Where nobody listens `run` is called with nothing, and that is all. */
export function observed<T>(
  operation: StoreCall["operation"],
  method: StoreCall["method"],
  driver: Driver,
  threadId: string,
  run: (call: StoreCall | undefined) => Promise<T>,
): Promise<T> {
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
        },
        run,
      )
    : run(undefined);
}

async function publish<T>(call: StoreCall, run: (call: StoreCall) => Promise<T>): Promise<T> {
  const results: T[] = [];
  // What the traced function returns is published, too: so it returns nothing, as the result holds messages.
  await callChannels[call.operation].tracePromise(async () => {
    results.push(await run(call));
  }, call);
  return results[0] as T;
}

/** Sets the number of messages and of bytes that a call carries. */
export function recordSize(
  call: StoreCall | undefined,
  records: readonly string[],
  metadata: string | null | undefined,
): void {
  if (!call) return;
  call.messages = records.length;
  call.bytes = [...records, metadata ?? ""].reduce((sum, record) => sum + Buffer.byteLength(record), 0);
}

/** Notes that a call is tried again. */
export function retried(call: StoreCall | undefined, error: StoreError): void {
  if (!call) return;
  call.retries += 1;
  if (retryChannel.hasSubscribers) retryChannel.publish({ call, error } satisfies StoreRetry);
}
