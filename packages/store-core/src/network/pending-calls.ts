import { setTimeout as sleep } from "node:timers/promises";
import { closedError } from "../errors.ts";

/** How long `close` waits for a client that says goodbye to a server that may hang. */
const CLOSE_TIMEOUT_MS = 500;

/** The calls of a driver that wait for a reply. Each of them settles, whatever the client does: in time, or when the driver closes. */
export class PendingCalls {
  readonly #rejections = new Set<(error: Error) => void>();
  readonly #abort = new AbortController();
  #closing: Promise<void> | undefined;

  /** Aborted by {@link close}, for clients that take a signal and for pauses between requests. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Runs a call. Rejects with `CLOSED` once {@link close} was called, also while the call waits.
   *
   * @param timeoutMs rejects with a `TimeoutError` after so many milliseconds, for a client whose own patience is not known.
   *   Default: no limit.
   */
  async run<T>(call: () => Promise<T>, timeoutMs?: number): Promise<T> {
    if (this.#closing) throw closedError();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#rejections.add(reject);
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => reject(timeoutError()), timeoutMs);
    call().then(resolve, reject);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#rejections.delete(reject);
    }
  }

  /**
   * Rejects all calls that wait, then waits at most 500 ms for the client, which goes on closing by itself. Twice is the same as
   * once.
   */
  close(disconnect: () => unknown): Promise<void> {
    this.#closing ??= this.#close(disconnect);
    return this.#closing;
  }

  async #close(disconnect: () => unknown): Promise<void> {
    for (const reject of this.#rejections) reject(closedError());
    this.#abort.abort();
    await disconnectInTime(disconnect);
  }
}

/** Waits at most 500 ms for a client, which goes on closing by itself. An error of it is passed over: the connection is gone. */
export async function disconnectInTime(disconnect: () => unknown): Promise<void> {
  const disconnected = (async () => await disconnect())().catch(() => undefined);
  await Promise.race([disconnected, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
}

function timeoutError(): Error {
  return Object.assign(new Error("the server did not reply in time"), { name: "TimeoutError" });
}
