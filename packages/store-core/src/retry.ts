import { type Clock, systemClock } from "./clock.ts";
import { StoreError } from "./errors.ts";

const WINDOW_MS = 5_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Pauses for a random time whose maximum grows with each attempt (from 0), so that writers that failed together do not
 * retry together.
 *
 * @throws StoreError `ABORTED` as soon as the signal is aborted.
 */
export async function pause(
  attempt: number,
  signal?: AbortSignal,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<void> {
  const ms = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  await untilAborted(() => clock.sleep(ms, signal), signal);
}

/** Options of {@link retryOnConflict}. */
export interface ConflictRetries {
  signal?: AbortSignal | undefined;
  /** The maximum number of attempts. Default 100. */
  attempts?: number;
  /** The number of attempts after which pauses stop growing. Default: they grow up to 1 second. */
  longestPause?: number;
  /** The clock of the pauses, for tests. Default: that of the process. */
  clock?: Pick<Clock, "sleep"> | undefined;
}

/** Options of {@link retry}. */
export interface Retries extends ConflictRetries {
  /** Whether an error leads to another attempt after `made` attempts. Default: a `CONFLICT` does. */
  isRetryable?(error: unknown, made: number): boolean;
  /** Whether the first attempt uses cached state, so that the second one follows without a pause. Default false. */
  isFirstCached?: boolean;
  /** The error after the last attempt. Default: that of the attempt. */
  exhausted?(error: unknown, attempts: number): unknown;
}

/**
 * Runs a read and the compare-and-set that follows it. Retries after a pause when another writer was first.
 *
 * @throws what `attempt` throws, including the `CONFLICT` of the last attempt, and `ABORTED` for an abort in a pause.
 * @example
 * await retryOnConflict(async () => {
 *   const { revision, metadata } = await store.read({ limit: 0 });
 *   await store.commit({ metadata: next(metadata) }, { expectedRevision: revision });
 * });
 */
export function retryOnConflict<T>(attempt: () => Promise<T>, options: ConflictRetries = {}): Promise<T> {
  return retry(attempt, { attempts: 100, ...options });
}

/**
 * Runs `attempt` with the number of earlier attempts, until it fails with an error that is not retryable, or for the last time. Pauses
 * before each repetition.
 *
 * @throws what `attempt` throws, the error of `exhausted` after the last attempt, and `ABORTED` for an abort in a pause.
 */
export async function retry<T>(attempt: (made: number) => Promise<T>, options: Retries = {}): Promise<T> {
  try {
    return await attempt(0);
  } catch (error) {
    return await retryAfter(error, attempt, options);
  }
}

/** The rest of {@link retry}, after a first attempt that failed with `first`. */
export async function retryAfter<T>(
  first: unknown,
  attempt: (made: number) => Promise<T>,
  options: Retries,
): Promise<T> {
  const { isRetryable = isConflict, attempts = Number.POSITIVE_INFINITY } = options;
  const { longestPause = Number.POSITIVE_INFINITY, signal, clock } = options;
  let error = first;
  for (let made = 1; ; made++) {
    if (!isRetryable(error, made)) throw error;
    if (made >= attempts) throw options.exhausted?.(error, made) ?? error;
    if (made > 1 || !options.isFirstCached) await pause(Math.min(made - 1, longestPause), signal, clock);
    try {
      return await attempt(made);
    } catch (next) {
      error = next;
    }
  }
}

const isConflict = (error: unknown) => StoreError.is(error, "CONFLICT");

/**
 * Says which errors are those of a short outage: a retryable `UNAVAILABLE`, for 5 seconds from `began` (of the clock's monotonic time). Only for repeatable operations:
 * reads, and commits with an operation id. Calls `onRetry` with the error before each retry.
 */
export function duringOutage(
  clock: Clock,
  onRetry?: (error: StoreError) => void,
  began = clock.monotonic(),
): (error: unknown) => boolean {
  const end = began + WINDOW_MS;
  return (error) => {
    if (!StoreError.is(error) || !error.retryable || clock.monotonic() >= end) return false;
    onRetry?.(error);
    return true;
  };
}

/** The error of a call whose signal is aborted. */
function abortedError({ reason }: AbortSignal): StoreError {
  return new StoreError(
    "ABORTED",
    "signal: the operation was aborted; a write happened as a whole or not at all",
    { cause: reason },
  );
}

/** @throws StoreError `ABORTED` if the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal);
}

/** Settles with `operation`, or rejects with `ABORTED` as soon as the signal is aborted. */
export async function untilAborted<T>(
  operation: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return await operation();
  throwIfAborted(signal);
  return await new Promise<T>((resolve, reject) => {
    const abort = () => reject(abortedError(signal));
    signal.addEventListener("abort", abort, { once: true });
    operation()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}
