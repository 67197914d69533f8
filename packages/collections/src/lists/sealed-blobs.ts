import type { StoreFactory } from "@scrollback/store-core";
import { contentCodecOf } from "@scrollback/store-core/internal";
import type { BlobStorage } from "./blob-storage.ts";

/** A storage of contents that pass the codec of the stores. Then a range of one is read by reading all of it, and it has no URL. */
export function sealedBlobs(stores: StoreFactory, storage: BlobStorage): BlobStorage {
  const codec = contentCodecOf(stores);
  if (!codec) return storage;
  return {
    put: (key, content, call) => storage.put(key, codec.seal(key, content), call),
    async get(key, { start = 0, end, ...call } = {}) {
      const sealed = await storage.get(key, call);
      return sealed && codec.open(key, sealed).subarray(start, end);
    },
    delete: (key, call) => storage.delete(key, call),
  };
}
