/**
 * The kind of an error, as a closed set.
 *
 * - `INVALID_ARGUMENT`: an argument, option or message is invalid; nothing was sent.
 * - `INVALID_STATE`: a serialised state has another type, version, backend or shape; nothing changed.
 * - `CONFLICT`: the thread is at another revision than expected, or the operation id was used for another change.
 * - `NOT_FOUND`: a named thing does not exist. Used only by layers above the store.
 * - `TOO_LARGE`: a documented size limit is exceeded; nothing was written.
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

/** The fields of a {@link StoreError} besides its code and message. */
export interface StoreErrorOptions {
  /** The raw error of the backend or of the caller's signal. */
  cause?: unknown;
  /** See {@link StoreError.retryable}. Default false. */
  retryable?: boolean | undefined;
  /** See {@link StoreError.sequence}. */
  sequence?: number | undefined;
  /** See {@link StoreError.threadId}. */
  threadId?: string | undefined;
}

/**
 * The only error class of all Scrollback packages. Its message names the invalid argument or option and the fix, and
 * never contains a secret. The backend's own error is the `cause`.
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
   * True if the same call may succeed later without any change: after a lost connection, a failover, or while a server is
   * loading or throttling. Only `UNAVAILABLE` is ever retryable.
   */
  readonly retryable: boolean;
  /** With `CORRUPT`: the sequence number of the unreadable message, if one message is at fault. */
  readonly sequence: number | undefined;
  /** With `CORRUPT`: the id of the unreadable thread, if the error tells it. Listings do. */
  readonly threadId: string | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.sequence = options.sequence;
    this.threadId = options.threadId;
  }

  /** Whether `error` is a StoreError, with `code` if one is given. Also recognises errors of another copy of this package. */
  static is(error: unknown, code?: StoreErrorCode): error is StoreError {
    return (
      error instanceof Error &&
      error.name === "StoreError" &&
      "code" in error &&
      (code === undefined || error.code === code)
    );
  }
}

/** The error of a write whose expected revision is not the thread's. */
export function revisionConflict(): StoreError {
  return new StoreError(
    "CONFLICT",
    "expectedRevision: the thread is at another revision; read it and try again",
  );
}

/** The error of a call after the factory and its driver were closed. */
export function closedError(): StoreError {
  return new StoreError("CLOSED", "the store factory was closed; create a new one");
}
