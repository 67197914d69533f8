import type { IndexEntry, Revision, StoreFactory, StoreIndex } from "@scrollback/store-core";
import { randomText } from "@scrollback/store-core/internal";
import type { BlobStorage } from "./blob-storage.ts";
import { type BlobUse, type CallOptions, Contents, LATE_MS, unknownStorage } from "./contents.ts";
import { entriesIn } from "./entries.ts";
import { indexIn, indexNames, USES } from "./index-in.ts";

/** The only id of the entries that say which contents a thread uses. */
const USE = "use";
/** The order of announced uses in a thread's index, before that of settled ones, which is their time. */
const ANNOUNCED = 0;

/** A thread at one revision. */
export interface ThreadState {
  readonly revision: Revision | null;
  /** The number of its commits. */
  readonly writes: number;
}

/** A thread, from its first commit to its end. */
export interface ThreadLife {
  /** Another one after it was deleted, or has expired, and was begun again. Undefined: it is not there. */
  readonly incarnation: string | undefined;
}

/** What the entry of a use says. */
interface UseValue extends Pick<BlobUse, "scope" | "digest"> {
  /** Of an announced use: the revision at which the commit is made that adds or drops the message. */
  readonly base?: Revision | null;
  /** Of a settled use: the thread that has the message. */
  readonly incarnation?: string | undefined;
  readonly at: number;
}

/**
 * Contents that messages of threads use, each stored once in a scope.
 *
 * 1. An entry of the thread's own index announces a use, with the revision at which the commit that adds the message is made. So a sweep
 *    finds each use, whatever the thread says.
 * 2. An entry of the scope's index has the use, under the digest of the content.
 * 3. The entry of the place of the content is advanced by one version, from the one that was seen after the use was inserted. Of two who
 *    advance from one version, one does. It is written after the content.
 * 4. The thread's commit adds the message.
 *
 * A commit that drops a message announces this in the same way, at its own revision. Then the use is removed; who sees none left advances
 * the place to "erased", and deletes the content if that succeeds: whoever has begun to use it meanwhile has advanced it, or finds it
 * erased and stores it anew.
 *
 * A use that was announced at another revision than the thread's is there or not, and so is a settled one of a thread that is gone: the
 * messages decide.
 */
export class Blobs {
  readonly #stores: StoreFactory;
  readonly #contents: Contents;
  readonly #now: () => number;

  /** @param elsewhere where new contents are stored. Default: in the stores. */
  constructor(
    stores: StoreFactory,
    { elsewhere, now = Date.now }: { readonly elsewhere?: BlobStorage | undefined; now?(): number } = {},
  ) {
    this.#stores = stores;
    this.#contents = new Contents(stores, elsewhere, now);
    this.#now = now;
  }

  /**
   * Stores a content for a message of a thread, before the commit at `state.revision` that adds the message. `load` is called if it is not
   * stored yet.
   *
   * @param use with a new id, of {@link newUse}.
   * @returns whether there is a content. If not, the caller releases the use.
   * @throws StoreError `CONFLICT` if the thread has changed meanwhile, and a sweep has seen that.
   */
  async use(
    threadId: string,
    state: ThreadState,
    use: BlobUse,
    load: () => Promise<Uint8Array | undefined>,
    call: CallOptions = {},
  ): Promise<boolean> {
    await this.#usesOf(threadId).insert({ key: use.id, id: USE }, announced(use, state, this.#now()), call);
    return await this.#contents.add(use, load, call);
  }

  /**
   * Announces the uses of a commit at `state.revision`: that it drops their messages, or another attempt to add them.
   *
   * @param before the state of the last attempt to add them.
   * @returns those that are the caller's: a sweep has taken the others.
   */
  async announce(
    threadId: string,
    state: ThreadState,
    uses: readonly BlobUse[],
    { before, ...call }: CallOptions & { readonly before?: ThreadState } = {},
  ): Promise<readonly BlobUse[]> {
    const found = await Promise.all(
      uses.map((use) =>
        this.#usesOf(threadId).update({ key: use.id, id: USE }, announced(use, state, this.#now()), call),
      ),
    );
    const isOwn = (version: number | null | undefined) =>
      before === undefined || (version === versionOf(before) && before.writes < state.writes);
    return uses.filter((_, index) => isOwn(found[index]));
  }

