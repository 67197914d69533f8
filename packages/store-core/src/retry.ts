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
export async function retryOnConflict<T>(
  attempt: () => Promise<T>,
  { signal, attempts = 100, longestPause = Number.POSITIVE_INFINITY, clock }: ConflictRetries = {},
): Promise<T> {
  for (let made = 1; ; made++) {
    try {
      return await attempt();
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || made >= attempts) throw error;
    }
    await pause(Math.min(made - 1, longestPause), signal, clock);
  }
}

/**
 * Repeats `operation` while it fails with a retryable `UNAVAILABLE`, for at most 5 seconds from the first attempt. Only
 * for repeatable operations: reads, and commits with an operation id. Calls `onRetry` with the error before each retry.
 */
export async function withRetries<T>(
  operation: () => Promise<T>,
  signal?: AbortSignal,
  onRetry?: (error: StoreError) => void,
  clock = systemClock,
): Promise<T> {
  const began = clock.monotonic();
  try {
    return await operation();
  } catch (error) {
    return await retryAfter(error, began, operation, { signal, onRetry, clock });
  }
}

/** The options of {@link retryAfter}. */
export interface RetryOptions {
  readonly signal: AbortSignal | undefined;
  /** Called with the error before each attempt. */
  readonly onRetry: ((error: StoreError) => void) | undefined;
  readonly clock: Clock;
}

/**
 * The rest of {@link withRetries}, after a first attempt that began at `began` (of the clock's monotonic time) and failed
 * with `first`.
 */
export async function retryAfter<T>(
  first: unknown,
  began: number,
  operation: () => Promise<T>,
  { signal, onRetry, clock }: RetryOptions,
): Promise<T> {
  const end = began + WINDOW_MS;
  let error = first;
  for (let attempt = 0; ; attempt++) {
    if (!StoreError.is(error) || !error.retryable || clock.monotonic() >= end) throw error;
    onRetry?.(error);
    await pause(attempt, signal, clock);
    try {
      return await operation();
    } catch (next) {
      error = next;
    }
  }
}

/** The error of a call whose signal is aborted. */
export function abortedError({ reason }: AbortSignal): StoreError {
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
