import { randomUUID } from "node:crypto";
import type { Item } from "@langchain/langgraph-checkpoint";
import { type Listed, Lists, nameOf, Records } from "@scrollback/collections";
import type { ListItem } from "@scrollback/collections/internal";
import { type Revision, StoreError, type StoreFactory, type StoreIndex } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { reporter } from "@scrollback/store-core/internal";
import { RETRIES, retried } from "../retried.ts";
import type { Embedder, ItemFields } from "./embedder.ts";
import { expiring } from "./expiring-stores.ts";
import {
  afterAllBelow,
  afterItemsOf,
  MAX_NAMESPACE_BYTES,
  type Place,
  pathOf,
  placeOf,
  sortedKey,
} from "./item-names.ts";
import {
  type FoundItem,
  type ItemMember,
  type ItemSnapshot,
  itemOf,
  next,
  type StoredItem,
  snapshotOf,
} from "./stored-item.ts";

/** The maximum number of entries of one request. */
export const MAX_PAGE = 100;
/** A read renews an item's time after this part of it. */
const RENEWED_AFTER = 0.1;

/** Options of {@link ItemTable}. */
export interface ItemTableOptions {
  readonly stores: StoreFactory;
  readonly prefix: string;
  /** The time after which an item expires. Undefined: never. */
  readonly ttlMs: number | undefined;
  readonly refreshOnRead: boolean;
  readonly embedder: Embedder | undefined;
}

/** Items as records, listed in one index by namespace and key, so that the items below a namespace are one range of it. */
export class ItemTable {
  readonly #recordsOf: (ttlMs: number | undefined) => Records<StoredItem>;
  readonly #records: Records<StoredItem>;
  readonly #index: StoreIndex;
  readonly #lists: Lists<true, ItemSnapshot>;
  readonly #ttlMs: number | undefined;
  readonly #refreshOnRead: boolean;
  /** Undefined also if the index has no vectors: then items are stored without them. */
  readonly #embedder: Embedder | undefined;

