import { type IndexEntry, StoreError, type StoreFactory, type StoreIndex } from "@scrollback/store-core";
import type { BlobStorage } from "./blob-storage.ts";
import { blobThreads } from "./blob-threads.ts";
import { CONTENTS, indexIn } from "./index-in.ts";
import { sealedBlobs } from "./sealed-blobs.ts";

/** How long a request of a process that died may be under way. */
export const LATE_MS = 3_600_000;
/** The id of the entry that says where a content is. All others of its key are its uses. */
const PLACE = "place";
/** The version of the entry of a use. */
const USED = 0;

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A content that a message of a thread uses. */
export interface BlobUse {
  /** Random: no two messages have the same use. */
  readonly id: string;
  /** Whose content it is. */
  readonly scope: string;
  readonly digest: string;
}

/** What the entry of a content says. */
interface PlaceValue {
  /** The key in the storage. Absent: the content is erased. */
  readonly key?: string | undefined;
  /** The size of the content. */
  readonly size?: number | undefined;
  /** Whether it is not in the stores themselves. */
  readonly elsewhere?: boolean | undefined;
  readonly isErased?: boolean;
}

/**
 * The contents of scopes. An entry of a scope's index is a use of a content, or says where the content is. Who adds a use advances the
 * place by one version, from the one that was seen after the use was inserted; so does who saw no use any more and erases the content. Of
 * two who advance from one version, one does.
 */
export class Contents {
  readonly #stores: StoreFactory;
  readonly #own: BlobStorage;
  readonly #elsewhere: BlobStorage | undefined;
  readonly #now: () => number;

  constructor(stores: StoreFactory, elsewhere: BlobStorage | undefined, now: () => number) {
    this.#stores = stores;
    this.#own = blobThreads(stores);
    this.#elsewhere = elsewhere && sealedBlobs(stores, elsewhere);
    this.#now = now;
  }

