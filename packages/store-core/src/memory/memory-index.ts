import type { Clock } from "../clock.ts";
import {
  compareBytes,
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  type EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  isExpiredEntry,
  type NearestRequest,
  type ScoredEntry,
  SortKey,
  type StoredEntry,
} from "../driver/entry-index.ts";

/** An entry and its place in the order of its index. */
interface Placed {
  readonly entry: StoredEntry;
  readonly at: string;
  readonly vectors: NonNullable<EntryPut["vectors"]>;
}

interface Index {
  /** By the JSON of the entry's key and id. */
  readonly entries: Map<string, Placed>;
  /** In their order; undefined after a change. */
  sorted: readonly Placed[] | undefined;
}

/** The reference index. It stores entries in this object only; a verb is atomic because it never awaits. */
export class MemoryIndex implements EntryIndex {
  readonly #indexes = new Map<string, Index>();
  readonly #clock: Pick<Clock, "wall">;

  constructor(clock: Pick<Clock, "wall">) {
    this.#clock = clock;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    if (this.#find(put.index)?.entries.has(placeOf(put))) return false;
    this.#put(put);
    return true;
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const found = this.#find(put.index)?.entries.get(placeOf(put));
    if (!found) return null;
    if (found.entry.version < put.version) this.#put({ ...put, vectors: put.vectors ?? found.vectors });
    return found.entry.version;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const index = this.#find(place.index);
    if (!index?.entries.delete(placeOf(place))) return false;
    index.sorted = undefined;
    return true;
  }

  async entriesOf({ index, key }: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const entries = [...(this.#find(index)?.entries.values() ?? [])].map(({ entry }) => entry);
    return entries.filter((entry) => entry.key === key);
  }

  async listEntries({ index: name, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const index = this.#find(name);
    if (!index) return { entries: [] };
    index.sorted ??= [...index.entries.values()].sort((one, other) => compareBytes(one.at, other.at));
    const sign = direction === "up" ? 1 : -1;
    const ordered = direction === "up" ? index.sorted : index.sorted.toReversed();
    const start = after ? ordered.findIndex(({ at }) => sign * compareBytes(at, after) > 0) : 0;
    const page = start < 0 ? [] : ordered.slice(start, start + limit + 1);
    return EntryPage.of(
      page.map(({ entry }) => entry),
      limit,
    );
  }

  async nearestEntries(request: NearestRequest): Promise<readonly ScoredEntry[]> {
    const { index, after, before, vector, limit, offset } = request;
    const found = [...(this.#find(index)?.entries.values() ?? [])]
      .filter(({ at, vectors: [first] }) => {
        const isInRange = compareBytes(at, after) > 0 && compareBytes(at, before) < 0;
        return isInRange && first?.length === vector.length;
      })
      .map(({ entry, at, vectors }) => ({ entry, at, score: Math.max(...vectors.map(dotProduct(vector))) }))
      .sort((one, other) => other.score - one.score || compareBytes(one.at, other.at));
    return found.slice(offset, offset + limit).map(({ entry, score }) => ({ ...entry, score }));
  }

  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = request;
    const after = IndexListing.nameOfCursor(request);
    const names = [...this.#indexes.keys()]
      .filter((name) => name.startsWith(prefix) && (after === undefined || name > after))
      .filter((name) => this.#find(name));
    return IndexListing.of(names.sort(), limit);
  }

  /** An index without its expired entries; undefined if nothing is left of it. */
  #find(name: string): Index | undefined {
    const index = this.#indexes.get(name);
    const now = this.#clock.wall();
    for (const [place, { entry }] of index?.entries ?? []) {
      if (!isExpiredEntry(entry, now)) continue;
      index?.entries.delete(place);
      if (index) index.sorted = undefined;
    }
    if (index?.entries.size !== 0) return index;
    this.#indexes.delete(name);
    return undefined;
  }

  #put({ index: name, key, id, version, order, value, expiresAt, vectors = [] }: EntryPut): void {
    const index = this.#indexes.get(name) ?? { entries: new Map(), sorted: undefined };
    this.#indexes.set(name, index);
    const expiry = expiresAt !== undefined && { expiresAt };
    const entry = Object.freeze({ key, id, version, order, value, ...expiry });
    index.entries.set(placeOf(entry), { entry, at: SortKey.of(entry), vectors });
    index.sorted = undefined;
  }
}

function placeOf({ key, id }: Pick<EntryPlace, "key" | "id">): string {
  return JSON.stringify([key, id]);
}

/** Of vectors of length 1 it is the cosine. */
function dotProduct(vector: readonly number[]): (other: readonly number[]) => number {
  return (other) => vector.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
}
