import { emitWarning } from "#runtime";
import { type Check, checkValue, invalid } from "./arguments.ts";
import { RecentMap } from "./recent-map.ts";

/** The time in milliseconds within which an error with the same message leads to one warning. */
const WARNED_MS = 60_000;
/** The times of the latest warnings, by message. */
const warned = new RecentMap<number>(1_000);

/**
 * Makes an application's `onError` harmless: it is not awaited, and an error that it throws or rejects with becomes a warning of
 * the process. Without an `onError` the first argument becomes one, each message at most once a minute.
 */
export function reporter<A extends unknown[]>(
  onError: ((...args: A) => unknown) | undefined,
): (...args: A) => void {
  if (!onError) return (...[error]: A) => warnOnce(error);
  return (...args) => {
    try {
      const result = onError(...args);
      if (isThenable(result)) result.then(undefined, warnOfOnError);
    } catch (failure) {
      warnOfOnError(failure);
    }
  };
}

function warnOnce(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const now = performance.now();
  if (now - (warned.get(message) ?? Number.NEGATIVE_INFINITY) < WARNED_MS) return;
  warned.set(message, now);
  const warning = new Error(message, { cause: error });
  warning.name = "ScrollbackWarning";
  emitWarning(warning);
}

function warnOfOnError(failure: unknown): void {
  const message = failure instanceof Error ? failure.message : String(failure);
  emitWarning(`onError: ${message}`);
}

/** The handling of a callback that fails. */
export interface CallbackHandling<A extends unknown[], T> {
  /** For the error that is reported. */
  readonly name: string;
  /** Checks the result. */
  readonly check?: Check;
  onError(error: unknown): void;
  /** Returns the result to use if the callback fails. */
  otherwise(...args: A): T;
}

/**
 * A callback of the application that must return at once, made so that it cannot fail. It fails if it throws, returns a promise, or
 * returns a value that `check` refuses.
 */
export function guarded<A extends unknown[], T>(
  callback: (...args: A) => T,
  { name, check, onError, otherwise }: CallbackHandling<A, T>,
): (...args: A) => T {
  return (...args) => {
    try {
      const result = resultNow(name, callback(...args));
      if (check) checkValue(name, "the result", check, result);
      return result;
    } catch (error) {
      onError(error);
      return otherwise(...args);
    }
  };
}

/** Refuses a promise, and keeps its rejection from ending the process. @throws StoreError `INVALID_ARGUMENT`. */
export function resultNow<T>(name: string, result: T): T {
  if (!isThenable(result)) return result;
  result.then(undefined, () => undefined);
  return invalid(`${name}: must return its result, not a promise`);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