  /**
   * Adds a use, and stores the content if it is not there.
   *
   * @param options `isKept`: the use may be there, of an earlier call.
   * @returns whether there is a content.
   * @throws StoreError `CONFLICT` if the use was removed before.
   */
  async add(
    use: BlobUse,
    load: () => Promise<Uint8Array | undefined>,
    { isKept = false, ...call }: CallOptions & { readonly isKept?: boolean } = {},
  ): Promise<boolean> {
    const { scope, digest, id } = use;
    const index = this.#contentsOf(scope);
    const isInserted = await index.insert(
      { key: digest, id },
      { version: USED, order: 0, value: null },
      call,
    );
    if (!isInserted && !isKept) throw taken();
    const isNew = this.#elsewhere !== undefined;
    let isPut = false;
    let isMissing = false;
    let size = 0;
    let key: string | undefined;
    const put = async () => {
      if (isPut) return;
      const content = await load();
      isMissing = !content;
      if (content) await this.#storageOf(isNew).put(id, content, call);
      isPut = content !== undefined;
      size = content?.length ?? 0;
    };
    const attempt = async () => {
      const { place, uses } = await this.#find(scope, digest, call);
      const { isErased, ...before } = valueIn<PlaceValue>(place);
      key = before.key;
      if (!uses.has(id)) throw taken();
      if (place && !isErased) return await this.#advance(scope, place, before);
      await put();
      if (isMissing) return true;
      if (key !== undefined) await this.#storageOf(before.elsewhere).delete(key, call);
      key = id;
      const value: PlaceValue = { key: id, size, ...(isNew && { elsewhere: true }) };
      if (place) return await this.#advance(scope, place, value);
      const content = { version: this.#now(), order: 0, value };
      return await index.insert({ key: digest, id: PLACE }, content, call);
    };
    try {
      await untilDone(attempt);
    } finally {
      // Another one was first, or a sweep has taken the use.
      if (isPut && key !== id) await this.#storageOf(isNew).delete(id, call);
    }
    return !isMissing;
  }

  /**
   * Removes a use, and the content if it has no other.
   *
   * @param isAnnounced whether requests of the process that began the use may be under way.
   */
  async remove({ scope, digest, id }: BlobUse, isAnnounced: boolean, call: CallOptions): Promise<void> {
    const index = this.#contentsOf(scope);
    const late = { order: 0, expiresAt: this.#now() + LATE_MS };
    const at = { key: digest, id };
    const mark = { version: 1, value: { isGone: true }, ...late };
    // In the place of a use that is not inserted yet, a mark refuses it. One that an earlier sweep has left there stays.
    const isMarked = isAnnounced && (await index.insert(at, mark, call));
    if (!isAnnounced || (!isMarked && (await index.update(at, mark, call)) === USED))
      await index.remove(at, call);
    let kept: string | undefined;
    const attempt = async () => {
      const { place, uses } = await this.#find(scope, digest, call);
      const { key, elsewhere, isErased } = valueIn<PlaceValue>(place);
      kept = isErased ? undefined : key;
      if (uses.size > 0) return true;
      kept = undefined;
      const erased = { version: this.#now(), value: { isErased: true } satisfies PlaceValue, ...late };
      if (!place) return !isAnnounced || (await index.insert({ key: digest, id: PLACE }, erased, call));
      if (!isErased) {
        await this.#advance(scope, place, { key, elsewhere, isErased: true });
        return false;
      }
      if (key !== undefined) await this.#storageOf(elsewhere).delete(key, call);
      else if (!isAnnounced) return true;
      return await this.#advance(scope, place, { isErased: true }, late.expiresAt);
    };
    await untilDone(attempt);
    if (isAnnounced && kept !== id) await this.#storageOf(this.#elsewhere !== undefined).delete(id, call);
  }

  /** A content, or its bytes from `start` to before `end`, and its size; undefined if it has no use. */
  async read(
    { scope, digest }: Omit<BlobUse, "id">,
    { start = 0, end, ...call }: CallOptions & { readonly start?: number; readonly end?: number } = {},
  ): Promise<{ readonly content: Uint8Array; readonly size: number } | undefined> {
    const range = { ...call, start, ...(end !== undefined && { end }) };
    for (let before: string | undefined; ; ) {
      const { key, size = 0, elsewhere, isErased } = await this.#placeOf(scope, digest, call);
      // One that was stored anew meanwhile has another key, and one that is being erased may still be there.
      if (isErased || key === undefined || key === before) return undefined;
      if (end !== undefined && end <= start) return { content: new Uint8Array(), size };
      const content = await this.#storageOf(elsewhere).get(key, range);
      const length = Math.max(0, Math.min(end ?? size, size) - start);
      if (content?.length === length) return { content, size };
      if (content)
        throw new StoreError("CORRUPT", `a file has ${content.length} bytes where ${length} were stored`);
      before = key;
    }
  }

  /** Whether a content is in a storage that this program does not know. */
  async isUnknown({ scope, digest }: Omit<BlobUse, "id">, call: CallOptions): Promise<boolean> {
    const { elsewhere = false } = await this.#placeOf(scope, digest, call);
    return elsewhere && !this.#elsewhere;
  }

  /**
   * Whether a content is there. `"elsewhere"`: it is in a storage that this program does not know.
   *
   * @throws StoreError `CORRUPT` if it is damaged.
   */
  async check(
    { scope, digest }: Omit<BlobUse, "id">,
    call: CallOptions = {},
  ): Promise<"readable" | "missing" | "elsewhere"> {
    if (await this.isUnknown({ scope, digest }, call)) return "elsewhere";
    return (await this.read({ scope, digest }, call)) ? "readable" : "missing";
  }

  /** A URL of a content, if it is in a storage that has URLs. */
  async url(
    { scope, digest }: Omit<BlobUse, "id">,
    options: { readonly mediaType: string; readonly expiresInMs: number },
    call: CallOptions = {},
  ): Promise<string | undefined> {
    if (!this.#elsewhere?.url) return undefined;
    const { key, elsewhere, isErased } = await this.#placeOf(scope, digest, call);
    if (isErased || !elsewhere || key === undefined) return undefined;
    return await this.#elsewhere.url(key, options);
  }

  /** @throws StoreError `UNSUPPORTED` for a content that is elsewhere, where this program knows no other place. */
  #storageOf(isElsewhere: boolean | undefined): BlobStorage {
    if (!isElsewhere) return this.#own;
    if (this.#elsewhere) return this.#elsewhere;
    throw unknownStorage();
  }

  /** Returns whether this advanced the place of a content from the version that was found. */
  async #advance(
    scope: string,
    { key, id, version }: IndexEntry,
    value: PlaceValue,
    expiresAt?: number,
  ): Promise<boolean> {
    const next = version + 1;
    const expiry = expiresAt !== undefined && { expiresAt };
    const found = await this.#contentsOf(scope).update(
      { key, id },
      { version: next, order: 0, value, ...expiry },
    );
    return found !== null && found < next;
  }

  async #placeOf(scope: string, digest: string, call: CallOptions): Promise<Partial<PlaceValue>> {
    return valueIn<PlaceValue>((await this.#find(scope, digest, call)).place);
  }

  async #find(scope: string, digest: string, call: CallOptions) {
    const entries = await this.#contentsOf(scope).entriesOf(digest, call);
    const place = entries.find(({ id }) => id === PLACE);
    const others = entries.filter((entry) => entry !== place && !valueIn<{ isGone?: boolean }>(entry).isGone);
    return { place, uses: new Set(others.map(({ id }) => id)) };
  }

  #contentsOf(scope: string): StoreIndex {
    return indexIn(this.#stores, CONTENTS + scope);
  }
}

function valueIn<T>(entry: IndexEntry | undefined): Partial<T> {
  return Object(entry?.value);
}

/** A content, as its place says; undefined for any other entry of an index. */
export function contentIn(index: string, entry: IndexEntry) {
  const { key, size = 0, elsewhere = false, isErased = false } = valueIn<PlaceValue>(entry);
  if (!index.startsWith(CONTENTS) || entry.id !== PLACE || key === undefined || isErased) return undefined;
  return { scope: index.slice(CONTENTS.length), digest: entry.key, size, elsewhere };
}

/** The error of a call that needs a content in a storage that this program does not know. */
export function unknownStorage(threadId?: string): StoreError {
  return new StoreError(
    "UNSUPPORTED",
    "a file of the thread is in another storage than the stores: use a program whose chats have it as their option blobs",
    threadId === undefined ? {} : { threadId },
  );
}

function taken(): StoreError {
  return new StoreError("CONFLICT", "the thread was written meanwhile; try again");
}

/** Repeats an attempt until it returns true. Of those that are in each other's way one always is done. */
async function untilDone(attempt: () => Promise<boolean>): Promise<void> {
  for (let made = 0; made < 100; made++) if (await attempt()) return;
  throw taken();
}
