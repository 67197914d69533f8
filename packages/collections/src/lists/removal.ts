import { retryOnConflict, StoreError, type StoreFactory } from "@scrollback/store-core";
import { isSame } from "@scrollback/store-core/internal";
import { type Entries, entriesIn, listedOf } from "./entries.ts";
import {
  entryValueOf,
  type Listed,
  type Member,
  type Missing,
  type Names,
  OPEN,
  placesOf,
  SEALED,
  type Snapshot,
  unnamedOf,
} from "./listed.ts";
import { Parts } from "./parts.ts";

/** Options of {@link removeThread}. */
export interface RemoveOptions<S> extends NonNullable<Parameters<typeof retryOnConflict>[1]> {
  /** Whether this thread is meant. An unreadable one is then not deleted. Default: any is, readable or not. */
  isMeant?(snapshot: S): boolean;
  /** Deletes what the thread refers to, before the thread is deleted at the same revision. Runs again if the thread has changed. */
  clear?(thread: S | "unreadable"): Promise<void>;
}

/**
 * Deletes a thread, readable or not, its parts and its entries. A missing one is not an error.
 *
 * @returns the deleted thread at its last revision; undefined if there was none that could be read and is meant.
 */
export async function removeThread<T, S extends Snapshot<T>>(
  stores: StoreFactory,
  entries: Entries<T>,
  member: Member<T, S>,
  { isMeant, clear, signal, ...retries }: RemoveOptions<S>,
): Promise<S | undefined> {
  let found: S | undefined;
  const closed: Listed[] = [];
  const attempt = async () => {
    const snapshot = isMeant ? await member.read(signal) : await ifReadable(member.read(signal));
    if (snapshot === "unreadable") {
      await clear?.(snapshot);
      return await removeUnreadable(stores, entries, member, signal);
    }
    if (!snapshot.listed) {
      // The content of an expired thread may still be stored.
      if (!found) await stores.deleteThread(member.threadId, deletionOf(snapshot, signal));
      return;
    }
    // The thread of the first attempt is deleted. This one was created since.
    if (found && found.incarnation !== snapshot.incarnation) return;
    if (isMeant?.(snapshot) === false) return;
    await clear?.(snapshot);
    // Beside a busy writer only the requests between the read and the deletion count.
    if (!isSame(closed.at(-1), snapshot.listed)) {
      const { listed, order } = snapshot;
      closed.push(listed);
      // A full or damaged index does not protect the thread. Its entries are then removed after it.
      await entries.close(member, placesOf(listed), order, listed, signal).catch(ifRefused);
    }
    found = snapshot;
    await stores.deleteThread(member.threadId, deletionOf(snapshot, signal));
  };
  await retryOnConflict(attempt, { ...retries, signal });
  // Before the entries: a list that finds these of a deleted thread does the same.
  if (member.parts)
    await new Parts(stores).sweep(member.threadId, { named: found ? member.parts(found) : [], signal });
  await member.release?.(signal);
  try {
    for (const listed of closed) await entries.remove(member, placesOf(listed));
    if ((!found && !isMeant) || stores.settings.ttlMs !== undefined) await sweep(entries, member, signal);
  } catch (error) {
    throw StoreError.is(error) && !concernsAll(error) ? left(error) : error;
  }
  return found;
}

/** Removes the entries that no head names. Open ones stay, because a creation may be under way: they have no content. */
async function sweep<T>(
  entries: Entries<T>,
  member: Member<T>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = (await entries.find(member, signal))
    .filter(([, { version }]) => version !== OPEN && version !== SEALED)
    .map(([index, { id }]) => [index, id] as const);
  if (found.length === 0) return;
  const head = await ifReadable(member.read(signal));
  if (head === "unreadable") return;
  await entries.remove(member, unnamedOf(found, head));
}

/** Deletes a thread whose head cannot say where it is listed. @throws StoreError `CONFLICT` if the thread changes meanwhile. */
async function removeUnreadable<T>(
  stores: StoreFactory,
  entries: Entries<T>,
  member: Member<T>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // A commit of nothing only reads the revision. What is unreadable afterwards is deleted at this revision, or not at all.
  const revision = await ifReadable(stores.open(member.threadId).commit({}, signal ? { signal } : {}));
  if ((await ifReadable(member.read(signal))) !== "unreadable")
    throw new StoreError("CONFLICT", "the thread was written meanwhile; delete it again");
  for (const [index, entry] of await entries.find(member, signal)) {
    if (entry.version === OPEN) await entries.seal(index, entry).catch(ifRefused);
    else if (entry.version !== SEALED) {
      const { id, order, value } = entry;
      await entries.close(member, [[index, id]], order, listedOf(value), signal).catch(ifRefused);
    }
  }
  const deletion = revision === "unreadable" ? signal && { signal } : deletionOf({ revision }, signal);
  await stores.deleteThread(member.threadId, deletion);
}

/**
 * The names of all threads in indexes, each once. Upwards, because threads only move up; the first indexes once more, because a
 * thread may move there from a later one.
 */
export async function namesIn(
  stores: StoreFactory,
  indexes: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Names[]> {
  const found = new Map<string, Names>();
  for (const index of [...indexes, ...indexes.slice(0, -1)])
    for await (const { key, value } of entriesIn(stores.index(index), signal ? { signal } : {}))
      found.set(key, { key, names: entryValueOf(value)?.listed.names ?? found.get(key)?.names });
  return [...found.values()];
}

function deletionOf(
  { revision: expectedRevision }: Pick<Missing, "revision">,
  signal: AbortSignal | undefined,
) {
  return { expectedRevision, ...(signal && { signal }) };
}

/** The result of a read, or `"unreadable"` if the thread is damaged, or of a format that this version cannot read. */
export async function ifReadable<R>(
  read: Promise<R>,
  report: (error: StoreError) => void = () => undefined,
): Promise<R | "unreadable"> {
  try {
    return await read;
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT") && !(StoreError.is(error, "UNSUPPORTED") && error.threadId))
      throw error;
    report(error);
    return "unreadable";
  }
}

/** Throws all errors but refusals of the server, such as when its memory is full, and of a damaged index. */
function ifRefused(error: unknown): void {
  if (concernsAll(error)) throw error;
}

/** Whether an error is an outage or the end of the call, so that nothing else would succeed either. */
export function concernsAll(error: unknown): boolean {
  return !StoreError.is(error) || error.retryable || error.code === "ABORTED" || error.code === "CLOSED";
}

function left(cause: StoreError): StoreError {
  return new StoreError(
    cause.code,
    `it is deleted, but a list may still have what it tells of it, such as its title; delete it again: ${cause.message}`,
    { cause },
  );
}
