import { pause, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { LRUCache } from "lru-cache";
import { CACHE_SIZE } from "./cache-size.ts";
import type { SessionClock, Stamps } from "./clock.ts";
import { FORMAT_VERSION, parseMetadata } from "./format.ts";
import { isEmpty, ownValue, type Scopes, type Values } from "./scopes.ts";
import type { SessionKey } from "./session.ts";
import { threads } from "./threads.ts";

/** How many of the newest finished writes are remembered by name. */
const MAX_FINISHED = 64;
/** Leaves room below the 256 KiB of a thread's metadata for small deltas, of which each writer may add one unseen. */
const MAX_BYTES = 192 * 1024;
/** A delta of up to this many bytes, encoded, is weighed against what the process remembers, without a read. */
const SMALL_DELTA = 4 * 1024;
const MAX_ATTEMPTS = 1_000;

/** The delta of one event for an app or a user. */
export interface SharedWrite {
  /** Names the event, of all sessions. */
  readonly source: string;
  /** When it was made, by {@link Stamps}. */
  readonly stamp: number;
  readonly delta: Values;
}

interface Content {
  readonly version: typeof FORMAT_VERSION;
  readonly values: Values;
  /** For each key the stamp of the write that set it. Stamps of a key only grow. */
  readonly stamps: Record<string, number>;
  /** The largest stamp there is. */
  readonly clock: number;
  /** The sources that were finished for writers that did not come back, the newest 64. */
  readonly finished: readonly string[];
  /** How many ever were. */
  readonly finishes: number;
}

/** The state of an app or of a user at one revision. Nothing in it may be changed. */
export interface Shared {
  readonly revision: Revision | null;
  readonly content: Content;
}

/** What was learned last of a state; undefined where that is not known any more. */
interface CachedState {
  readonly shared: Shared | undefined;
  /** Larger where it was read, or written, later. */
  readonly ticket: number;
}

/** The states that a session sees beside its own. */
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
 * The states of apps and users: a thread each, whose metadata is all of it, replaced by compare-and-set. Writers of this
 * process take turns, so that they meet only those of others.
 */
export class SharedStates {
  readonly #stores: StoreFactory;
  readonly #cache = new LRUCache<string, CachedState>({ max: CACHE_SIZE });
  #tickets = 0;
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #clock: SessionClock;
  readonly #stamps: Stamps;

  constructor(stores: StoreFactory, clock: SessionClock, stamps: Stamps) {
    this.#stores = stores;
    this.#clock = clock;
    this.#stamps = stamps;
  }

  /** The state as it is now, in one read. */
  async load(threadId: string): Promise<Shared> {
    this.#tickets += 1;
    const ticket = this.#tickets;
    const { revision, metadata } = await this.#stores.open(threadId).read({ limit: 0 });
    const shared = { revision, content: parseMetadata<Content>(threadId, metadata) ?? NOTHING };
    // A read that began earlier may come back later.
    if (ticket >= (this.#cache.get(threadId)?.ticket ?? 0)) this.#cache.set(threadId, { shared, ticket });
    return shared;
  }

  /** The states of an app and of a user as they are now. */
  async loadPair({ appName, userId }: Pick<SessionKey, "appName" | "userId">): Promise<SharedPair> {
    const [app, user] = await Promise.all([
      this.load(threads.app(appName)),
      this.load(threads.user(appName, userId)),
    ]);
    return { app, user };
  }

  /**
   * The states that a delta is to be applied to, with room for it: as they are now, or for a small delta as this process
   * remembers them.
   *
   * @param method what the error begins with.
   * @throws StoreError `TOO_LARGE` when it does not fit.
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
    const problem = `the state of the ${scope} takes ${bytes} bytes encoded, at most ${MAX_BYTES} fit`;
    throw new StoreError("TOO_LARGE", `${method}: ${problem}`);
  }

  /** Whether a state has room for a delta. One past its limit may still shrink, and stay as it is. */
  #fits(shared: Shared, delta: Values): boolean {
    if (isEmpty(delta)) return true;
    const bytes = this.#sizeWith(shared, delta);
    return bytes <= MAX_BYTES || bytes <= this.#stores.metadataSize(shared.content);
  }

  #sizeWith({ content }: Shared, delta: Values): number {
    return this.#stores.metadataSize(withValues(content, delta, this.#stamps.next(content.clock)));
  }

  /**
   * Applies the delta of an event that was just appended, once, whatever the clocks say.
   *
   * @param base what was known of the state before the event was appended.
   * @throws StoreError `TOO_LARGE` when others have filled the state since.
   */
  async apply(threadId: string, write: SharedWrite, base: Shared): Promise<Shared> {
    return await this.#change(threadId, ({ content }) => {
      if (content.finished.includes(write.source)) return undefined;
      // Past that many it may have been finished and forgotten. Then the stamps tell.
      return content.finishes - base.content.finishes > MAX_FINISHED
        ? newerOf(content, write)
        : overwritten(content, write);
    });
  }

  /**
   * Applies the delta of an event whose writer may have died before it did, but for keys that were set since. A delta that
   * the state has no room for is left out.
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
      // Whoever reads the session is not to fail for what others have filled the state with.
      if (!StoreError.is(error, "TOO_LARGE")) throw error;
      return await this.load(threadId);
    }
  }

  async #change(threadId: string, change: (shared: Shared) => Content | undefined): Promise<Shared> {
    return await this.#inTurn(threadId, async () => {
      const store = this.#stores.open(threadId);
      let shared = this.#cache.get(threadId)?.shared ?? (await this.load(threadId));
      for (let attempt = 0; ; attempt++) {
        const content = change(shared);
        if (content === undefined) return shared;
        try {
          const options = { expectedRevision: shared.revision };
          const revision = await store.commit({ metadata: content }, options);
          shared = { revision, content };
          this.#setCached(threadId, shared);
          return shared;
        } catch (error) {
          this.#setCached(threadId, undefined);
          // What was remembered may have been larger than what is there.
          const isOutdated =
            StoreError.is(error, "CONFLICT") || (StoreError.is(error, "TOO_LARGE") && attempt === 0);
          if (!isOutdated || attempt >= MAX_ATTEMPTS) throw error;
        }
        await pause(Math.min(attempt, 3), undefined, this.#clock);
        shared = await this.load(threadId);
      }
    });
  }

  #setCached(threadId: string, shared: Shared | undefined): void {
    this.#tickets += 1;
    this.#cache.set(threadId, { shared, ticket: this.#tickets });
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
