import { pause, StoreError } from "@scrollback/store-core";

const MAX_ATTEMPTS = 100;

/**
 * Runs a read and the compare-and-set that follows it. Retries after a pause when another writer was first.
 *
 * @throws what `attempt` throws, including its `CONFLICT` after 100 attempts.
 * @example
 * await retryOnConflict(async () => {
 *   const { revision, metadata } = await store.read({ limit: 0 });
 *   await store.commit({ metadata: next(metadata) }, { expectedRevision: revision });
 * });
 */
export async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || attempts >= MAX_ATTEMPTS) throw error;
    }
    await pause(attempts - 1);
  }
}
