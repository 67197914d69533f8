import { jsonCodec, pause, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { Known } from "./known.ts";
import { ownValue, type Values } from "./scopes.ts";

/** How many of the newest finished writes are remembered by name. */
const REMEMBERED = 64;
/** Leaves room below the 256 KiB of a thread's metadata for what others write at the same time. */
const MAX_BYTES = 192 * 1024;
const MAX_ATTEMPTS = 1_000;

/** The delta of one event for an app or a user. */
export interface SharedWrite {
  /** Names the event, of all sessions. */
  readonly source: string;
  /** When it was made, by {@link nextStamp}. */
  readonly stamp: number;
  readonly delta: Values;
}

interface Content {
  readonly version: 1;
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

const NOTHING: Content = { version: 1, values: {}, stamps: {}, clock: 0, finished: [], finishes: 0 };

/**
 * The states of apps and users: a thread each, whose metadata is all of it, replaced by compare-and-set. Writers of this
 * process take turns, so that they meet only those of others.
 */
export class SharedStates {
  readonly #stores: StoreFactory;
  readonly #known = new Known<Shared>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(stores: StoreFactory) {
    this.#stores = stores;
  }

  /** The state as it is now, in one read. */
  async load(threadId: string): Promise<Shared> {
    const { revision, metadata } = await this.#stores.open(threadId).read({ limit: 0 });
    const shared = { revision, content: (metadata as Content | undefined) ?? NOTHING };
    this.#known.set(threadId, shared);
    return shared;
  }

  /** What this process knew last of it; read where that is nothing. */
  async known(threadId: string): Promise<Shared> {
    return this.#known.get(threadId) ?? (await this.load(threadId));
  }

  /**
   * Applies the delta of an event that was just appended, once, whatever the clocks say.
   *
   * @param base what was known of the state before the event was appended.
   */
  async apply(threadId: string, write: SharedWrite, base: Shared): Promise<void> {
    await this.#change(threadId, ({ content }) => {
      if (content.finished.includes(write.source)) return undefined;
      // Past that many it may have been finished and forgotten. Then the stamps tell.
      return content.finishes - base.content.finishes > REMEMBERED
        ? newerOf(content, write)
        : overwritten(content, write);
    });
  }

  /** Applies the delta of an event whose writer may have died before it did, but for keys that were set since. */
  async finish(threadId: string, write: SharedWrite): Promise<Shared> {
    return await this.#change(threadId, ({ content }) => {
      const next = newerOf(content, write);
      return (
        next && {
          ...next,
          finished: [...content.finished, write.source].slice(-REMEMBERED),
          finishes: content.finishes + 1,
        }
      );
    });
  }

  async #change(threadId: string, change: (shared: Shared) => Content | undefined): Promise<Shared> {
    return await this.#inTurn(threadId, async () => {
      const store = this.#stores.open(threadId);
      let shared = await this.known(threadId);
      for (let attempt = 0; ; attempt++) {
        const content = change(shared);
        if (content === undefined) return shared;
        try {
          const options = { expectedRevision: shared.revision };
          const revision = await store.commit({ metadata: content }, options);
          shared = { revision, content };
          this.#known.set(threadId, shared);
          return shared;
        } catch (error) {
          this.#known.delete(threadId);
          if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
        }
        await pause(Math.min(attempt, 3));
        shared = await this.load(threadId);
      }
    });
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

/** @throws StoreError `TOO_LARGE` when a state would not have room for a delta. */
export function checkRoom(name: string, { content }: Shared, delta: Values): void {
  const bytes = Buffer.byteLength(jsonCodec.encode({ ...content.values, ...delta }));
  if (bytes <= MAX_BYTES) return;
  throw new StoreError("TOO_LARGE", `${name}: ${bytes} bytes in all, at most ${MAX_BYTES} fit`);
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
