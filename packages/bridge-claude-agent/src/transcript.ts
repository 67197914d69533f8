import { randomUUID } from "node:crypto";
import { envelope, type Lists, type Member, valueOf as valueIn } from "@scrollback/collections";
import { type MessageStore, type Revision, retryOnConflict } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import { draftOf, type Head, headIn, memberOf, snapshotOf, type Told, type TranscriptHead } from "./head.ts";
import type { FoldSessionSummary, SessionKey, SessionStoreEntry } from "./session-store.ts";

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
  readonly lists: Lists<Told, TranscriptHead>;
  readonly foldSessionSummary: FoldSessionSummary | undefined;
  /** Called with the error of a new transcript's entry in its list, which is told again. */
  readonly onError: (error: unknown) => void;
}

/**
 * One transcript. It caches the uuids at the revision that it read or wrote last, and writes only at that revision. So no
 * entry is stored twice while other processes write.
 */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #member: Member<Told, TranscriptHead>;
  #cached: CachedTranscript | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: TranscriptOptions) {
    this.#options = options;
    this.#member = memberOf(options.key, options.store);
  }

  /** Adds the entries whose uuid the transcript does not have, in the order of the calls. */
  async append(entries: readonly SessionStoreEntry[]): Promise<void> {
    this.#waiting++;
    const appended = this.#queue
      .then(() => retryOnConflict(() => this.#append(entries)))
      .then((written) => written && this.#tell(written))
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

  /** Resolves to what was written, if anything was. */
  async #append(entries: readonly SessionStoreEntry[]): Promise<TranscriptHead | undefined> {
    const { store, lists } = this.#options;
    const cached = this.#cached;
    const { revision, head, uuids } = cached ?? (await this.#read()).cached;
    const fresh = withoutKnown(entries, uuids);
    if (fresh.length === 0) {
      // Another process may have deleted the transcript since it was cached.
      if (!cached || (await this.#member.read()).revision === revision) return undefined;
      this.#cached = undefined;
      return await this.#append(entries);
    }
    const next = this.#headWith(head, fresh);
    const draft = draftOf(next);
    const written = await lists.write(this.#member, head, this.#member.bases, draft, async (listed) => {
      // The cache stays empty until the outcome of the commit is known.
      this.#cached = undefined;
      const append = fresh.map((entry) => envelope("user", entry));
      const committed = { ...next, listed };
      const at = String(await store.commit({ append, metadata: committed }, { expectedRevision: revision }));
      for (const uuid of uuidsOf(fresh)) uuids.add(uuid);
      this.#cached = { revision: at, head: committed, uuids };
      return { revision: at };
    });
    return snapshotOf({ ...next, listed: written.listed }, written.revision);
  }

  /** The entries are stored: an append that failed for its list would store those without uuid again. */
  async #tell(written: TranscriptHead): Promise<void> {
    const { lists, onError } = this.#options;
    if (written.version > 1) lists.tellSoon(this.#member, written);
    else await lists.tell(this.#member, written).catch(onError);
  }

  async #read(): Promise<{ entries: SessionStoreEntry[]; cached: CachedTranscript }> {
    const { store, lists } = this.#options;
    const { entries: stored, revision, metadata } = await store.read();
    const head = headIn(store, metadata);
    if (head && revision !== null) lists.seen(this.#member, snapshotOf(head, revision));
    const entries = stored.map(({ message }) => valueIn<SessionStoreEntry>(message, isObject));
    const uuids = new Set(uuidsOf(entries));
    this.#cached = { revision, head, uuids };
    return { entries, cached: this.#cached };
  }

  #headWith(head: Head | undefined, fresh: SessionStoreEntry[]): Omit<Head, "listed"> {
    const { key, foldSessionSummary } = this.#options;
    const mtime = Math.max(Date.now(), head?.mtime ?? 0);
    const next = {
      version: 1 as const,
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
