import {
  type ChatMessage,
  type Revision,
  StoreError,
  type StoreFactory,
  type StoreIndex,
} from "@scrollback/store-core";
import { randomText } from "@scrollback/store-core/internal";
import { DAY, entriesIn } from "./entries.ts";

/** How long a write of a part that was given up may be under way. */
const LATE_WRITE_MS = 3_600_000;
/** The only id of the entries that announce parts. */
const ENTRY = "part";

/** What a head names its parts by: their ids are the keys. */
interface PartsHead {
  readonly parts?: Readonly<Record<string, unknown>>;
}

/**
 * Threads that belong to another one, its parts: each is written once, and is there while the head of that thread names it.
 *
 * 1. An entry of the thread's own index announces a part before it is written. It says at which revision the commit that names the part
 *    is made. So a deletion finds each part by this index, whatever the head says.
 * 2. The part is written only if nothing was ever written there.
 * 3. The head names it by a commit at the announced revision.
 *
 * A part that the head does not name, and whose announced revision is not the head's, is never named again, because no revision is used
 * twice: {@link Parts.sweep} erases it, whoever began it, with no regard to time. One that was announced at the current revision stays,
 * as its commit may be under way; the next commit of the thread decides. If a part to erase is not there, its write may be under way:
 * a mark takes its place for an hour, so that rule 2 refuses the write.
 */
export class Parts {
  readonly #stores: StoreFactory;

  constructor(stores: StoreFactory) {
    this.#stores = stores;
  }

  /**
   * Announces and writes a part of a thread, in two requests.
   *
   * @param base the revision at which the head will name it.
   * @returns its id.
   * @throws StoreError `TOO_LARGE` if the messages do not fit in one commit.
   */
  async write(
    threadId: string,
    base: Revision,
    messages: readonly ChatMessage[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const { ttlMs } = this.#stores.settings;
    const part = randomText(9);
    const call = signal ? { signal } : {};
    // Longer than the part, whose content a backend may keep after it has expired.
    const expiry = ttlMs !== undefined && { expiresAt: Date.now() + ttlMs + DAY };
    const content = { version: 0, order: 0, value: { base }, ...expiry };
    const place = { key: part, id: ENTRY };
    const index = this.#indexOf(threadId);
    await index.insert(place, content, call);
    try {
      await this.#open(threadId, part).commit({ append: messages }, { expectedRevision: null, ...call });
    } catch (error) {
      // Nothing was written.
      if (StoreError.is(error, "TOO_LARGE")) await index.remove(place, call);
      throw error;
    }
    return part;
  }

  /**
   * The messages of a part; undefined if it is not there, because it was erased or has expired.
   *
   * @throws StoreError `CORRUPT` if one of them is unreadable, also where the stores skip such records: the part would lose it.
   */
  async read(threadId: string, part: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}) {
    const page = await this.#open(threadId, part).read(signal ? { signal } : {});
    if (page.entries.length < page.count)
      throw new StoreError("CORRUPT", `a message of thread "${threadOf(threadId, part)}" cannot be read`, {
        threadId,
      });
    return page.count === 0 ? undefined : page;
  }

  /**
   * Erases each part that the thread's head does not name and will not name.
   *
   * @param named the parts that a head has named, so that they are found even if their index was lost.
   */
  async sweep(
    threadId: string,
    {
      named = [],
      signal,
    }: { readonly named?: readonly string[]; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const call = signal ? { signal } : {};
    const announced = new Map<string, unknown>(named.map((part) => [part, undefined]));
    for await (const { key, value } of entriesIn(this.#indexOf(threadId), call))
      announced.set(key, (Object(value) as { base?: unknown }).base);
    if (announced.size === 0) return;
    // After the index: a part that was announced before, and is named now, is seen to be named.
    const { revision, metadata } = await this.#stores.open(threadId).read({ limit: 0, ...call });
    const { parts = {} } = Object(metadata) as PartsHead;
    for (const [part, base] of announced)
      if (!Object.hasOwn(parts, part) && base !== revision)
        await this.#erase(threadId, part, named.includes(part), call);
  }

  /** @param isWritten whether the part was written before the sweep began, so that no write of it is under way. */
  async #erase(
    threadId: string,
    part: string,
    isWritten: boolean,
    call: { signal?: AbortSignal },
  ): Promise<void> {
    const index = this.#indexOf(threadId);
    const { revision } = await this.#open(threadId, part).read({ limit: 0, ...call });
    const isUnwritten = revision === null && !isWritten;
    // Another sweep may have erased it.
    if (isUnwritten && (await index.entriesOf(part, call)).length === 0) return;
    if (!isUnwritten || !(await this.#refuseWrite(threadId, part, call)))
      await this.#stores.deleteThread(threadOf(threadId, part), call);
    await index.remove({ key: part, id: ENTRY }, call);
  }

  /** Puts a mark in the place of a part. Returns false if the part is there by now. */
  async #refuseWrite(threadId: string, part: string, call: { signal?: AbortSignal }): Promise<boolean> {
    const store = this.#stores.open(threadOf(threadId, part), { ttlMs: LATE_WRITE_MS });
    try {
      await store.commit({ metadata: { erased: true } }, { expectedRevision: null, ...call });
      return true;
    } catch (error) {
      if (StoreError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }

  #open(threadId: string, part: string) {
    return this.#stores.open(threadOf(threadId, part));
  }

  #indexOf(threadId: string): StoreIndex {
    return this.#stores.index(`parts:${threadId}`);
  }
}

/** The parts that a head names. */
export function partsOf(metadata: unknown): readonly string[] {
  return Object.keys(Object((Object(metadata) as PartsHead).parts));
}

/** The ids of the threads of the parts that a head names. */
export function partThreads(threadId: string, metadata: unknown): readonly string[] {
  return partsOf(metadata).map((part) => threadOf(threadId, part));
}

function threadOf(threadId: string, part: string): string {
  return `part:${threadId}:${part}`;
}
