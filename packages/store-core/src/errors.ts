/**
 * What went wrong, as a closed set.
 *
 * - `INVALID_ARGUMENT`: an argument, option or message that can never be accepted; nothing was sent.
 * - `INVALID_STATE`: a serialised state of another type, version, backend or shape; nothing changed.
 * - `CONFLICT`: the thread is at another revision than expected, or the operation id was used for another change.
 * - `NOT_FOUND`: something named does not exist. Used by layers above the store only.
 * - `TOO_LARGE`: past a documented size limit; nothing was written.
 * - `UNAVAILABLE`: the backend could not be reached or refused to work; see {@link StoreError.retryable}.
 * - `ABORTED`: the caller's signal was aborted.
 * - `CORRUPT`: stored data cannot be read; see {@link StoreError.sequence}.
 * - `UNSUPPORTED`: this backend or its server cannot do what was asked.
 * - `CLOSED`: the store or its factory was closed.
 */
export type StoreErrorCode =
  | "INVALID_ARGUMENT"
  | "INVALID_STATE"
  | "CONFLICT"
  | "NOT_FOUND"
  | "TOO_LARGE"
  | "UNAVAILABLE"
  | "ABORTED"
  | "CORRUPT"
  | "UNSUPPORTED"
  | "CLOSED";

/** What a {@link StoreError} carries beside its code and message. */
export interface StoreErrorOptions {
  /** The raw error of the backend or of the caller's signal. */
  cause?: unknown;
  /** See {@link StoreError.retryable}. Default false. */
  retryable?: boolean | undefined;
  /** See {@link StoreError.sequence}. */
  sequence?: number | undefined;
}

/**
 * The one error class of all Scrollback packages. Its message names the argument or option at fault and the fix, and
 * never holds a secret; the backend's own error is the `cause`.
 *
 * @example
 * try {
 *   await store.addMessages(messages);
 * } catch (error) {
 *   if (StoreError.is(error, "CONFLICT")) await store.read();
 *   else throw error;
 * }
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  /**
   * True when the same call may succeed later without anybody changing anything: a lost connection, a failover, a
   * server that is loading or throttling. Only `UNAVAILABLE` is ever retryable.
   */
  readonly retryable: boolean;
  /** With `CORRUPT`: the sequence number of the message that cannot be read, where one message is at fault. */
  readonly sequence: number | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.sequence = options.sequence;
  }

  /** Whether `error` is a StoreError, of `code` where one is given. Recognises those of another copy of this package. */
  static is(error: unknown, code?: StoreErrorCode): error is StoreError {
    return (
      error instanceof Error &&
      error.name === "StoreError" &&
      "code" in error &&
      (code === undefined || error.code === code)
    );
  }
}

/** What a write fails with where the thread is not at the revision that it expects. */
export function revisionConflict(): StoreError {
  return new StoreError(
    "CONFLICT",
    "expectedRevision: the thread is at another revision; read it and try again",
  );
}

/** What a call fails with after the factory, and its driver, were closed. */
export function closedError(): StoreError {
  return new StoreError("CLOSED", "the store factory was closed; create a new one");
}
