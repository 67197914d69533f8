import { type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import { stateOf } from "./stream-state.ts";

/** Deletes the stream of a run that nobody writes any more, also if it has expired. */
export async function removeStream(stores: StoreFactory, store: MessageStore, runId: string): Promise<void> {
  const page = await store.read({ limit: 0 });
  if (page.revision !== null && stateOf(page).run !== runId) return;
  try {
    await stores.deleteThread(store.threadId, { expectedRevision: page.revision });
  } catch (error) {
    // Another run's.
    if (!StoreError.is(error, "CONFLICT")) throw error;
  }
}