  /** @throws StoreError `UNSUPPORTED` for a backend without an index, and for one that cannot expire threads if `ttlMs` is given. */
  constructor({ stores: given, prefix, ttlMs, refreshOnRead, embedder }: ItemTableOptions) {
    const name = nameOf(prefix);
    const within = (ms: number | undefined) => (ms === undefined ? given : expiring(given, ms));
    const stores = within(ttlMs);
    this.#recordsOf = (ms) => new Records({ stores: within(ms), prefix: `${name}:item` });
    this.#records = this.#recordsOf(ttlMs);
    this.#index = stores.index(`${name}:items`);
    this.#lists = new Lists({ stores, onError: reporter(undefined) });
    this.#ttlMs = ttlMs;
    this.#refreshOnRead = refreshOnRead;
    const { maxDimensions } = this.#index;
    this.#embedder = maxDimensions > 0 ? embedder : undefined;
    if (this.#embedder && this.#embedder.dims > maxDimensions)
      invalid(`ScrollbackStore: index.dims must be at most ${maxDimensions}; take another model`);
  }

  /** Whether items can be searched by a query. */
  get hasVectors(): boolean {
    return this.#embedder !== undefined;
  }

  async get(place: Place): Promise<Item | null> {
    const found = await this.read({ member: this.#member(place) });
    if (!found) return null;
    this.#lists.seen(found.member, found.snapshot);
    await this.renew(found);
    return found.item;
  }

  /** Reads an item that a list has. */
  async read({
    member,
    snapshot,
    ...near
  }: Pick<ListItem<true, ItemSnapshot>, "member" | "snapshot" | "score" | "version">): Promise<
    FoundItem | undefined
  > {
    const found = typeof snapshot === "object" ? snapshot : await member.read();
    if (!found.listed) return undefined;
    const { version = found.version, score } = near;
    const item = itemOf(placeOf(member.key), found.stored);
    const isStale = version < found.version;
    return { member, snapshot: found, item, isStale, ...(score !== undefined && { score }) };
  }

  /** Tells the entry of an item that was found by what it said before: a process died before it told it. */
  tellAgain({ member, snapshot }: FoundItem): void {
    this.#lists.tellSoon(member, snapshot);
  }

  /** Begins an item's time again after a read, if it has one. Another writer, or a deletion, may be first. */
  async renew({ member, snapshot }: FoundItem): Promise<void> {
    const { expiresAt } = snapshot.stored;
    if (!this.#refreshOnRead || this.#ttlMs === undefined || expiresAt === null) return;
    if (Date.now() < expiresAt - (1 - RENEWED_AFTER) * this.#ttlMs) return;
    try {
      const { stored, listed, revision } = snapshot;
      const renewed = await this.#set(placeOf(member.key), next(stored), listed, revision, this.#ttlMs);
      await this.#lists.tell(member, { ...renewed, vectorsSince: snapshot.version });
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  }

  /**
   * Sets an item. An update takes one read and one commit; a creation also inserts and tells its entry, an update with a time, or with
   * vectors, tells it.
   *
   * @param index the fields that it is found by. Default: those of the store.
   */
  async put(place: Place, value: Record<string, unknown>, index?: ItemFields): Promise<void> {
    const member = this.#member(place);
    const vectors = (await this.#embedder?.ofItem(value, index)) ?? [];
    const own = index !== undefined && { index };
    const { found, written } = await retried(async () => {
      const found = await member.read();
      const updatedAt = Date.now();
      if (found.listed) {
        const { index: _, ...before } = next(found.stored);
        const changed = { ...before, ...own, value, updatedAt };
        return { found, written: await this.#set(place, changed, found.listed, found.revision, this.#ttlMs) };
      }
      const created = {
        incarnation: randomUUID(),
        writes: 1,
        ...own,
        value,
        createdAt: updatedAt,
        updatedAt,
      };
      const draft = { version: 1, order: 0, told: true as const };
      const { stored, listed, revision } = await this.#lists.write(
        member,
        undefined,
        member.bases,
        draft,
        (listed) => this.#set(place, created, listed, found.revision, this.#ttlMs),
      );
      // Its expiry was taken before the commit, so that no list believes the entry after the item has expired.
      return { found, written: snapshotOf(stored, listed, revision) };
    });
    const told = { ...written, vectors };
    // An entry with a time must not end before its item, also if this process ends with the call; a search must find what was put.
    if (!found.listed || this.#embedder || found.stored.expiresAt !== written.stored.expiresAt)
      await this.#lists.tell(member, told);
    else this.#lists.seen(member, told);
  }

  /** Deletes an item, readable or not. Does nothing for a missing item. */
  async delete(place: Place): Promise<void> {
    await this.#lists.remove(this.#member(place), RETRIES);
  }

  /**
   * Yields the items below a namespace, by namespace and key, from their entries alone: each still has to be read.
   *
   * @param pageSize the number of entries of each request.
   */
  async *below(
    namespace: readonly string[],
    pageSize: number,
  ): AsyncGenerator<ListItem<true, ItemSnapshot>, undefined> {
    const path = pathOf(namespace);
    if (Buffer.byteLength(path) > MAX_NAMESPACE_BYTES) return;
    for (let cursor = this.#cursorAt(path), isLast = false; !isLast; isLast = cursor === undefined) {
      const page = await this.#page(cursor, pageSize);
      for (const item of page.items) {
        if (!item.member.key.startsWith(path)) return;
        yield item;
      }
      cursor = page.cursor;
    }
  }

  /** The vector of a query. */
  async vectorOf(query: string): Promise<readonly number[]> {
    return (await this.#embedder?.ofQuery(query)) ?? [];
  }

  /** Does the same by the likeness to a vector, best first, for items with vectors. */
  async *nearest(
    namespace: readonly string[],
    vector: readonly number[],
    pageSize: number,
  ): AsyncGenerator<ListItem<true, ItemSnapshot>, undefined> {
    const path = pathOf(namespace);
    if (Buffer.byteLength(path) > MAX_NAMESPACE_BYTES) return;
    const [after, before] = [path, afterAllBelow(path)].map((key) => this.#cursorAt(key));
    const range = { ...(after && { after }), ...(before && { before }), limit: pageSize };
    const request = { index: this.#index.name, memberOf: this.#memberOf };
    const seen = new Set<string>();
    for (let offset = 0, isLast = false; !isLast; ) {
      const { items, entries } = await this.#lists.nearest(request, vector, { ...range, offset });
      for (const item of items) if (!seen.has(item.member.key)) yield item;
      for (const { member } of items) seen.add(member.key);
      // Entries without an item were removed, so the next ones have moved up.
      offset += items.length;
      isLast = entries < pageSize;
    }
  }

  /** Yields the namespaces below a namespace that have items. One request passes all items of a namespace. */
  async *namespaces(below: readonly string[]): AsyncGenerator<readonly string[], undefined> {
    const path = pathOf(below);
    if (Buffer.byteLength(path) > MAX_NAMESPACE_BYTES) return;
    let last: string | undefined;
    for (let cursor = this.#cursorAt(path), isLast = false; !isLast; ) {
      const page = await this.#page(cursor, MAX_PAGE);
      for (const { member } of page.items) {
        if (!member.key.startsWith(path)) return;
        const { namespace } = placeOf(member.key);
        const found = pathOf(namespace);
        if (found !== last) yield namespace;
        last = found;
      }
      isLast = page.cursor === undefined;
      cursor = page.items.length > 0 && last !== undefined ? this.#cursorAt(afterItemsOf(last)) : page.cursor;
    }
  }

  async flush(): Promise<void> {
    await this.#lists.flush();
  }

  async #page(cursor: string | undefined, limit: number) {
    const index = this.#index.name;
    return await this.#lists.page({ index, direction: "up", limit, cursor, memberOf: this.#memberOf });
  }

  readonly #memberOf = ({ key }: { readonly key: string }) => this.#member(placeOf(key));

  /** The cursor of the page that begins with the first key that is not less than a text; undefined for `""`. */
  #cursorAt(key: string): string | undefined {
    return key === "" ? undefined : this.#index.cursorAfter({ key, id: "", order: 0 }, "up");
  }

  #member(place: Place): ItemMember {
    const { namespace, key } = place;
    const parts = [...namespace, key];
    const embedder = this.#embedder;
    return {
      threadId: this.#records.threadId(parts),
      key: sortedKey(place),
      bases: [this.#index.name],
      read: async (signal) => {
        const found = await this.#records.get(parts, signal ? { signal } : {});
        if (!found?.listed) return { revision: null };
        return snapshotOf(found.value, found.listed, found.revision);
      },
      ...(embedder && {
        vectors: async ({ version, vectorsSince = version, stored }: ItemSnapshot, told: number) =>
          told < vectorsSince ? await embedder.ofItem(stored.value, stored.index) : undefined,
      }),
      // A new entry for one that was lost changes nothing of the item, so it keeps the time that it has left.
      place: ({ stored, revision }, listed) => {
        const { expiresAt } = stored;
        const ttlMs = expiresAt === null ? undefined : Math.max(1, expiresAt - Date.now());
        return this.#set(place, next(stored), listed, revision, ttlMs);
      },
    };
  }

  async #set(
    { namespace, key }: Place,
    item: Omit<StoredItem, "expiresAt">,
    listed: Listed,
    expectedRevision: Revision | null,
    ttlMs: number | undefined,
  ): Promise<ItemSnapshot> {
    const stored = { ...item, expiresAt: ttlMs === undefined ? null : Date.now() + ttlMs };
    const records = ttlMs === this.#ttlMs ? this.#records : this.#recordsOf(ttlMs);
    const revision = await records.set([...namespace, key], stored, { expectedRevision, listed });
    return snapshotOf(stored, listed, revision);
  }
}