  /** After the commit: `state` is the thread's. */
  async settle(
    threadId: string,
    state: Pick<ThreadState, "writes"> & ThreadLife,
    uses: readonly BlobUse[],
    call: CallOptions = {},
  ): Promise<void> {
    const { incarnation } = state;
    const at = this.#now();
    await Promise.all(
      uses.map(({ id, scope, digest }) => {
        const value: UseValue = { scope, digest, incarnation, at };
        const content = { version: versionOf(state) - 1, order: at, value };
        return this.#usesOf(threadId).update({ key: id, id: USE }, content, call);
      }),
    );
  }

  /** After a commit that dropped their messages. */
  async release(threadId: string, uses: readonly BlobUse[], call: CallOptions = {}): Promise<void> {
    for (const use of uses) await this.#release(threadId, use, false, call);
  }

  /** See {@link Contents.read}. */
  async read(content: Omit<BlobUse, "id">, options: Parameters<Contents["read"]>[1] = {}) {
    return await this.#contents.read(content, options);
  }

  /** See {@link Contents.check}. */
  async check(...args: Parameters<Contents["check"]>) {
    return await this.#contents.check(...args);
  }

  /** See {@link Contents.url}. */
  async url(...args: Parameters<Contents["url"]>): Promise<string | undefined> {
    return await this.#contents.url(...args);
  }

