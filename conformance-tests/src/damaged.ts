import { type MessageStore, StoreError, type StoreErrorCode } from "@scrollback/store-core";

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
