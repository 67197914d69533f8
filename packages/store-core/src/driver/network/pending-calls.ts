import { closedError } from "../../errors.ts";

/** The time that `close` waits for a client whose server may hang. */
const CLOSE_TIMEOUT_MS = 500;

/** The message of a `TimeoutError`. */
export const NO_REPLY = "the server did not reply in time";

/**
 * The calls of a driver that wait for a reply. Each call settles within its timeout or when the driver closes, independent of
 * the client.
 */
export class PendingCalls {
  readonly #rejections = new Set<(error: Error) => void>();
  readonly #abort = new AbortController();
  #closing: Promise<void> | undefined;

  /** Aborted by {@link close}, for clients that accept a signal and for pauses between requests. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Runs a call. Rejects with `CLOSED` once {@link close} was called, also while the call waits.
   *
   * @param timeoutMs the time after which the call rejects with a `TimeoutError`, for a client with unknown timeouts.
   *   Default: no limit.
   * @param problem the message of that error.
   */
  async run<T>(call: () => Promise<T>, timeoutMs?: number, problem = NO_REPLY): Promise<T> {
    if (this.#closing) throw closedError();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#rejections.add(reject);
    call().then(resolve, reject);
    try {
      return await (timeoutMs === undefined ? promise : inTime(promise, timeoutMs, problem));
    } finally {
      this.#rejections.delete(reject);
    }
  }

  /**
   * Rejects all waiting calls, then waits at most 500 ms for the client, which continues to close by itself. Further
   * calls have no effect.
   */
  close(disconnect: () => unknown): Promise<void> {
    this.#closing ??= this.#close(disconnect);
    return this.#closing;
  }

  async #close(disconnect: () => unknown): Promise<void> {
    for (const reject of this.#rejections) reject(closedError());
    this.#abort.abort();
    await PendingCalls.disconnectInTime(disconnect);
  }

  /** Waits at most 500 ms for a client, which continues to close by itself. Ignores its errors: the connection is gone. */
  static async disconnectInTime(disconnect: () => unknown): Promise<void> {
    const disconnected = (async () => await disconnect())().catch(() => undefined);
    await inTime(disconnected, CLOSE_TIMEOUT_MS, NO_REPLY, { ref: false }).catch(() => undefined);
  }
}

/**
 * Settles with a reply, or rejects after `ms` with a `TimeoutError` whose message is `problem`.
 *
 * @param ref whether the timer keeps the process alive.
 */
export function inTime<T>(reply: Promise<T>, ms: number, problem: string, { ref = true } = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error(problem), { name: "TimeoutError" }));
    // A number in browsers, which have no process to keep alive.
    const timer: Partial<NodeJS.Timeout> = setTimeout(late, ms);
    if (!ref) timer.unref?.();
    const settle =
      <V>(how: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer as NodeJS.Timeout);
        how(value);
      };
    reply.then(settle(resolve), settle(reject));
  });
}
