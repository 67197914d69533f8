import { isDeepStrictEqual } from "node:util";
import type {
  DocumentCapabilities,
  DocumentDatabase,
  Head,
  HeadListing,
  HeadsRequest,
  LoadedHead,
  Page,
  ReadFrom,
  Swap,
} from "@scrollback/documents";
import { tokenOf } from "@scrollback/documents";
import { type DriverTarget, type ErrorClassification, PendingCalls } from "@scrollback/store-core/driver";
import { BSON, type Collection, type CollectionOptions, type FindOptions, type UpdateFilter } from "mongodb";
import {
  checkFormat,
  fieldsOf,
  type HeadDocument,
  namesIn,
  type PageDocument,
  pageKey,
  pagesOf,
  representation,
  toDate,
  toDocument,
  toHead,
  toMessage,
  toPage,
  toPageDocument,
} from "./document.ts";
import { type EntryDocument, MongoEntries } from "./entries.ts";
import { areDuplicateKeys, classifyError, foundNoServer, isDuplicateKey } from "./errors.ts";
import type { MongoCollection } from "./options.ts";
import { createIndexes, entryIndexes, threadIndexes } from "./setup.ts";

const capabilities: DocumentCapabilities = Object.freeze({
  backend: "mongodb",
  sharing: "network",
  // The limit of a document is 16 MiB.
  maxDocumentBytes: 8 * 1024 ** 2,
});

/** The collection of the index beside the threads. */
export const entriesName = (collectionName: string) => `${collectionName}.entries`;

/** Fields of heads that a listing does not read, with what it assumes instead. */
const unlisted = { messages: [], pages: [], pins: [], operations: new Uint8Array() };
const listed = { messages: 0, pages: 0, pins: 0, operations: 0 } satisfies Record<keyof typeof unlisted, 0>;

/** More than any thread has pages: all keys in one batch, as far as they fit one reply. */
const MAX_KEYS = 1_000_000;

/** Documents on MongoDB: heads and pages in one collection, with `_id` as the only key. Layout: `document.ts`. */
export class MongoDocuments implements DocumentDatabase {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: MongoEntries;
  /** The server creates collections by itself, and needs no index. */
  readonly worksWithoutSetup = true;
  readonly #collection: MongoCollection;
  readonly #heads: Collection<HeadDocument>;
  readonly #pages: Collection<PageDocument>;
  readonly #entries: Collection<EntryDocument>;
  readonly #calls = new PendingCalls();
  #connection: Promise<unknown> | undefined;

  constructor(collection: MongoCollection) {
    this.#collection = collection;
    const { client, database, collectionName } = collection;
    this.target = { collection: collectionName, namespace: database };
    const writeConcern = { w: "majority", ...client.writeConcern } as const;
    const options: CollectionOptions = {
      writeConcern,
      // A write must not depend on data that a failover can roll back.
      readConcern: client.readConcern ?? { level: "majority" },
      ...representation,
    };
    const db = client.db(database);
    this.#heads = db.collection<HeadDocument>(collectionName, options);
    // A head that survives a failover must not list a page that does not.
    const pageOptions = { ...options, writeConcern: { ...writeConcern, w: "majority" } as const };
    this.#pages = db.collection<PageDocument>(collectionName, pageOptions);
    this.#entries = db.collection<EntryDocument>(entriesName(collectionName), options);
    this.index = new MongoEntries({ entries: this.#entries, send: (request) => this.#send(request) });
  }

  async load(threadId: string, from?: ReadFrom): Promise<LoadedHead | null> {
    const found = await this.#send(() => this.#heads.findOne({ _id: threadId }, optionsOf(from)));
    if (!found) return null;
    checkFormat(found);
    const head = toHead(found);
    return { token: head ? tokenOf(head) : tokenOfDamaged(found), head };
  }

  async swap({ threadId, expected, head, pushed }: Swap): Promise<boolean> {
    if (!expected) return this.#insert(threadId, head);
    const before = expected.head;
    const isUnchanged = before
      ? { revision: expected.token }
      : { $expr: { $eq: ["$$ROOT", { $literal: damagedOf(expected.token) }] } };
    const filter = { _id: threadId, ...isUnchanged };
    // The client repeats this after a lost reply. The second one then finds another revision, and the driver the operation.
    const { matchedCount } = await this.#send(() =>
      before && pushed !== undefined
        ? this.#heads.updateOne(filter, updateOf(threadId, before, head, pushed))
        : this.#heads.replaceOne(filter, toDocument(threadId, head)),
    );
    return matchedCount === 1;
  }

  async write(threadId: string, pages: readonly Page[]): Promise<void> {
    const documents = pages.map((page) => toPageDocument(threadId, page));
    try {
      await this.#send(() => this.#pages.insertMany(documents, { ordered: false }));
    } catch (error) {
      if (!areDuplicateKeys(error)) throw error;
    }
  }

  async read(threadId: string, ids: readonly string[], from?: ReadFrom): Promise<Page[]> {
    // One batch, as far as it fits one reply. Servers disagree about a size of 0.
    const options = { ...optionsOf(from), batchSize: ids.length + 1 };
    const found = await this.#send(() => this.#pages.find(keysIn(threadId, ids), options).toArray());
    return found.map(toPage);
  }

  async raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void> {
    // A comparison with a date never matches a page without one.
    const [isLower, update] =
      until === undefined
        ? [{ until: { $exists: true } }, { $unset: { until: "" as const } }]
        : [{ until: { $lt: toDate(until) } }, { $set: { until: toDate(until) } }];
    await this.#send(() => this.#pages.updateMany({ ...keysIn(threadId, ids), ...isLower }, update));
  }

  async remove(threadId: string, ids: readonly string[]): Promise<void> {
    await this.#send(() => this.#pages.deleteMany(keysIn(threadId, ids)));
  }

  async keys(threadId: string): Promise<string[]> {
    const options = { projection: { _id: 1 }, batchSize: MAX_KEYS, readPreference: "primary" } as const;
    const found = await this.#send(() => this.#pages.find({ _id: pagesOf(threadId) }, options).toArray());
    return found.map(({ _id }) => _id.page);
  }

  async list(request: HeadsRequest): Promise<HeadListing> {
    const size = request.limit + 1;
    const options = { limit: size, batchSize: size, projection: listed };
    const found = await this.#send(() =>
      this.#heads
        .find({ _id: namesIn(request) }, options)
        .sort({ _id: 1 })
        .toArray(),
    );
    const page = found.slice(0, request.limit);
    const heads = page.map((stored) => ({ threadId: stored._id, head: toHead({ ...stored, ...unlisted }) }));
    return { heads, ...(found.length === size && { next: heads.at(-1)?.threadId }) };
  }

