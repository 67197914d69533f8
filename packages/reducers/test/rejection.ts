import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { expect } from "vitest";

/** What a call rejected with. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => expect.unreachable("it succeeded"),
    (error: unknown) => error,
  );
}

/** What was thrown or rejected, which must be a StoreError of this code. */
export async function refusal(
  operation: () => unknown,
  code: StoreErrorCode = "INVALID_ARGUMENT",
): Promise<StoreError> {
  const error = await rejection((async () => operation())());
  if (!StoreError.is(error, code)) throw error;
  return error;
}
