import {
  chatMessageTraits,
  type IndexEntry,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { Entries } from "./entries.ts";
import { type EntryValue, type Listed, type Member, OPEN, SEALED, type Snapshot } from "./listed.ts";
import { ifReadable, removeThread } from "./removal.ts";

/** A listed thread of any layer. */
interface AnyThread extends Snapshot<never> {
  readonly metadata: object;
}

/** Whether a thread's metadata says where it is listed. */
export function isListed(
  metadata: unknown,
): metadata is { readonly listed: Listed; readonly incarnation?: string } {
  const { listed } = Object(metadata) as { listed?: unknown };
  const { key, order, in: places } = Object(listed) as Partial<Listed>;
  return (
    typeof key === "string" && typeof order === "number" && typeof places === "object" && places !== null
  );
}

/** A thread that a layer may list, for programs that know no layer. */
function anyThread(
  stores: StoreFactory,
  threadId: string,
  { key, bases }: { readonly key: string; readonly bases: readonly string[] },
): Member<never, AnyThread> {
  const store = stores.open(threadId);
  const threadOf = (metadata: unknown, revision: Revision | null, expiresAt?: number) =>
    isListed(metadata) && revision !== null
      ? {
          ...{ revision, metadata, expiresAt, version: OPEN + 1 },
          ...{ listed: metadata.listed, order: metadata.listed.order },
          incarnation: metadata.incarnation ?? "",
        }
      : { revision };
  return {
    ...{ threadId, key, bases },
    async read(signal) {
      const { metadata, revision, expiresAt } = await store.read({ limit: 0, ...(signal && { signal }) });
      return threadOf(metadata, revision, expiresAt);
    },
    async place({ metadata, revision, ...thread }, listed) {
      const placed = { ...metadata, listed };
      const written = await store.commit({ metadata: placed }, { expectedRevision: revision });
      return { ...thread, listed, metadata: placed, revision: String(written) };
    },
  };
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
  const seen = new Set<string>();
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await stores.listIndexes({ limit: 1_000, ...call, ...(cursor !== undefined && { cursor }) });
    for (const index of page.names) {
      if (seen.has(index)) continue;
      seen.add(index);
      yield* entriesIn(stores, index, call);
    }
    cursor = page.cursor;
  }
}

async function* entriesIn(
  stores: StoreFactory<unknown>,
  index: string,
  call: { signal?: AbortSignal },
): AsyncGenerator<ListedEntry> {
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await stores.index(index).list({ ...call, ...(cursor !== undefined && { cursor }) });
    for (const entry of page.entries) {
      const { threadId } = Object(entry.value) as Partial<EntryValue<unknown>>;
      yield { index, entry, threadId: typeof threadId === "string" ? threadId : undefined };
    }
    cursor = page.cursor;
  }
}

/** Whether an entry is of a thread that does not name it. One of a creation that is under way is not. */
export async function isLost(
  stores: StoreFactory<unknown>,
  { index, entry, threadId }: ListedEntry,
  call: { signal?: AbortSignal } = {},
): Promise<boolean> {
  if (threadId === undefined || entry.version === OPEN || entry.version === SEALED) return false;
  const { metadata } = await stores.open(threadId).read({ limit: 0, ...call });
  return !isListed(metadata) || metadata.listed.in[index] !== entry.id;
}

/** The indexes of a thread in which its entry is not there. */
export async function missingEntries(
  stores: StoreFactory<unknown>,
  { key, in: places }: Listed,
  call: { signal?: AbortSignal } = {},
): Promise<string[]> {
  const missing = Object.entries(places).map(async ([index, id]) => {
    const entries = await stores.index(index).entriesOf(key, call).catch(ifLost);
    return entries.some((entry) => entry.id === id && entry.version !== SEALED) ? [] : [index];
  });
  return (await Promise.all(missing)).flat();
}

/** A server that has lost a part of an index says so once, and then has none of its entries. */
function ifLost(error: unknown): [] {
  if (!StoreError.is(error, "CORRUPT")) throw error;
  return [];
}

/**
 * Lists the threads of a prefix again whose entries are not there: after a copy, an import, an eviction or a failover. The next list reads
 * the heads of these threads. Works for the threads of any layer.
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
  const chats = stores.withTraits(chatMessageTraits);
  const entries = new Entries<never>({ stores: chats, wall: Date.now });
  let listed = 0;
  let rebuilt = 0;
  const rebuild = async (threadId: string, found: Listed) => {
    listed++;
    if ((await missingEntries(chats, found, call)).length === 0) return;
    const member = anyThread(chats, threadId, { key: found.key, bases: Object.keys(found.in) });
    const thread = await ifReadable(member.read(signal), onError);
    if (thread === "unreadable" || !thread.listed) return;
    const missing = await missingEntries(chats, thread.listed, call);
    const made = await entries.open(member, missing, thread.listed, { expires: false });
    try {
      await member.place(thread, { ...thread.listed, in: { ...thread.listed.in, ...made } });
      rebuilt++;
    } catch (error) {
      await entries.remove(member, { in: made });
      // Another writer tells the lists itself, and finds that the entry is not there.
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  };
  for await (const { threadId, metadata } of chats.iterateThreads({ prefix, ...call }))
    if (isListed(metadata)) await rebuild(threadId, metadata.listed);
  return { listed, rebuilt };
}

/**
 * Deletes a thread of any layer and its entries, as the layer does, but not what else the layer deletes with it.
 *
 * @param places where an unreadable thread is listed, of {@link iterateEntries}. Default: its head says it.
 * @param expectedRevision deletes the thread only at this revision.
 * @throws StoreError `CONFLICT` if the thread is not at `expectedRevision`.
 */
export async function removeAnyThread(
  stores: StoreFactory<unknown>,
  threadId: string,
  {
    places,
    expectedRevision,
    signal,
  }: {
    readonly places?: { readonly key: string; readonly indexes: readonly string[] };
    readonly expectedRevision?: Revision;
    readonly signal?: AbortSignal;
  } = {},
): Promise<void> {
  const chats = stores.withTraits(chatMessageTraits);
  const call = signal ? { signal } : {};
  const at = places ?? (await placesIn(chats, threadId, call));
  if (!at)
    return await chats.deleteThread(threadId, {
      ...call,
      ...(expectedRevision !== undefined && { expectedRevision }),
    });
  const { key, indexes: bases } = at;
  const entries = new Entries<never>({ stores: chats, wall: Date.now });
  const isMeant = ({ revision }: AnyThread) => {
    if (revision === expectedRevision) return true;
    throw new StoreError("CONFLICT", "the thread is not at expectedRevision");
  };
  await removeThread(chats, entries, anyThread(chats, threadId, { key, bases }), {
    ...call,
    attempts: 1,
    ...(expectedRevision !== undefined && { isMeant }),
  });
}

async function placesIn(stores: StoreFactory, threadId: string, call: { signal?: AbortSignal }) {
  const { metadata } = await stores.open(threadId).read({ limit: 0, ...call });
  return isListed(metadata)
    ? { key: metadata.listed.key, indexes: Object.keys(metadata.listed.in) }
    : undefined;
}
