import type { BlobStorage } from "@scrollback/chats";
import { iterateEntries, removeAnyThread } from "@scrollback/collections";
import { isListed, listAgain, missingEntries } from "@scrollback/collections/internal";
import { StoreError, type StoreFactory, type ThreadPage } from "@scrollback/store-core";
import { headProblem } from "../layers.ts";

/** Where a thread is listed, as its entries say. */
type Places = NonNullable<NonNullable<Parameters<typeof removeAnyThread>[2]>["places"]>;

/** Whether a backend has an index, so that layers keep lists in it. */
export function hasIndex(stores: StoreFactory<unknown>): boolean {
  try {
    stores.index("any");
    return true;
  } catch (error) {
    if (StoreError.is(error, "UNSUPPORTED")) return false;
    throw error;
  }
}

/** Whether an index lists threads, or is another program's: those of the parts and files of threads are no lists. */
export function isList(index: string): boolean {
  return !/^(parts|files|contents):/.test(index);
}

/** The entries of indexes of a backend, of threads whose ids have a prefix; none if it has no index. */
export async function* entriesIn(
  stores: StoreFactory<unknown>,
  prefix: string,
  signal: AbortSignal,
): ReturnType<typeof iterateEntries> {
  if (!hasIndex(stores)) return;
  for await (const found of iterateEntries(stores, { signal }))
    if (prefix === "" || found.threadId?.startsWith(prefix)) yield found;
}

/** Makes the entries of a thread again that are not there, if a layer lists it. Returns whether it had to. */
export async function listIfMissing(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<boolean> {
  return hasIndex(stores) && (await listAgain(stores, threadId, { signal })) === true;
}

/** The indexes whose entry of a thread is not there, also after the thread was read again. */
export async function missingIn(
  stores: StoreFactory<unknown>,
  threadId: string,
  metadata: unknown,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!isListed(metadata) || !hasIndex(stores)) return [];
  const missing = await missingEntries(stores, threadId, metadata.listed, { signal });
  if (missing.length === 0) return [];
  const now = await stores.open(threadId).read({ limit: 0, signal });
  return isListed(now.metadata)
    ? await missingEntries(stores, threadId, now.metadata.listed, { signal })
    : [];
}

/** Deletes threads of a backend with their entries in lists. */
export class ThreadRemoval {
  readonly #stores: StoreFactory<unknown>;
  readonly #signal: AbortSignal;
  readonly #blobs: BlobStorage | undefined;
  #places: Promise<ReadonlyMap<string, Places>> | undefined;
  /** The number of entries that cannot be read, so that nobody knows whether they are of a deleted thread. */
  unreadable = 0;

  constructor(stores: StoreFactory<unknown>, signal: AbortSignal, blobs: BlobStorage | undefined) {
    this.#stores = stores;
    this.#blobs = blobs;
    this.#signal = signal;
  }

  /** @param head the thread; undefined for a damaged or unknown one. */
  async remove(
    threadId: string,
    head?: Pick<ThreadPage<unknown>, "count" | "metadata"> | undefined,
  ): Promise<void> {
    const [stores, signal, blobs] = [this.#stores, this.#signal, this.#blobs];
    if (hasIndex(stores)) {
      if (isListed(head?.metadata)) return await removeAnyThread(stores, threadId, { blobs, signal });
      const saysNothing = !head || headProblem(threadId, head) !== undefined;
      const places = saysNothing ? await this.#placesOf(threadId) : undefined;
      if (saysNothing)
        return await removeAnyThread(stores, threadId, { ...(places && { places }), blobs, signal });
    }
    await stores.deleteThread(threadId, { signal });
  }

  /** All entries are read once, for the first thread whose head does not say where it is listed. */
  async #placesOf(threadId: string) {
    this.#places ??= this.#readPlaces();
    return (await this.#places).get(threadId);
  }

  async #readPlaces() {
    const found = new Map<string, Places>();
    for await (const { index, entry, threadId } of entriesIn(this.#stores, "", this.#signal)) {
      if (entry.problem) this.unreadable++;
      if (threadId === undefined) continue;
      const { bases = [] } = found.get(threadId) ?? {};
      found.set(threadId, { key: entry.key, bases: [...bases, index] });
    }
    return found;
  }
}
