import {
  type Amendment,
  checkStreamCursor,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "@scrollback/record-log";
import { type DriverTarget, type ErrorClassification, PendingCalls } from "@scrollback/store-core/driver";
import type { AnyBulkWriteOperation, Collection, CollectionOptions, UpdateFilter } from "mongodb";
import { keysFrom, namesIn, type RowDocument, toDate, toDocument, toRow } from "./document.ts";
import { createEntryIndexes, type EntryDocument, MongoEntries } from "./entries.ts";
import { classifyError, foundNoServer, isDuplicateKey } from "./errors.ts";
import type { MongoCollection } from "./options.ts";
import { createIndexes } from "./setup.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "mongodb",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  // The limit of a document is 16 MiB.
  maxRowBytes: 8 * 1024 ** 2,
});

/** The collection of the index beside a log. */
export const entriesName = (collectionName: string) => `${collectionName}.entries`;

/** More texts than any row has. */
const MAX_TEXTS = 2 ** 31 - 1;

type Update = AnyBulkWriteOperation<RowDocument>;

/** The record log on MongoDB: one document per row in one collection, with `_id` as the only key. Layout: `document.ts`. */
export class MongoRecordLog implements RecordLog {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: MongoEntries;
  readonly #collection: MongoCollection;
  readonly #rows: Collection<RowDocument>;
  readonly #entries: Collection<EntryDocument>;
  readonly #calls = new PendingCalls();
  #connection: Promise<unknown> | undefined;

  constructor(collection: MongoCollection) {
    this.#collection = collection;
    const { client, database, collectionName } = collection;
    this.target = { collection: collectionName, namespace: database };
    const options: CollectionOptions = {
      writeConcern: { w: "majority", ...client.writeConcern },
      // A write must not depend on data that a failover can roll back.
      readConcern: client.readConcern ?? { level: "majority" },
      raw: false,
    };
    this.#rows = client.db(database).collection<RowDocument>(collectionName, options);
    this.#entries = client.db(database).collection<EntryDocument>(entriesName(collectionName), options);
    this.index = new MongoEntries({ entries: this.#entries, send: (request) => this.#send(request) });
  }

  async insert(stream: string, row: LogRow): Promise<boolean> {
    try {
      await this.#send((rows) => rows.insertOne(toDocument(stream, row)));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    const filter = { _id: keysFrom(stream, 1, below) };
    // One batch, as far as it fits one reply.
    const options = { limit, batchSize: limit, ...(heads && { projection: { texts: 0 } }) };
    const found = await this.#send((rows) => rows.find(filter, options).sort({ _id: -1 }).toArray());
    return found.map(toRow);
  }

  /**
   * Sends one request, independent of the number of amendments and rows. The ranges ascend, because FerretDB makes the updates in
   * one transaction, which locks documents in their order: two calls with different orders would deadlock.
   */
  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    const ascending = amendments.toSorted((a, b) => a.from - b.from);
    const updates = ascending.flatMap((amendment) => updatesOf(stream, amendment));
    if (updates.length > 0) await this.#send((rows) => rows.bulkWrite(updates, { ordered: false }));
  }

  /** Sends one request. Scans the collection if the index on roots is missing. */
  async streams(request: StreamsRequest): Promise<StreamPage> {
    checkStreamCursor(request);
    const size = request.limit + 1;
    const options = { limit: size, batchSize: size, projection: { _id: 0, root: 1 } } as const;
    const found = await this.#send((rows) =>
      rows
        .find({ root: namesIn(request) }, options)
        .sort({ root: 1 })
        .toArray(),
    );
    // A stream may have many roots.
    const names = [...new Set(found.map(({ root }) => String(root)))];
    return found.length === size && names.length < size
      ? { streams: names, next: names.at(-1) }
      : streamPageOf(names, request.limit);
  }

  async setup(): Promise<void> {
    await this.#send(createIndexes);
    await this.#send(() => createEntryIndexes(this.#entries));
  }

  async close(): Promise<void> {
    const { client, owned } = this.#collection;
    await this.#calls.close(() => owned && client.close());
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    const { hosts, srvHost } = this.#collection.client.options;
    return classifyError(error, this.#collection.owned, srvHost ?? hosts.join(", "));
  }

  #send<T>(request: (rows: Collection<RowDocument>) => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      // A client that failed to connect does not retry automatically.
      this.#connection ??= this.#connect().catch((error) => {
        this.#connection = undefined;
        throw error;
      });
      const connection = this.#connection;
      await connection;
      try {
        return await request(this.#rows);
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

function updatesOf(stream: string, { from, to, blank, expiresAt, extend }: Amendment): Update[] {
  const keys = { _id: keysFrom(stream, from, to) };
  const updates: Update[] = [];
  // The hint prevents the server from choosing the index on the expiry.
  const add = (filter: object, update: UpdateFilter<RowDocument> | object[]) =>
    updates.push({ updateMany: { filter: { ...keys, ...filter }, update, hint: { _id: 1 } } });
  const until = expiresAt === undefined ? {} : { expiresAt: toDate(expiresAt) };
  if (typeof blank === "object") {
    // The server rejects a slice of texts of another type, which are damaged.
    const isList = { texts: { $type: "array" } };
    add(isList, [{ $set: { texts: withBlank(blank.from, blank.to), ...until } }]);
  }
  if (blank === "all") add({}, { $set: { texts: [], ...until } });
  if (!blank && expiresAt !== undefined) add({}, { $set: until });
  if (extend) {
    // A comparison with a date never matches a row without a date: rows that never expire stay unchanged.
    const atLeast = { $gte: toDate(extend.atLeast) };
    if (extend.to === null) add({ expiresAt: atLeast }, { $unset: { expiresAt: "" } });
    else {
      const extended = toDate(extend.to);
      add({ expiresAt: { ...atLeast, $lt: extended } }, { $set: { expiresAt: extended } });
    }
  }
  return updates;
}

/** The texts before `from`, blanks, and the texts from `to`, as one value, because the server is slow with many paths. */
function withBlank(from: number, to: number): object {
  const before = from > 0 ? [{ $slice: ["$texts", from] }] : [];
  const blanks = { $literal: Array<string>(to - from).fill("") };
  return { $concatArrays: [...before, blanks, { $slice: ["$texts", to, MAX_TEXTS] }] };
}
