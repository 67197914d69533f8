import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Clock, parseRevision, RecentMap, retry } from "@scrollback/store-core/internal";
import type { Stamps } from "../clock.ts";
import { FORMAT_VERSION, parseMetadata } from "../format.ts";
import { CACHE_SIZE, WRITE_RETRIES } from "../retries.ts";
import type { SessionKey } from "../session.ts";
import { threads } from "../threads.ts";
import { isEmpty, largestKey, ownValue, prefixed, type Scopes, type Values } from "./scopes.ts";

/** The number of newest finished writes that are stored by name. */
const MAX_FINISHED = 64;
/** Leaves room below the 256 KiB of a thread's metadata, because each writer may add a small delta without a size check. */
const MAX_BYTES = 192 * 1024;
/** The size of a delta of up to this many encoded bytes is checked against the cached state, without a read. */
const SMALL_DELTA = 4 * 1024;

/** The delta of one event for an app or a user. */
export interface SharedWrite {
  /** Identifies the event among all sessions. */
  readonly source: string;
  /** The time of the write, from {@link Stamps}. */
  readonly stamp: number;
  readonly delta: Values;
}

interface Content {
  readonly version: typeof FORMAT_VERSION;
  readonly values: Values;
  /** For each key, the stamp of the write that set it. The stamp of a key only increases. */
  readonly stamps: Record<string, number>;
  /** The largest stamp. */
  readonly clock: number;
  /** The newest 64 sources that were finished on behalf of other writers. */
  readonly finished: readonly string[];
  /** The total number of these. */
  readonly finishes: number;
}

/** The state of an app or of a user at one revision. Immutable. */
export interface Shared {
  readonly revision: Revision | null;
  readonly content: Content;
}

/** The last known version of a state. */
interface CachedState {
  readonly shared: Shared;
  /** The number of the request that returned it, in the order in which they were sent. */
  readonly ticket: number;
}

/** The states that a session sees in addition to its own. */
export interface SharedPair {
  readonly app: Shared;
  readonly user: Shared;
}

const NOTHING: Content = {
  version: FORMAT_VERSION,
  values: {},
  stamps: {},
  clock: 0,
  finished: [],
  finishes: 0,
};

/**
 * The states of apps and users. Each is the metadata of one thread, replaced by compare-and-set. Writers of this process take
 * turns, so that they conflict only with writers of other processes.
 */
export class SharedStates {
  readonly #stores: StoreFactory;
  readonly #cache = new RecentMap<CachedState>(CACHE_SIZE);
  #tickets = 0;
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #clock: Clock;
  readonly #stamps: Stamps;

  constructor(stores: StoreFactory, clock: Clock, stamps: Stamps) {
    this.#stores = stores;
    this.#clock = clock;
    this.#stamps = stamps;
  }

  /** Returns the current state, in one read. */
  async load(threadId: string): Promise<Shared> {
    const ticket = this.#nextTicket();
    const { revision, metadata } = await this.#stores.open(threadId).read({ limit: 0 });
    const content = parseMetadata<Content>(threadId, metadata);
    // Otherwise the next write would replace a state that only this process cannot read.
    if (revision !== null && content === undefined)
      throw new StoreError("CORRUPT", `the state of thread "${threadId}" is damaged; delete the thread`, {
        threadId,
      });
    const shared = { revision, content: content ?? NOTHING };
    this.#keepNewer(threadId, { shared, ticket });
    return shared;
  }

  /** Returns the current states of an app and of a user. */
  async loadPair({ appName, userId }: Pick<SessionKey, "appName" | "userId">): Promise<SharedPair> {
    const [app, user] = await Promise.all([
      this.load(threads.app(appName)),
      this.load(threads.user(appName, userId)),
    ]);
    return { app, user };
  }

  /**
   * Returns the states to which a delta will be applied, with room for it: the current states, or for a small delta the
   * cached ones.
   *
   * @param method the beginning of the error message.
   * @throws StoreError `TOO_LARGE` when the delta does not fit.
   */
  async basisOf(method: string, key: SessionKey, delta: Scopes): Promise<Partial<SharedPair>> {
    const basisOf = async (scope: "app" | "user", threadId: string) =>
      isEmpty(delta[scope])
        ? undefined
        : { [scope]: await this.#withRoom(method, scope, threadId, delta[scope]) };
    const [app, user] = await Promise.all([
      basisOf("app", threads.app(key.appName)),
      basisOf("user", threads.user(key.appName, key.userId)),
    ]);
    return { ...app, ...user };
  }

  /** @throws StoreError `TOO_LARGE` when a state has no room for its part of a delta. */
  checkRoom(method: string, pair: SharedPair, delta: Scopes): void {
    for (const scope of ["app", "user"] as const) this.#checkRoom(method, scope, pair[scope], delta[scope]);
  }

  async #withRoom(method: string, scope: "app" | "user", threadId: string, delta: Values): Promise<Shared> {
    const known = this.#cache.get(threadId)?.shared;
    const isSmall = known !== undefined && this.#stores.metadataSize(delta) <= SMALL_DELTA;
    if (isSmall && this.#fits(known, delta)) return known;
    const shared = await this.load(threadId);
    this.#checkRoom(method, scope, shared, delta);
    return shared;
  }

  #checkRoom(method: string, scope: "app" | "user", shared: Shared, delta: Values): void {
    if (this.#fits(shared, delta)) return;
    const bytes = this.#sizeWith(shared, delta);
    const sizeOf = (value: unknown) => this.#stores.metadataSize(value);
    const largest = largestKey(prefixed(scope, { ...shared.content.values, ...delta }), sizeOf);
    const problem = `the state of the ${scope} has ${bytes} bytes encoded; the limit is ${MAX_BYTES}${largest}`;
    throw new StoreError("TOO_LARGE", `${method}: ${problem}`);
  }

  /** Whether a state has room for a delta. A state above the limit may shrink or stay the same. */
  #fits(shared: Shared, delta: Values): boolean {
    if (isEmpty(delta)) return true;
    const bytes = this.#sizeWith(shared, delta);
    return bytes <= MAX_BYTES || bytes <= this.#stores.metadataSize(shared.content);
  }

