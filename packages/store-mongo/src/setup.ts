import type { Collection } from "mongodb";
import type { RowDocument } from "./document.ts";

/**
 * Creates the index by which the server deletes rows after their `expiresAt`, and the index by which streams are listed. Both
 * are sparse: rows that never expire are not in the first one, and commits to existing threads are not in the second one, so
 * that their inserts cost nothing more.
 */
export async function createIndexes(collection: Collection<RowDocument>): Promise<void> {
  await collection.createIndexes([
    { key: { expiresAt: 1 }, name: "scrollback_expiry", expireAfterSeconds: 0, sparse: true },
    { key: { root: 1 }, name: "scrollback_roots", sparse: true },
  ]);
}
