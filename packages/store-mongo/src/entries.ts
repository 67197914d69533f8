import {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import type { Collection } from "mongodb";
import { namesIn, toDate } from "./document.ts";
import { isDuplicateKey } from "./errors.ts";

/** An entry as a document of the collection of entries. */
export interface EntryDocument {
  /** The `placeDigest`, because some servers limit the length of a key. */
  readonly _id: string;
  readonly index: string;
  readonly key: string;
  readonly id: string;
  /** The `sortKey`. */
  readonly sort: string;
  readonly version: number;
  readonly order: number;
  readonly value: string;
  /** The field of the TTL index. */
  readonly expiresAt?: Date;
}

/** The collection of entries, and how requests to it are sent. */
export interface EntrySource {
  readonly entries: Collection<EntryDocument>;
  send<T>(request: () => Promise<T>): Promise<T>;
}

/** The index on MongoDB: one document per entry in a collection of its own. */
export class MongoEntries implements EntryIndex {
  readonly #source: EntrySource;

  constructor(source: EntrySource) {
    this.#source = source;
  }

  /** An update that replaces an expired entry, or else inserts: the key of an entry that is there refuses it. */
  async insertEntry(put: EntryPut): Promise<boolean> {
    const { _id, ...fields } = documentOf(put);
    const filter = { _id, expiresAt: { $lte: new Date() } };
    const update = { $set: fields, ...(!fields.expiresAt && { $unset: { expiresAt: "" as const } }) };
    try {
      // The client repeats an updateOne after a lost reply, but never an updateMany.
      await this.#send((entries) => entries.updateMany(filter, update, { upsert: true }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const document = documentOf(put);
    const isOlder = { $lt: ["$version", document.version] };
    const update = [{ $replaceWith: { $cond: [isOlder, { $literal: document }, "$$ROOT"] } }];
    const options = { projection: { _id: 0, version: 1 }, returnDocument: "before" } as const;
    const filter = { _id: document._id, ...alive() };
    const found = await this.#send((entries) => entries.findOneAndUpdate(filter, update, options));
    return found && Number(found.version);
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const filter = { _id: EntryPlace.digest(place), ...alive() };
    const { deletedCount } = await this.#send((entries) => entries.deleteOne(filter));
    return deletedCount > 0;
  }

  async entriesOf(place: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const digest = EntryPlace.keyDigest(place);
    const filter = { _id: { $gte: `${digest}.`, $lt: `${digest}/` }, ...alive() };
    const found = await this.#send((entries) => entries.find(filter).toArray());
    return found.map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const from = after ?? SortKey.ENDS[direction];
    const filter = { index, sort: direction === "up" ? { $gt: from } : { $lt: from }, ...alive() };
    // One batch.
    const options = { limit: limit + 1, batchSize: limit + 1 };
    const order = direction === "up" ? 1 : -1;
    const found = await this.#send((entries) =>
      entries.find(filter, options).sort({ index: order, sort: order }).toArray(),
    );
    return EntryPage.of(found.map(entryOf), limit);
  }

  /** A page has the names of `limit + 1` entries; the next one begins after the last name. */
  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = request;
    const size = limit + 1;
    const filter = { index: namesIn({ prefix, after: IndexListing.nameOfCursor(request) }), ...alive() };
    const options = { limit: size, batchSize: size, projection: { _id: 0, index: 1 } } as const;
    const found = await this.#send((entries) =>
      entries.find(filter, options).sort({ index: 1, sort: 1 }).toArray(),
    );
    return IndexListing.of(
      [...new Set(found.map(({ index }) => String(index)))],
      limit,
      found.length === size,
    );
  }

  #send<T>(request: (entries: Collection<EntryDocument>) => Promise<T>): Promise<T> {
    return this.#source.send(() => request(this.#source.entries));
  }
}

/** The filter for entries that have not expired. */
function alive() {
  return { expiresAt: { $not: { $lte: new Date() } } };
}

function documentOf(put: EntryPut): EntryDocument {
  const { index, key, id, version, order, value, expiresAt } = put;
  return {
    ...{ _id: EntryPlace.digest(put), index, key, id, sort: SortKey.of(put), version, order, value },
    ...(expiresAt !== undefined && { expiresAt: toDate(expiresAt) }),
  };
}

/** A value that is not of its type fails when it is read. */
function entryOf({ key, id, version, order, value, expiresAt }: EntryDocument): StoredEntry {
  return {
    ...{ key, id, version: Number(version), order: Number(order), value: String(value) },
    ...(expiresAt instanceof Date && { expiresAt: expiresAt.getTime() }),
  };
}
