import type { StoreError } from "@scrollback/store-core";
import { expect } from "vitest";

/** The error that a call fails with. */
export async function rejection(call: Promise<unknown>): Promise<StoreError> {
  return await call.then(
    () => expect.unreachable("it succeeded"),
    (error: StoreError) => error,
  );
}
