import type { Storage, StoreItem } from "@microsoft/agents-hosting";
import { Records } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";

/** State of conversations and users as records. An eTag is the record's revision. */
export class ScrollbackStorage implements Storage {
  readonly #records: Records<StoreItem>;

  constructor(stores: StoreFactory) {
    this.#records = new Records({ stores, prefix: "m365:state" });
  }

  async read(keys: string[]): Promise<StoreItem> {
    if (keys.length === 0) throw new RangeError("read: keys must not be empty");
    const found = await Promise.all(
      keys.map(async (key) => ({ key, record: await this.#records.get([key]) })),
    );
    return Object.fromEntries(
      found.flatMap(({ key, record }) => (record ? [[key, { ...record.value, eTag: record.revision }]] : [])),
    );
  }

  async write(changes: StoreItem): Promise<void> {
    const items: [string, StoreItem][] = Object.entries(changes);
    await Promise.all(
      items.map(([key, { eTag, ...value }]) =>
        this.#records.set([key], value, eTag === undefined || eTag === "*" ? {} : { expectedRevision: eTag }),
      ),
    );
  }

  async delete(keys: string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#records.delete([key])));
  }
}
