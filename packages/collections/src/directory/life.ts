import { LONGEST_TTL_MS, type MessageStore, type StoreFactory } from "@scrollback/store-core";

/**
 * A directory outlives its members by this time. It is longer than a note can follow its write, also if the writer dies meanwhile,
 * and than clocks differ.
 */
const RESERVE_MS = 600_000;

/** The options of every write to a directory. */
export const extending = Object.freeze({ extendsExpiry: true });

/**
 * Opens a directory's thread. If it is written with {@link extending} only, it exists for as long as the members that it has,
 * whatever the `ttlMs` of their writers: the notes of a write move the expiry at least as far as the member's own.
 */
export function openDirectory(stores: StoreFactory, threadId: string): MessageStore {
  const ttlMs = lifeIn(stores);
  return stores.open(threadId, ttlMs === undefined ? {} : { ttlMs });
}

/**
 * Opens a directory's thread for a commit that adds no members, and changes the directory at one revision. With {@link extending}
 * it keeps the expiry `expiresAt` of that revision; undefined: never.
 */
export function openToRewrite(
  stores: StoreFactory,
  threadId: string,
  expiresAt: number | undefined,
): MessageStore {
  return stores.open(threadId, expiresAt === undefined ? {} : { ttlMs: 1 });
}

/**
 * Opens the thread of a leaf that is written at the time `now`. It exists for as long as its directory would without further
 * notes. That is enough for its members: one that is written again gets into another leaf.
 *
 * @param expiresAt when the directory expires; undefined: never.
 */
export function openLeaf(
  stores: StoreFactory,
  threadId: string,
  expiresAt: number | undefined,
  now: number,
): MessageStore {
  if (expiresAt === undefined)
    return stores.open(threadId, stores.settings.ttlMs === undefined ? {} : { ttlMs: LONGEST_TTL_MS });
  const ttlMs = Math.max(1, Math.ceil(expiresAt - now));
  return stores.open(threadId, { ttlMs: Math.min(ttlMs, LONGEST_TTL_MS) });
}

/** The `ttlMs` of directories. */
function lifeIn({ settings: { ttlMs } }: StoreFactory): number | undefined {
  return ttlMs === undefined ? undefined : Math.min(ttlMs + RESERVE_MS, LONGEST_TTL_MS);
}
