import { inspect } from "node:util";
import { type MessageStore, StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { expect } from "vitest";

function checked(error: unknown, codes: readonly StoreErrorCode[]): StoreError {
  if (!StoreError.is(error) || !codes.includes(error.code)) {
    const got = StoreError.is(error) ? `a StoreError ${error.code} (${error.message})` : String(error);
    throw new Error(`expected a StoreError ${codes.join(" or ")}, got ${got}`, { cause: error });
  }
  expect(error.message, "the error's message").not.toBe("");
  return error;
}

/** Waits for a call to reject, and checks that the error has one of these codes. */
export async function rejection(promise: Promise<unknown>, ...codes: StoreErrorCode[]): Promise<StoreError> {
  let outcome: unknown;
  try {
    outcome = await promise;
  } catch (error) {
    return checked(error, codes);
  }
  throw new Error(
    `expected a StoreError ${codes.join(" or ")}, got a result: ${inspect(outcome).slice(0, 200)}`,
  );
}

/** Calls a function that must throw synchronously, and checks the error's code. */
export function thrown(operation: () => unknown, code: StoreErrorCode): StoreError {
  let outcome: unknown;
  try {
    outcome = operation();
  } catch (error) {
    return checked(error, [code]);
  }
  throw new Error(`expected a StoreError ${code} to be thrown, got ${inspect(outcome).slice(0, 200)}`);
}

/**
 * Makes every kind of call to a thread whose rows at rest are damaged. Each call must succeed or fail with one of `codes`: damage
 * is not a failure of the backend, and never causes a raw error.
 */
export async function callDamaged(store: MessageStore, ...codes: StoreErrorCode[]): Promise<void> {
  for (const call of [
    () => store.read(),
    () => store.read({ limit: 2 }),
    () => store.listMessages({ limit: 2 }),
    () => store.addMessages([{ role: "user", content: "more" }]),
    () => store.popMessage(),
    () => store.clear({ operationId: "other" }),
  ]) {
    await call().catch((error: unknown) => {
      if (!StoreError.is(error) || !codes.includes(error.code)) throw error;
    });
  }
}
