import type { Collection } from "mongodb";
import type { RowDocument } from "./document.ts";

/**
 * Makes the index by which the server deletes rows once their `expiresAt` is over. Sparse: rows that never expire are not
 * in it, so that inserting them costs nothing more.
 */
export async function createExpiryIndex(collection: Collection<RowDocument>): Promise<void> {
  await collection.createIndex(
    { expiresAt: 1 },
    { name: "scrollback_expiry", expireAfterSeconds: 0, sparse: true },
  );
}
