import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { expect } from "vitest";

/** The error that a call rejected with. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => expect.unreachable("it succeeded"),
    (error: unknown) => error,
  );
}

/** The thrown or rejected error, which must be a StoreError with this code. */
export async function refusal(
  operation: () => unknown,
  code: StoreErrorCode = "INVALID_ARGUMENT",
): Promise<StoreError> {
  const error = await rejection((async () => operation())());
  if (!StoreError.is(error, code)) throw error;
  return error;
}
