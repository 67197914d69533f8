import { randomUUID } from "node:crypto";
import type { Item } from "@langchain/langgraph-checkpoint";
import { MarkedDirectories, type MarkedEntry, nameOf, type RecordOf, Records } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import { retried } from "./retried.ts";

const PAGE = 100;
/** All namespaces have the same order value in their directory, so it sorts them by name. */
const ORDER = 0;

/** The stored form of an item in its record. */
interface StoredItem {
  /** Random, new for each creation. */
  readonly incarnation: string;
  readonly value: Record<string, unknown>;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * Items as records, with a directory of each namespace's items by creation time, and a directory of the namespaces. A namespace
 * stays when its last item is deleted.
 */
export class ItemTable {
  readonly #prefix: string;
  readonly #records: Records<StoredItem>;
  readonly #directories: MarkedDirectories<true>;
  /** The namespaces that this process has noted. */
  readonly #noted = new Set<string>();

  constructor(stores: StoreFactory, prefix: string) {
    this.#prefix = nameOf(prefix);
    this.#records = new Records({ stores, prefix: `${this.#prefix}:item` });
    this.#directories = new MarkedDirectories({ stores, leafThread: (id) => `${this.#prefix}:leaf:${id}` });
  }

  /** The thread of an item's record. @throws StoreError `INVALID_ARGUMENT` for an invalid key. */
  threadId(namespace: readonly string[], key: string): string {
    return this.#records.threadId([...namespace, key]);
  }

  async get(namespace: readonly string[], key: string): Promise<Item | null> {
    const found = await this.#records.get([...namespace, key]);
    return found ? itemOf(namespace, key, found.value) : null;
  }

  /** Sets an item. An update takes one read and one commit; a creation also updates the directories. */
  async put(namespace: readonly string[], key: string, value: Record<string, unknown>): Promise<void> {
    await retried(async () => {
      const found = await this.#records.get([...namespace, key]);
      const updatedAt = Date.now();
      if (found) return await this.#set(namespace, key, { ...found.value, value, updatedAt }, found);
      await this.#note(namespace);
      const item: StoredItem = { incarnation: randomUUID(), value, createdAt: updatedAt, updatedAt };
      const directory = this.#directory(namespace);
      await this.#directories.write(directory, { key: [key], incarnation: item.incarnation }, async () => {
        await this.#set(namespace, key, item, undefined);
        return { order: item.createdAt, version: 1, value: true, was: null };
      });
    });
  }

  /** Deletes an item. Does nothing for a missing item. */
  async delete(namespace: readonly string[], key: string): Promise<void> {
    await retried(async () => {
      const found = await this.#records.get([...namespace, key]);
      if (!found) return;
      const { incarnation, createdAt: order } = found.value;
      await this.#directories.remove(this.#directory(namespace), { key: [key], incarnation, order }, () =>
        this.#records.delete([...namespace, key], { expectedRevision: found.revision }),
      );
    });
  }

  /** Yields the namespaces, by name. */
  async *namespaces(): AsyncGenerator<readonly string[]> {
    const entries = this.#entries(`${this.#prefix}:namespaces`, async () => undefined);
    for await (const { key } of entries) yield key;
  }

  /** Yields the keys of a namespace, oldest item first. */
  async *keys(namespace: readonly string[]): AsyncGenerator<string> {
    const entries = this.#entries(this.#directory(namespace), async ([key = ""]) => {
      const found = await this.#records.get([...namespace, key]);
      return found && memberOf(found.value);
    });
    for await (const { key } of entries) yield key[0] ?? "";
  }

  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  async *#entries(
    directory: string,
    read: (key: readonly string[]) => Promise<Omit<MarkedEntry<true>, "key"> | undefined>,
  ): AsyncGenerator<MarkedEntry<true>> {
    let pageToken: string | undefined;
    do {
      const page = await this.#directories.page(directory, {
        limit: PAGE,
        direction: "asc",
        pageToken,
        read,
      });
      yield* page.entries;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  async #set(
    namespace: readonly string[],
    key: string,
    item: StoredItem,
    found: RecordOf<StoredItem> | undefined,
  ): Promise<void> {
    await this.#records.set([...namespace, key], item, { expectedRevision: found?.revision ?? null });
  }

  async #note(namespace: readonly string[]): Promise<void> {
    const name = JSON.stringify(namespace);
    if (this.#noted.has(name)) return;
    const entry = { order: ORDER, was: ORDER, value: true } as const;
    await this.#directories.note(`${this.#prefix}:namespaces`, namespace, entry);
    if (this.#noted.size >= 10_000) this.#noted.clear();
    this.#noted.add(name);
  }

  #directory(namespace: readonly string[]): string {
    return `${this.#prefix}:items:${nameOf(JSON.stringify(namespace))}`;
  }
}

function memberOf({ incarnation, createdAt }: StoredItem): Omit<MarkedEntry<true>, "key"> {
  return { incarnation, version: 1, order: createdAt, value: true };
}

function itemOf(namespace: readonly string[], key: string, stored: StoredItem): Item {
  const { value, createdAt, updatedAt } = stored;
  return {
    ...{ value, key, namespace: [...namespace] },
    ...{ createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) },
  };
}
