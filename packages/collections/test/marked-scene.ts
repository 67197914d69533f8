import { createStores, MemoryDriver, type StoreFactory } from "@scrollback/store-core";
import { MarkedDirectories } from "../src/index.ts";

export const directory = "d";
export const leafThread = (id: string) => `leaf:${id}`;
export const sizes = { enoughNotes: 4, maxLeaf: 8, smallLeaf: 2, maxInline: 2 };
export const SECRET = "a title that nobody may find";

/** A driver that counts the requests of each kind. */
class CountingDriver extends MemoryDriver {
  readonly requests: string[] = [];

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    this.requests.push(`commit ${args[0].threadId.replace(/:.*/, "")}`);
    return await super.commit(...args);
  }

  override async read(...args: Parameters<MemoryDriver["read"]>) {
    this.requests.push(`read ${args[0].threadId.replace(/:.*/, "")}`);
    return await super.read(...args);
  }

  override async delete(...args: Parameters<MemoryDriver["delete"]>) {
    this.requests.push(`delete ${args[0].threadId.replace(/:.*/, "")}`);
    return await super.delete(...args);
  }

  take(): string[] {
    return this.requests.splice(0);
  }
}

interface Head {
  readonly incarnation: string;
  readonly version: number;
  readonly order: number;
  readonly value: string;
}

export interface SceneOptions {
  readonly sizes?: typeof sizes;
  /** Default: stores of a new driver that counts. */
  readonly stores?: StoreFactory;
  /** The members that `stores` has. Default: none. */
  readonly heads?: Map<string, Head>;
}

export function setUp(options: SceneOptions = {}) {
  const driver = new CountingDriver();
  const { stores = createStores(driver), heads = new Map<string, Head>() } = options;
  const directories = new MarkedDirectories<string>({ stores, leafThread }, options);
  const reads: string[] = [];
  /** Writes a member whose head is in `heads`, like the head of a chat in its thread. */
  const write = (key: string, order: number, value = key) =>
    directories.write(directory, { key: [key], incarnation: "i" }, async () => {
      const before = heads.get(key);
      const head = { incarnation: "i", version: (before?.version ?? 0) + 1, order, value };
      heads.set(key, head);
      return { ...head, was: before?.order ?? null };
    });
  const read = async ([key = ""]: readonly string[]) => {
    reads.push(key);
    return heads.get(key);
  };
  const list = async (request: object = {}) =>
    (await directories.page(directory, { limit: 1_000, read, ...request })).entries.map(({ value }) => value);
  const remove = (key: string) =>
    directories.remove(
      directory,
      { key: [key], incarnation: "i", order: heads.get(key)?.order ?? 0 },
      async () => void heads.delete(key),
    );
  return { driver, stores, directories, heads, reads, read, write, list, remove };
}
