import type { StoreFactory } from "@scrollback/store-core";

/** The same stores, whose threads expire. */
export function expiring<M>(stores: StoreFactory<M>, ttlMs: number): StoreFactory<M> {
  // Refuses a backend that cannot expire threads.
  stores.open("any", { ttlMs });
  return {
    ...stores,
    settings: Object.freeze({ ...stores.settings, ttlMs }),
    open: (threadId, settings) => stores.open(threadId, { ttlMs, ...settings }),
    withTraits: (traits) => expiring(stores.withTraits(traits), ttlMs),
  };
}
