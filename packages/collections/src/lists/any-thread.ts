import {
  chatMessageTraits,
  type IndexEntry,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { eraseStream } from "./answer-streams.ts";
import type { BlobStorage } from "./blob-storage.ts";
import { Blobs } from "./blobs.ts";
import { Entries, entriesIn, ifThere } from "./entries.ts";
import { indexIn, indexNames } from "./index-in.ts";
import {
  entryValueOf,
  isListing,
  isNamed,
  type Listed,
  type Member,
  type Missing,
  OPEN,
  placesOf,
  SEALED,
  type Snapshot,
} from "./listed.ts";
import { Parts, partsOf } from "./parts.ts";
import { ifReadable, removeThread } from "./removal.ts";

/** A listed thread of any layer. */
interface AnyThread extends Snapshot<never> {
  readonly metadata: object;
  readonly updatedAt: number;
}

/** Whether a thread's metadata says where it is listed. */
export function isListed(
  metadata: unknown,
): metadata is { readonly listed: Listed; readonly incarnation?: string } {
  return isListing((Object(metadata) as { listed?: unknown }).listed);
}

/** A thread that a layer may list, for programs that know no layer. */
function anyThread(
  stores: StoreFactory,
  threadId: string,
  { key, bases }: Pick<Member<never>, "key" | "bases">,
): Member<never, AnyThread> {
  return {
    ...{ threadId, key, bases },
    read: (signal) => readThread(stores, threadId, signal),
    parts: ({ metadata }) => partsOf(metadata),
    async place({ metadata, revision, ...thread }, listed) {
      const { updatedAt, expiresAt } = thread;
      const placed = { ...metadata, listed };
      // Where a thread is listed is not news of it: its times stay.
      const ttl = expiresAt !== undefined && { ttlMs: Math.max(1, Math.ceil(expiresAt - Date.now())) };
      const written = await stores
        .open(threadId, { ...ttl })
        .commit({ metadata: placed }, { expectedRevision: revision, createdAt: updatedAt });
      return { ...thread, listed, metadata: placed, revision: String(written) };
    },
  };
}

async function readThread(
  stores: StoreFactory,
  threadId: string,
  signal?: AbortSignal,
): Promise<AnyThread | Missing> {
  const page = await stores.open(threadId).read({ limit: 0, ...(signal && { signal }) });
  const { metadata, revision, expiresAt, updatedAt = 0 } = page;
  if (!isListed(metadata) || revision === null) return { revision };
  const { listed, incarnation = "" } = metadata;
  return {
    ...{ revision, metadata, updatedAt, expiresAt, listed, incarnation },
    ...{ version: OPEN + 1, order: listed.order },
  };
}

function basesOf({ key, in: places }: Listed) {
  return { key, bases: Object.keys(places) };
}

/** An entry of a list, and its thread. */
export interface ListedEntry {
  readonly index: string;
  readonly entry: IndexEntry;
  /** Undefined if the entry is unreadable, or another program's. */
  readonly threadId: string | undefined;
}

/** Iterates over the entries of all indexes. */
export async function* iterateEntries(
  stores: StoreFactory<unknown>,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ListedEntry> {
  const call = signal ? { signal } : {};
  for await (const index of indexNames(stores, "", call))
    for await (const entry of entriesIn(indexIn(stores, index), call))
      yield { index, entry, threadId: entryValueOf(entry.value)?.threadId };
}

/**
 * Whether an entry is of a thread that does not exist or does not name it, so that it can be removed. One of a creation that is under
 * way, of an unreadable thread, or of one that has lost its head, is not.
 */
export async function isLost(
  stores: StoreFactory<unknown>,
  { index, entry, threadId }: ListedEntry,
  call: { signal?: AbortSignal } = {},
): Promise<boolean> {
  if (threadId === undefined || entry.version === OPEN || entry.version === SEALED) return false;
  const head = await ifReadable(stores.open(threadId).read({ limit: 0, ...call }));
  if (head === "unreadable") return false;
  const { metadata, revision } = head;
  // A thread that has lost its head is found by its entry alone.
  if (!isListed(metadata)) {
    if (revision !== null) return false;
  } else if (metadata.listed.key === entry.key && isNamed(metadata, index, entry.id)) return false;
  // It may have been removed, with its thread, after it was listed.
  const entries = await stores.index(index).entriesOf(entry.key, call);
  return entries.some(({ id }) => id === entry.id);
}

/** The indexes of a thread in which its entry is not there, is damaged, or was marked by a deletion that did not come to its end. */
export async function missingEntries(
  stores: StoreFactory<unknown>,
  threadId: string,
  { key, in: places }: Listed,
  call: { signal?: AbortSignal } = {},
): Promise<string[]> {
  const missing = Object.entries(places).map(async ([index, id]) => {
    const entries = await ifThere(stores.index(index).entriesOf(key, call));
    const isThere = entries?.some(
      (entry) =>
        entry.id === id && entry.version < SEALED && entryValueOf(entry.value)?.threadId === threadId,
    );
    return isThere ? [] : [index];
  });
  return (await Promise.all(missing)).flat();
}

/**
 * Lists a thread of any layer again if an entry of it is not there: after a copy, an import, an eviction or a failover. The next list
 * reads its head.
 *
 * @returns whether it got new entries; undefined if no layer lists it.
 * @throws StoreError `CORRUPT` if it is unreadable.
 */
export async function listAgain(
  stores: StoreFactory<unknown>,
  threadId: string,
  call: { signal?: AbortSignal } = {},
): Promise<boolean | undefined> {
  const chats = stores.withTraits(chatMessageTraits);
  const thread = await readThread(chats, threadId, call.signal);
  if (!thread.listed) return undefined;
  const { listed } = thread;
  const member = anyThread(chats, threadId, basesOf(listed));
  const missing = await missingEntries(chats, threadId, listed, call);
  if (missing.length === 0) return false;
  const entries = new Entries<never>({ stores: chats, wall: Date.now });
  const made = await entries.open(member, missing, listed, { lifeMs: null });
  try {
    await member.place(thread, { ...listed, in: { ...listed.in, ...made } });
  } catch (error) {
    await entries.remove(member, placesOf({ in: made }));
    // Another writer tells the lists itself, and finds that the entry is not there.
    if (StoreError.is(error, "CONFLICT")) return true;
    throw error;
  }
  await entries.remove(
    member,
    Object.entries(listed.in).filter(([index]) => missing.includes(index)),
  );
  return true;
}

/**
 * Lists the threads of a prefix again whose entries are not there: see {@link listAgain}.
 *
 * @returns the number of listed threads, and of those that got new entries.
 */
export async function rebuildLists(
  stores: StoreFactory<unknown>,
  {
    prefix = "",
    signal,
    onError = () => undefined,
  }: {
    readonly prefix?: string;
    readonly signal?: AbortSignal | undefined;
    onError?(error: unknown): void;
  } = {},
): Promise<{ readonly listed: number; readonly rebuilt: number }> {
  const call = signal ? { signal } : {};
  let listed = 0;
  let rebuilt = 0;
  for await (const { threadId, metadata } of stores.iterateThreads({ prefix, ...call })) {
    if (!isListed(metadata)) continue;
    listed++;
    if ((await missingEntries(stores, threadId, metadata.listed, call)).length === 0) continue;
    if ((await ifReadable(listAgain(stores, threadId, call), onError)) === true) rebuilt++;
  }
  return { listed, rebuilt };
}

/**
 * Deletes a thread of any layer, its parts and its entries, as the layer does, but not what else the layer deletes with it.
 *
 * @param places where an unreadable thread is listed, of {@link iterateEntries}. Default: its head says it.
 * @param expectedRevision deletes the thread only at this revision.
 * @param blobs where chats store files, if not in the stores alone: the option of their `ChatStore`.
 * @throws StoreError `CONFLICT` if the thread is not at `expectedRevision`. `UNSUPPORTED` for a chat with a file in another storage than
 *   the stores, without `blobs`: nothing is deleted.
 */
export async function removeAnyThread(
  stores: StoreFactory<unknown>,
  threadId: string,
  {
    places,
    expectedRevision,
    blobs,
    signal,
  }: {
    readonly places?: Pick<Member<never>, "key" | "bases">;
    readonly expectedRevision?: Revision;
    readonly blobs?: BlobStorage | undefined;
    readonly signal?: AbortSignal;
  } = {},
): Promise<void> {
  const chats = stores.withTraits(chatMessageTraits);
  const call = signal ? { signal } : {};
  // Before anything is deleted.
  const files = new Blobs(chats, { elsewhere: blobs });
  await files.knownUses(threadId, signal);
  const found = places ? undefined : await ifReadable(readThread(chats, threadId, signal));
  const listed = found === "unreadable" ? undefined : found?.listed;
  const at = places ?? (listed && basesOf(listed));
  if (!at) {
    await chats.deleteThread(threadId, {
      ...call,
      ...(expectedRevision !== undefined && { expectedRevision }),
    });
    await eraseStream(chats, threadId, signal);
    await new Parts(chats).sweep(threadId, call);
    return await files.releaseAll(threadId, signal);
  }
  const entries = new Entries<never>({ stores: chats, wall: Date.now });
  const isMeant = ({ revision }: AnyThread) => {
    if (revision === expectedRevision) return true;
    throw new StoreError("CONFLICT", "the thread is not at expectedRevision");
  };
  try {
    const release = async () => {
      await eraseStream(chats, threadId, signal);
      await files.releaseAll(threadId, signal);
    };
    await removeThread(
      chats,
      entries,
      { ...anyThread(chats, threadId, at), release },
      {
        ...call,
        ...(expectedRevision !== undefined && { isMeant, attempts: 1 }),
      },
    );
  } catch (error) {
    // It stays, and its entries are marked already.
    if (expectedRevision !== undefined && StoreError.is(error, "CONFLICT"))
      await listAgain(chats, threadId, call);
    throw error;
  }
}