  /**
   * Releases each use that no message of a thread has.
   *
   * @param find reads the thread, and the uses of its messages at this revision.
   * @param options `incarnation`: the thread as it was last seen. Its settled uses are not looked for, but those of earlier ones.
   *   Undefined: it is gone. Then nothing is left to another process that was about to release a use. `refused`: announced uses whose
   *   commit is not made.
   */
  async sweep(
    threadId: string,
    find: () => Promise<ThreadState & ThreadLife & { readonly uses: { has(id: string): boolean } }>,
    options: CallOptions & ThreadLife & { readonly refused?: { has(id: string): boolean } },
  ): Promise<void> {
    const { incarnation, refused, ...call } = options;
    const entries: IndexEntry[] = [];
    for await (const entry of entriesIn(this.#usesOf(threadId), call)) {
      const settled = valueIn(entry).incarnation;
      if (settled !== undefined && settled === incarnation) break;
      entries.push(entry);
    }
    if (entries.length === 0) return;
    let isFirst = true;
    // After the index: a use that was announced before, and whose message was committed, is found.
    const { revision, uses, ...state } = await find();
    for (const entry of entries) {
      const { base, at = 0, scope = "", digest = "" } = valueIn(entry);
      const use = { id: entry.key, scope, digest };
      const mayCome = base === revision && (revision !== null || at > this.#now() - LATE_MS);
      if (mayCome && !refused?.has(use.id)) continue;
      if (!uses.has(use.id)) {
        // From then on, the process that announced it cannot add the message.
        const content = { version: entry.version + 1, order: ANNOUNCED, value: entry.value };
        const found = await this.#usesOf(threadId).update({ key: use.id, id: USE }, content, call);
        if (found === entry.version) await this.#release(threadId, use, base !== undefined, call);
        else isFirst &&= found === null;
      } else if (base !== undefined) await this.settle(threadId, state, [use], call);
    }
    if (!isFirst && incarnation === undefined) await this.sweep(threadId, find, options);
  }

  /** Releases each use of a thread that was deleted. */
  async releaseAll(threadId: string, signal: AbortSignal | undefined): Promise<void> {
    const call = signal ? { signal } : {};
    const life: ThreadLife = { incarnation: undefined };
    const find = async () => {
      const { revision } = await this.#stores.open(threadId).read({ limit: 0, ...call });
      // A thread that was begun meanwhile sweeps its own.
      return { ...life, revision, writes: 0, uses: { has: () => revision !== null } };
    };
    await this.sweep(threadId, find, { ...life, ...call });
  }

  /** What the messages of a thread use, also what was announced. */
  async uses(threadId: string, signal?: AbortSignal): Promise<(BlobUse & ThreadLife)[]> {
    const uses: (BlobUse & ThreadLife)[] = [];
    for await (const entry of entriesIn(this.#usesOf(threadId), signal ? { signal } : {}))
      uses.push(valueOfUse(entry));
    return uses;
  }

  /** {@link Blobs.uses}. @throws StoreError `UNSUPPORTED` if a content is in a storage that this program does not know. */
  async knownUses(threadId: string, signal?: AbortSignal): Promise<(BlobUse & ThreadLife)[]> {
    const uses = await this.uses(threadId, signal);
    for (const use of uses)
      if (await this.#contents.isUnknown(use, signal ? { signal } : {})) throw unknownStorage(threadId);
    return uses;
  }

  /** Stores a use of {@link Blobs.uses} of other stores, before its thread is copied from there. Does nothing if it is there. */
  async keep(
    threadId: string,
    { id, scope, digest, incarnation }: BlobUse & ThreadLife,
    load: () => Promise<Uint8Array | undefined>,
    signal?: AbortSignal,
  ): Promise<void> {
    const call = signal ? { signal } : {};
    const at = this.#now();
    const use = { id, scope, digest };
    const content =
      incarnation === undefined
        ? announced(use, { revision: null, writes: 0 }, at)
        : { version: 0, order: at, value: { scope, digest, incarnation, at } satisfies UseValue };
    await this.#usesOf(threadId).insert({ key: id, id: USE }, content, call);
    await this.#contents.add(use, load, { ...call, isKept: true });
  }

  /** @param isAnnounced whether requests of the process that began the use may be under way. */
  async #release(threadId: string, use: BlobUse, isAnnounced: boolean, call: CallOptions): Promise<void> {
    await this.#contents.remove(use, isAnnounced, call);
    await this.#usesOf(threadId).remove({ key: use.id, id: USE }, call);
  }

  #usesOf(threadId: string): StoreIndex {
    return indexIn(this.#stores, USES + threadId);
  }
}

function valueIn({ value }: IndexEntry): Partial<UseValue> {
  return Object(value);
}

export function newUse(content: Omit<BlobUse, "id">): BlobUse {
  return { ...content, id: randomText(9) };
}

/** The threads with ids of a prefix that use contents, or have announced it. */
export async function* threadsWithFiles(
  stores: StoreFactory,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  for await (const name of indexNames(stores, USES + prefix, signal ? { signal } : {}))
    yield name.slice(USES.length);
}

/** The use of a content by a thread; undefined for any other entry of an index. */
export function useIn(
  index: string,
  entry: IndexEntry,
): (BlobUse & { readonly threadId: string }) | undefined {
  if (!index.startsWith(USES)) return undefined;
  return { threadId: index.slice(USES.length), ...valueOfUse(entry) };
}

function valueOfUse(entry: IndexEntry): BlobUse & ThreadLife {
  const { scope = "", digest = "", incarnation } = valueIn(entry);
  return { id: entry.key, scope, digest, incarnation };
}

function announced({ scope, digest }: BlobUse, { revision: base, writes }: ThreadState, at: number) {
  const value: UseValue = { scope, digest, base, at };
  return { version: versionOf({ writes }), order: ANNOUNCED, value };
}

/**
 * The version of an entry that announces a use for a commit. Up to it there is place for those of sweeps, which advance by one, and
 * before it for what is said after the last commit.
 */
function versionOf({ writes }: Pick<ThreadState, "writes">): number {
  return writes * 1_024;
}
