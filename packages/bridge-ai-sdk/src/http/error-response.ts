import { StoreError, type StoreErrorCode } from "@scrollback/store-core";

const statuses: Partial<Record<StoreErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_STATE: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TOO_LARGE: 413,
  CLOSED: 503,
  UNAVAILABLE: 503,
};

/** Whether an error is the server's and not the client's. */
export function isServerError(error: unknown): boolean {
  return statusOf(error) >= 500;
}

/**
 * `{ error, message }` with the status for the error's code. An error that is not a `StoreError` becomes `INTERNAL`. The message of
 * a server error may name threads, so the client does not receive it.
 */
export function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  const code = StoreError.is(error) ? error.code : "INTERNAL";
  const isClients = StoreError.is(error) && status < 500;
  const message = isClients ? error.message : status === 503 ? "Not available; try again" : "Internal error";
  return Response.json(
    { error: code, message },
    { status, ...(status === 503 && { headers: { "retry-after": "1" } }) },
  );
}

function statusOf(error: unknown): number {
  return StoreError.is(error) ? (statuses[error.code] ?? 500) : 500;
}