  #sizeWith({ content }: Shared, delta: Values): number {
    return this.#stores.metadataSize(withValues(content, delta, this.#stamps.next(content.clock)));
  }

  /**
   * Applies the delta of an event that was just appended, exactly once, independent of clocks.
   *
   * @param base the known state before the event was appended.
   * @throws StoreError `TOO_LARGE` when other writers have filled the state meanwhile.
   */
  async apply(threadId: string, write: SharedWrite, base: Shared): Promise<Shared> {
    return await this.#change(threadId, ({ content }) => {
      if (content.finished.includes(write.source)) return undefined;
      // After that many finished writes, this one may be finished and forgotten. Then the stamps decide.
      return content.finishes - base.content.finishes > MAX_FINISHED
        ? newerOf(content, write)
        : overwritten(content, write);
    });
  }

  /**
   * Applies the delta of an event whose writer may have died before it did so, except for keys that were set later. Omits a
   * delta for which the state has no room.
   */
  async finish(threadId: string, write: SharedWrite): Promise<Shared> {
    try {
      return await this.#change(threadId, ({ content }) => {
        const next = newerOf(content, write);
        return (
          next && {
            ...next,
            finished: [...content.finished, write.source].slice(-MAX_FINISHED),
            finishes: content.finishes + 1,
          }
        );
      });
    } catch (error) {
      // A reader of the session must not fail because other writers have filled the state.
      if (!StoreError.is(error, "TOO_LARGE")) throw error;
      return await this.load(threadId);
    }
  }

  async #change(threadId: string, change: (shared: Shared) => Content | undefined): Promise<Shared> {
    return await this.#inTurn(threadId, async () => {
      const store = this.#stores.open(threadId);
      let shared = this.#cache.get(threadId)?.shared ?? (await this.load(threadId));
      const attempt = async (lost: number) => {
        if (lost > 0) shared = await this.load(threadId);
        const content = change(shared);
        if (content === undefined) return shared;
        const ticket = this.#nextTicket();
        const options = { expectedRevision: shared.revision };
        const revision = await store.commit({ metadata: content }, options);
        shared = { revision, content };
        this.#keepNewer(threadId, { shared, ticket });
        return shared;
      };
      // The cached state may have been larger than the current one.
      const isRetryable = (error: unknown, made: number) =>
        StoreError.is(error, "CONFLICT") || (StoreError.is(error, "TOO_LARGE") && made === 1);
      return await retry(attempt, { ...WRITE_RETRIES, isRetryable, clock: this.#clock });
    });
  }

  #nextTicket(): number {
    this.#tickets += 1;
    return this.#tickets;
  }

  /** Caches a state unless the cached one is newer: a request that was sent earlier may return later. */
  #keepNewer(threadId: string, state: CachedState): void {
    const cached = this.#cache.get(threadId);
    if (!cached || isNewer(state, cached)) this.#cache.set(threadId, state);
  }

  async #inTurn<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(threadId);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return await work();
    })();
    this.#turns.set(threadId, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(threadId) === turn) this.#turns.delete(threadId);
    }
  }
}

/** Compares revisions, and the order of requests where they do not tell. */
function isNewer(one: CachedState, other: CachedState): boolean {
  const [revision, known] = [one.shared.revision, other.shared.revision];
  if (revision && known) {
    const [its, others] = [parseRevision(revision), parseRevision(known)];
    if (its.incarnation === others.incarnation) return its.number > others.number;
  }
  return one.ticket > other.ticket;
}

function overwritten(content: Content, write: SharedWrite): Content {
  return withValues(content, write.delta, Math.max(write.stamp, content.clock + 1));
}

function newerOf(content: Content, write: SharedWrite): Content | undefined {
  const newer = Object.entries(write.delta).filter(
    ([key]) => write.stamp > (ownValue(content.stamps, key) ?? 0),
  );
  return newer.length === 0 ? undefined : withValues(content, Object.fromEntries(newer), write.stamp);
}

function withValues(content: Content, delta: Values, stamp: number): Content {
  const stamps = Object.fromEntries(Object.keys(delta).map((key) => [key, stamp]));
  return {
    ...content,
    values: { ...content.values, ...delta },
    stamps: { ...content.stamps, ...stamps },
    clock: Math.max(content.clock, stamp),
  };
}
