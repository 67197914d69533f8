import type { Collection } from "mongodb";
import type { RowDocument } from "./document.ts";

/**
 * Makes the index by which the server deletes rows once their `expiresAt` is over, and the one by which streams are listed.
 * Both are sparse: a row that never expires is not in the first one, and a commit to a thread that exists not in the second
 * one, so that inserting them costs nothing more.
 */
export async function createIndexes(collection: Collection<RowDocument>): Promise<void> {
  await collection.createIndexes([
    { key: { expiresAt: 1 }, name: "scrollback_expiry", expireAfterSeconds: 0, sparse: true },
    { key: { root: 1 }, name: "scrollback_roots", sparse: true },
  ]);
}
