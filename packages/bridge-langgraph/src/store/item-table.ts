import { randomUUID } from "node:crypto";
import type { Item } from "@langchain/langgraph-checkpoint";
import {
  type Listed,
  Lists,
  type Member,
  type Missing,
  nameOf,
  Records,
  type Snapshot,
  systemListClock,
} from "@scrollback/collections";
import type { ListItem } from "@scrollback/collections/internal";
import {
  type Revision,
  retryOnConflict,
  StoreError,
  type StoreFactory,
  type StoreIndex,
} from "@scrollback/store-core";
import { afterItemsOf, MAX_NAMESPACE_BYTES, type Place, pathOf, placeOf, sortedKey } from "./item-names.ts";

/** The maximum number of entries of one request. */
export const MAX_PAGE = 100;
/** At most 20 repetitions. The other process made progress, so the pauses stay below 200 ms. */
const RETRIES = { attempts: 21, longestPause: 3 };
/** A read renews an item's time after this part of it. */
const RENEWED_AFTER = 0.1;

/** The stored form of an item in its record. */
interface StoredItem {
  /** Random, new for each creation. */
  readonly incarnation: string;
  /** The number of writes of this incarnation. */
  readonly writes: number;
  readonly value: Record<string, unknown>;
  /** Milliseconds since 1970, as the other times. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When its thread expires, by the clock of the process that wrote it; `null`: never. */
  readonly expiresAt: number | null;
}

/** An item at one revision. */
interface ItemSnapshot extends Snapshot<true> {
  readonly stored: StoredItem;
}

type ItemMember = Member<true, ItemSnapshot>;

/** An item that was read. */
export interface FoundItem {
  readonly member: ItemMember;
  readonly snapshot: ItemSnapshot;
  readonly item: Item;
}

/** Options of {@link ItemTable}. */
export interface ItemTableOptions {
  readonly stores: StoreFactory;
  readonly prefix: string;
  /** The time after which an item expires. Undefined: never. */
  readonly ttlMs: number | undefined;
  readonly refreshOnRead: boolean;
}

/** Items as records, listed in one index by namespace and key, so that the items below a namespace are one range of it. */
export class ItemTable {
  readonly #recordsOf: (ttlMs: number | undefined) => Records<StoredItem>;
  readonly #records: Records<StoredItem>;
  readonly #index: StoreIndex;
  readonly #lists: Lists<true, ItemSnapshot>;
  readonly #ttlMs: number | undefined;
  readonly #refreshOnRead: boolean;

  /** @throws StoreError `UNSUPPORTED` for a backend without an index, and for one that cannot expire threads if `ttlMs` is given. */
  constructor({ stores: given, prefix, ttlMs, refreshOnRead }: ItemTableOptions) {
    const name = nameOf(prefix);
    const within = (ms: number | undefined) => (ms === undefined ? given : expiring(given, ms));
    const stores = within(ttlMs);
    this.#recordsOf = (ms) => new Records({ stores: within(ms), prefix: `${name}:item` });
    this.#records = this.#recordsOf(ttlMs);
    this.#index = stores.index(`${name}:items`);
    this.#lists = new Lists({ stores, clock: systemListClock, onError: () => undefined });
    this.#ttlMs = ttlMs;
    this.#refreshOnRead = refreshOnRead;
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
  }: Pick<ListItem<true, ItemSnapshot>, "member" | "snapshot">): Promise<FoundItem | undefined> {
    const found = typeof snapshot === "object" ? snapshot : await member.read();
    if (!found.listed) return undefined;
    return { member, snapshot: found, item: itemOf(placeOf(member.key), found.stored) };
  }

  /** Begins an item's time again after a read, if it has one. Another writer, or a deletion, may be first. */
  async renew({ member, snapshot }: FoundItem): Promise<void> {
    const { expiresAt } = snapshot.stored;
    if (!this.#refreshOnRead || this.#ttlMs === undefined || expiresAt === null) return;
    if (Date.now() < expiresAt - (1 - RENEWED_AFTER) * this.#ttlMs) return;
    try {
      const { stored, listed, revision } = snapshot;
      const renewed = await this.#set(placeOf(member.key), next(stored), listed, revision, this.#ttlMs);
      await this.#lists.tell(member, renewed);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  }

  /** Sets an item. An update takes one read and one commit; a creation also inserts and tells its entry, an update with a time tells it. */
  async put(place: Place, value: Record<string, unknown>): Promise<void> {
    const member = this.#member(place);
    const { found, written } = await retryOnConflict(async () => {
      const found = await member.read();
      const updatedAt = Date.now();
      if (found.listed) {
        const changed = { ...next(found.stored), value, updatedAt };
        return { found, written: await this.#set(place, changed, found.listed, found.revision, this.#ttlMs) };
      }
      const created = { incarnation: randomUUID(), writes: 1, value, createdAt: updatedAt, updatedAt };
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
    }, RETRIES);
    // An entry with a time must not end before its item, also if this process ends with the call.
    if (!found.listed || found.stored.expiresAt !== written.stored.expiresAt)
      await this.#lists.tell(member, written);
    else this.#lists.seen(member, written);
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
    const memberOf = ({ key }: { readonly key: string }) => this.#member(placeOf(key));
    return await this.#lists.page({ index, direction: "up", limit, cursor, memberOf });
  }

  /** The cursor of the page that begins with the first key that is not less than a text; undefined for `""`. */
  #cursorAt(key: string): string | undefined {
    return key === "" ? undefined : this.#index.cursorAfter({ key, id: "", order: 0 }, "up");
  }

  #member(place: Place): ItemMember {
    const { namespace, key } = place;
    const parts = [...namespace, key];
    return {
      threadId: this.#records.threadId(parts),
      key: sortedKey(place),
      bases: [this.#index.name],
      read: async (signal): Promise<ItemSnapshot | Missing> => {
        const found = await this.#records.get(parts, signal ? { signal } : {});
        if (!found?.listed) return { revision: null };
        return snapshotOf(found.value, found.listed, found.revision);
      },
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

/** An item at its next write. */
function next(stored: StoredItem): StoredItem {
  return { ...stored, writes: stored.writes + 1 };
}

/** The same stores, whose threads expire. */
function expiring<M>(stores: StoreFactory<M>, ttlMs: number): StoreFactory<M> {
  // Refuses a backend that cannot expire threads.
  stores.open("any", { ttlMs });
  return {
    ...stores,
    settings: Object.freeze({ ...stores.settings, ttlMs }),
    open: (threadId, settings) => stores.open(threadId, { ttlMs, ...settings }),
    withTraits: (traits) => expiring(stores.withTraits(traits), ttlMs),
  };
}

function snapshotOf(stored: StoredItem, listed: Listed, revision: Revision): ItemSnapshot {
  const { incarnation, writes: version, expiresAt } = stored;
  const expiry = expiresAt !== null && { expiresAt };
  return { incarnation, version, order: listed.order, listed, told: true, revision, stored, ...expiry };
}

function itemOf({ namespace, key }: Place, { value, createdAt, updatedAt }: StoredItem): Item {
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { value, key, namespace: [...namespace], ...times };
}
