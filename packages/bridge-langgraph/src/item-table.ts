import { hash, randomUUID } from "node:crypto";
import type { Item } from "@langchain/langgraph-checkpoint";
import { Lists, type Names, nameOf, Records, systemListClock } from "@scrollback/collections";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import {
  createRecord,
  type ListedRecord,
  listedRecord,
  type RecordSnapshot,
  type Stored,
} from "./listed-record.ts";
import { RETRIES, retried } from "./retried.ts";

/** The longest key of an entry, in bytes. */
const MAX_KEY_BYTES = 1_024;
/** The number of namespaces that a process remembers to be there. */
const MAX_KNOWN = 10_000;

/** The stored form of an item in its record. */
interface StoredItem extends Stored {
  readonly value: Record<string, unknown>;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * Items as records, listed for each namespace by creation time, and the namespaces as records in a list of their own. A namespace stays
 * when its last item is deleted.
 */
export class ItemTable {
  readonly #prefix: string;
  readonly #items: Records<StoredItem>;
  readonly #itemLists: Lists<true, RecordSnapshot<StoredItem>>;
  readonly #namespaces: Records<Stored>;
  readonly #namespaceList: Lists<true, RecordSnapshot>;
  /** The namespaces that this process has found or created. */
  readonly #known = new Set<string>();

  /** @throws StoreError `UNSUPPORTED` for a backend without an index. */
  constructor(stores: StoreFactory, prefix: string) {
    this.#prefix = nameOf(prefix);
    this.#items = new Records({ stores, prefix: `${this.#prefix}:item` });
    this.#namespaces = new Records({ stores, prefix: `${this.#prefix}:namespace` });
    const options = { stores, clock: systemListClock, onError: () => undefined };
    this.#itemLists = new Lists(options);
    this.#namespaceList = new Lists(options);
  }

  /** The thread of an item's record. @throws StoreError `INVALID_ARGUMENT` for an invalid key. */
  threadId(namespace: readonly string[], key: string): string {
    return this.#items.threadId([...namespace, key]);
  }

  async get(namespace: readonly string[], key: string): Promise<Item | null> {
    const record = this.#item(namespace, key);
    const found = await record.read();
    if (!found.listed) return null;
    this.#itemLists.seen(record, found);
    return itemOf(namespace, key, found.value);
  }

  /** Returns an item that a list had. */
  async getListed(namespace: readonly string[], key: string): Promise<Item | null> {
    const found = await this.#item(namespace, key).read();
    return found.listed ? itemOf(namespace, key, found.value) : null;
  }

  /** Sets an item. An update takes one read and one commit; a creation also inserts and tells its entry. */
  async put(namespace: readonly string[], key: string, value: Record<string, unknown>): Promise<void> {
    const record = this.#item(namespace, key);
    const { isNew, written } = await retried(async () => {
      const found = await record.read();
      const updatedAt = Date.now();
      if (found.listed) {
        const changed = { ...found.value, writes: found.version + 1, value, updatedAt };
        return { isNew: false, written: await record.set(changed, found.listed, found.revision) };
      }
      await this.#addNamespace(namespace);
      const item = { ...newRecord(), value, createdAt: updatedAt, updatedAt };
      const creation = { value: item, order: updatedAt, revision: found.revision };
      return { isNew: true, written: await createRecord(this.#itemLists, record, creation) };
    });
    if (isNew) await this.#itemLists.tell(record, written);
    else this.#itemLists.seen(record, written);
  }

  /** Deletes an item, readable or not. Does nothing for a missing item. */
  async delete(namespace: readonly string[], key: string): Promise<void> {
    await this.#itemLists.remove(this.#item(namespace, key), RETRIES);
  }

  /** Yields the namespaces, by name. */
  async *namespaces(): AsyncGenerator<readonly string[]> {
    const index = this.#namespacesIndex;
    const memberOf = (names: Names) => this.#namespace(namespaceOf(names));
    for await (const { member } of this.#namespaceList.iterate({ index, direction: "up", memberOf }))
      yield namespaceOf(member);
  }

  /** Yields the keys of a namespace, oldest item first. */
  async *keys(namespace: readonly string[]): AsyncGenerator<string> {
    const index = this.#itemsIndex(namespace);
    const memberOf = ({ key }: Names) => this.#item(namespace, key);
    for await (const { member } of this.#itemLists.iterate({ index, direction: "up", memberOf }))
      yield member.key;
  }

  async flush(): Promise<void> {
    await Promise.all([this.#itemLists.flush(), this.#namespaceList.flush()]);
  }

  async #addNamespace(namespace: readonly string[]): Promise<void> {
    const record = this.#namespace(namespace);
    if (this.#known.has(record.key)) return;
    const { isNew, written } = await retried(async () => {
      const found = await record.read();
      if (found.listed) return { isNew: false, written: found };
      const creation = { value: newRecord(), order: 0, revision: found.revision };
      return { isNew: true, written: await createRecord(this.#namespaceList, record, creation) };
    });
    if (isNew) await this.#namespaceList.tell(record, written);
    else this.#namespaceList.seen(record, written);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(record.key);
  }

  #item(namespace: readonly string[], key: string): ListedRecord<StoredItem> {
    return listedRecord(this.#items, [...namespace, key], { key, bases: [this.#itemsIndex(namespace)] });
  }

  #namespace(namespace: readonly string[]): ListedRecord<Stored> {
    const bases = [this.#namespacesIndex];
    return listedRecord(this.#namespaces, namespace, { ...namesOf(namespace), bases });
  }

  #itemsIndex(namespace: readonly string[]): string {
    return `${this.#prefix}:items:${nameOf(JSON.stringify(namespace))}`;
  }

  get #namespacesIndex(): string {
    return `${this.#prefix}:namespaces`;
  }
}

function newRecord(): Stored {
  return { incarnation: randomUUID(), writes: 1 };
}

/** The key of a namespace, which sorts it before those below it; the namespace itself if the key is too long to contain it. */
function namesOf(namespace: readonly string[]): Names {
  const key = JSON.stringify(namespace).slice(0, -1);
  if (Buffer.byteLength(key) <= MAX_KEY_BYTES) return { key };
  return { key: `#${hash("sha256", key, "base64url")}`, names: namespace };
}

function namespaceOf({ key, names }: Names): readonly string[] {
  if (names) return names;
  if (key.startsWith("#")) throw new StoreError("CORRUPT", `the entry of namespace "${key}" is damaged`);
  return JSON.parse(`${key}]`);
}

function itemOf(namespace: readonly string[], key: string, stored: StoredItem): Item {
  const { value, createdAt, updatedAt } = stored;
  return {
    ...{ value, key, namespace: [...namespace] },
    ...{ createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) },
  };
}
