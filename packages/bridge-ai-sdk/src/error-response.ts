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

/** `{ error, message }` with the status for the error's code. An error that is not a `StoreError` becomes `INTERNAL`. */
export function errorResponse(error: unknown): Response {
  if (!StoreError.is(error))
    return Response.json({ error: "INTERNAL", message: "Internal error" }, { status: 500 });
  const { code, message } = error;
  const status = statuses[code] ?? 500;
  return Response.json(
    { error: code, message },
    { status, ...(status === 503 && { headers: { "retry-after": "1" } }) },
  );
}
