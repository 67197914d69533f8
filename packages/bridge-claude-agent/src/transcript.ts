import { randomUUID } from "node:crypto";
import {
  envelope,
  type MarkedDirectories,
  type MemberNow,
  parseMetadata,
  valueOf as valueIn,
} from "@scrollback/collections";
import { isObject, type MessageStore, type Revision, retryOnConflict } from "@scrollback/store-core";
import { listingOf } from "./keys.ts";
import type { FoldSessionSummary, SessionKey, SessionStoreEntry } from "./session-store.ts";

/** The maximum size of a summary in a list, where a value has at most 8 KiB. Lists read a larger one from its transcript. */
const MAX_LISTED_BYTES = 7_168;
const owner = { package: "@scrollback/bridge-claude-agent", kind: "Claude transcript" };

/** The metadata of a transcript's thread. */
export interface Head {
  readonly version: 1;
  /** Random, new for each creation of the transcript. */
  readonly incarnation: string;
  /** The number of commits of this incarnation. */
  readonly writes: number;
  /** Milliseconds since 1970; never goes back. */
  readonly mtime: number;
  /** The SDK's summary of all entries. Absent for subagents, and if entries were stored without the SDK's function. */
  readonly summary?: Record<string, unknown>;
}

/** The fields of a transcript in lists. */
export interface Listed {
  readonly summary?: Record<string, unknown>;
}

/** This process's cache of a transcript, at one revision. */
interface CachedTranscript {
  readonly revision: Revision | null;
  readonly head: Head | undefined;
  readonly uuids: Set<string>;
}

/** Options of {@link Transcript}. */
export interface TranscriptOptions {
  readonly key: SessionKey;
  readonly store: MessageStore;
  readonly directories: MarkedDirectories<Listed>;
  readonly foldSessionSummary: FoldSessionSummary | undefined;
  /** Returns the size of a value in a list, in bytes. */
  readonly sizeOf: (value: unknown) => number;
}

/**
 * One transcript. It caches the uuids at the revision that it read or wrote last, and writes only at that revision. So no
 * entry is stored twice while other processes write.
 */
export class Transcript {
  readonly #options: TranscriptOptions;
  #cached: CachedTranscript | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  /** Adds the entries whose uuid the transcript does not have, in the order of the calls. */
  async append(entries: readonly SessionStoreEntry[]): Promise<void> {
    this.#waiting++;
    const appended = this.#queue
      .then(() => retryOnConflict(() => this.#append(entries)))
      .finally(() => {
        this.#waiting--;
      });
    // The next append runs even if this one fails.
    this.#queue = appended.catch(() => undefined);
    await appended;
  }

  /** Clears the cache, after the transcript was deleted. */
  forget(): void {
    this.#cached = undefined;
  }

  /** Whether no append is pending. */
  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  /** Returns all entries; undefined for a missing transcript. */
  async load(): Promise<SessionStoreEntry[] | undefined> {
    const { entries, cached } = await this.#read();
    return cached.head && entries;
  }

  async #append(entries: readonly SessionStoreEntry[]): Promise<void> {
    const { key, store, directories } = this.#options;
    const cached = this.#cached;
    const { revision, head, uuids } = cached ?? (await this.#read()).cached;
    const fresh = withoutKnown(entries, uuids);
    if (fresh.length === 0) {
      // Another process may have deleted the transcript since it was cached.
      if (!cached || (await readHead(store)).revision === revision) return;
      this.#cached = undefined;
      return await this.#append(entries);
    }
    const next = this.#headWith(head, fresh);
    const { directory, member } = listingOf(key);
    await directories.write(directory, { key: member, incarnation: next.incarnation }, async () => {
      // The cache stays empty until the outcome of the commit is known.
      this.#cached = undefined;
      const append = fresh.map((entry) => envelope("user", entry));
      const written = await store.commit({ append, metadata: next }, { expectedRevision: revision });
      for (const uuid of uuidsOf(fresh)) uuids.add(uuid);
      this.#cached = { revision: written, head: next, uuids };
      return { ...listedAs(next, this.#options.sizeOf), was: head?.mtime ?? null };
    });
  }

  async #read(): Promise<{ entries: SessionStoreEntry[]; cached: CachedTranscript }> {
    const { store } = this.#options;
    const { entries: stored, revision, metadata } = await store.read();
    const head = parseMetadata<Head>(store.threadId, metadata, owner);
    const entries = stored.map(({ message }) => valueIn<SessionStoreEntry>(message, isObject));
    const uuids = new Set(uuidsOf(entries));
    this.#cached = { revision, head, uuids };
    return { entries, cached: this.#cached };
  }

  #headWith(head: Head | undefined, fresh: SessionStoreEntry[]): Head {
    const { key, foldSessionSummary } = this.#options;
    const mtime = Math.max(Date.now(), head?.mtime ?? 0);
    const next: Head = {
      version: 1,
      incarnation: head?.incarnation ?? randomUUID(),
      writes: (head?.writes ?? 0) + 1,
      mtime,
    };
    // A summary that lacks entries is invalid: lists make it from all entries.
    if (!foldSessionSummary || key.subpath !== undefined || (head && !head.summary)) return next;
    const { sessionId } = key;
    const previous = head?.summary && { sessionId, mtime: head.mtime, data: head.summary };
    return { ...next, summary: foldSessionSummary(previous, key, fresh, { mtime }).data };
  }
}

/** Reads a transcript's head and its revision, in one read. */
export async function readHead(
  store: MessageStore,
): Promise<{ head: Head | undefined; revision: Revision | null }> {
  const { metadata, revision } = await store.read({ limit: 0 });
  return { head: parseMetadata<Head>(store.threadId, metadata, owner), revision };
}

/** The entry of a transcript in lists. */
export function listedAs(head: Head, sizeOf: (value: unknown) => number): MemberNow<Listed> {
  const { incarnation, writes: version, mtime: order, summary } = head;
  const isListed = summary !== undefined && sizeOf(summary) <= MAX_LISTED_BYTES;
  return { incarnation, version, order, value: isListed ? { summary } : {} };
}

/** The uuids of entries. A null is not a uuid, although the SDK's type does not allow it. */
function uuidsOf(entries: readonly SessionStoreEntry[]): string[] {
  return entries.map(({ uuid }) => uuid).filter((uuid) => typeof uuid === "string");
}

function withoutKnown(
  entries: readonly SessionStoreEntry[],
  uuids: ReadonlySet<string>,
): SessionStoreEntry[] {
  const batch = new Set<string>();
  return entries.filter(({ uuid }) => {
    if (typeof uuid !== "string") return true;
    if (uuids.has(uuid) || batch.has(uuid)) return false;
    batch.add(uuid);
    return true;
  });
}
