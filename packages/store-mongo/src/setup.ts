import type { Collection, Db, Document, IndexDescription } from "mongodb";

/** The index by which the server deletes documents after a time. Documents without the time are not in it. */
const expiry = (field: string): IndexDescription => ({
  key: { [field]: 1 },
  name: "scrollback_expiry",
  expireAfterSeconds: 0,
  sparse: true,
});

/** The index of threads. They are listed by `_id`. */
export const threadIndexes = [expiry("until")];

/** The indexes of the index of entries: by expiry, and that by which entries are listed. */
export const entryIndexes = [expiry("expiresAt"), { key: { index: 1, sort: 1 }, name: "scrollback_entries" }];

/**
 * Creates missing indexes of a collection, in one command. Not with `Collection.createIndexes`, which does not return the server's counts.
 *
 * @returns whether one was missing; false if the server does not tell it.
 */
export async function createIndexes(
  db: Db,
  { collectionName, writeConcern }: Pick<Collection, "collectionName" | "writeConcern">,
  indexes: readonly IndexDescription[],
): Promise<boolean> {
  const { w, journal, wtimeoutMS } = writeConcern ?? {};
  const concern = {
    ...(w !== undefined && { w }),
    ...(journal !== undefined && { j: journal }),
    ...(wtimeoutMS !== undefined && { wtimeout: wtimeoutMS }),
  };
  const reply = await db.command({ createIndexes: collectionName, indexes, writeConcern: concern });
  // A router returns the reply of each shard.
  const replies: Document[] = [reply, ...Object.values<Document>(reply.raw ?? {})];
  return replies.some(({ numIndexesBefore, numIndexesAfter }) => numIndexesAfter > numIndexesBefore);
}
