import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { envelope, valueOfEnvelope } from "../format.ts";
import type { BlobStorage } from "./blob-storage.ts";

/** The beginning of the ids of the threads that have contents. */
export const CONTENT_PREFIX = "scrollback:content:";
const PIECE_BYTES = 1_048_576;
const LATE_WRITE_MS = 3_600_000;
/** The longest time to live: 100 years. */
const NEVER_MS = 36_500 * 86_400_000;

/** Contents in the message store itself: a thread each, in pieces of 1 MiB. */
export function blobThreads(stores: StoreFactory): BlobStorage {
  // A content is used for longer than the thread that first used it: its uses say when it goes.
  const settings = stores.settings.ttlMs === undefined ? {} : { ttlMs: NEVER_MS };
  const open = (key: string) => stores.open(threadOf(key), settings);
  return {
    async put(key, content, call = {}) {
      const count = Math.max(1, Math.ceil(content.length / PIECE_BYTES));
      const pieces = Array.from({ length: count }, (_, index) =>
        envelope("assistant", content.slice(index * PIECE_BYTES, (index + 1) * PIECE_BYTES)),
      );
      const store = open(key);
      try {
        await store.commit({ append: pieces }, { expectedRevision: null, ...call });
      } catch (error) {
        if (!StoreError.is(error, "TOO_LARGE")) throw error;
        // Nobody reads it before the last one: what names it is written afterwards.
        let expectedRevision: Revision | null = null;
        for (const piece of pieces)
          expectedRevision = await store.commit({ append: [piece] }, { expectedRevision, ...call });
      }
    },
    async get(key, { start = 0, end = Number.POSITIVE_INFINITY, ...call } = {}) {
      const { entries } = await open(key).read(call);
      if (entries.length === 0) return undefined;
      const pieces = entries.map(({ message }) => valueOfEnvelope<Uint8Array>(message));
      const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
      }
      return whole.subarray(start, end);
    },
    async delete(key, call = {}) {
      const { revision, count } = await open(key).read({ limit: 0, ...call });
      // A mark.
      if (revision !== null && count === 0) return;
      if (revision === null) {
        const store = stores.open(threadOf(key), { ttlMs: LATE_WRITE_MS });
        try {
          await store.commit({ metadata: { isErased: true } }, { expectedRevision: null, ...call });
          return;
        } catch (error) {
          if (!StoreError.is(error, "CONFLICT")) throw error;
        }
      }
      await stores.deleteThread(threadOf(key), call);
    },
  };
}

function threadOf(key: string): string {
  return CONTENT_PREFIX + key;
}