  async #insert(threadId: string, head: Head): Promise<boolean> {
    try {
      await this.#send(() => this.#heads.insertOne(toDocument(threadId, head)));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Sends two commands, at once. */
  async setup(): Promise<string | undefined> {
    const { client, database } = this.#collection;
    const db = client.db(database);
    const collections = [
      [this.#heads, threadIndexes],
      [this.#entries, entryIndexes],
    ] as const;
    const made = await Promise.all(
      collections.map(async ([collection, indexes]) => {
        const isMade = await this.#send(() => createIndexes(db, collection, indexes));
        return isMade ? [`${database}.${collection.collectionName}`] : [];
      }),
    );
    const names = made.flat();
    return names.length > 0 ? `the indexes of ${names.join(" and ")}` : undefined;
  }

  async close(): Promise<void> {
    const { client, owned } = this.#collection;
    await this.#calls.close(() => owned && client.close());
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    const { hosts, srvHost } = this.#collection.client.options;
    return classifyError(error, this.#collection.owned, srvHost ?? hosts.join(", "));
  }

  #send<T>(request: () => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      // A client that failed to connect does not retry automatically.
      this.#connection ??= this.#connect().catch((error) => {
        this.#connection = undefined;
        throw error;
      });
      const connection = this.#connection;
      await connection;
      try {
        return await request();
      } catch (error) {
        // A client that polls its server may hang permanently after the server was lost.
        const isLost = this.#collection.owned && foundNoServer(error);
        if (isLost && this.#connection === connection) this.#connection = undefined;
        throw error;
      }
    });
  }

  async #connect(): Promise<void> {
    const { client, owned } = this.#collection;
    if (owned) await PendingCalls.disconnectInTime(() => client.close());
    const { signal } = this.#calls;
    signal.throwIfAborted();
    await client.connect();
    if (!signal.aborted) return;
    if (owned) await client.close();
    signal.throwIfAborted();
  }
}

function optionsOf({ primary = false }: ReadFrom = {}): FindOptions {
  return primary ? { readPreference: "primary" } : {};
}

/** A head that cannot be read is replaced as the whole document that it is. */
const tokenOfDamaged = (found: object) => Buffer.from(BSON.serialize(found)).toString("base64");
const damagedOf = (token: string) => BSON.deserialize(Buffer.from(token, "base64"), { promoteBuffers: true });

function keysIn(threadId: string, ids: readonly string[]) {
  return { _id: { $in: ids.map((id) => pageKey(threadId, id)) } };
}

/** The difference between two heads. */
function updateOf(threadId: string, before: Head, after: Head, pushed: number): UpdateFilter<HeadDocument> {
  const [old, now] = [fieldsOf(threadId, before), fieldsOf(threadId, after)].map(
    (fields) => new Map<string, unknown>(Object.entries(fields)),
  ) as [Map<string, unknown>, Map<string, unknown>];
  const set = [...now].filter(([name, value]) => !isDeepStrictEqual(value, old.get(name)));
  const unset = [...old.keys()].filter((name) => !now.has(name));
  const { length } = after.tail;
  const $each = after.tail.slice(length - pushed).map(toMessage);
  return {
    $set: Object.fromEntries(set),
    ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((name) => [name, ""])) }),
    // The newest ones.
    $push: { messages: { $each, $slice: 0 - length } },
  } as UpdateFilter<HeadDocument>;
}
