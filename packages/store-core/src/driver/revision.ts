import { randomFillSync } from "node:crypto";

/**
 * The state of a thread: an opaque string that changes with every commit and is never reused, not even after `clear` or
 * expiry. `null` is the revision of a thread that does not exist (never written, expired or deleted).
 */
export type Revision = string;

/**
 * The revision of commit number `n` (from 1) in `incarnation`.
 *
 * @param tag random characters of base64url, for a backend on which a commit can be undone, such as by a rollback: the next one gets the
 *   same number.
 */
export function formatRevision(incarnation: string, n: number, tag?: string): Revision {
  return tag === undefined ? `${incarnation}.${n}` : `${incarnation}.${n}-${tag}`;
}

/** The parts of a revision of {@link formatRevision}. The incarnation has no dot. */
export function parseRevision(revision: Revision): { readonly incarnation: string; readonly number: number } {
  const dot = revision.lastIndexOf(".");
  return { incarnation: revision.slice(0, dot), number: Number.parseInt(revision.slice(dot + 1), 10) };
}

const INCARNATION_BYTES = 12;
/** Random bytes for many commits at once. Most commits use none, because only a new thread needs an incarnation. */
const pool = Buffer.alloc(128 * INCARNATION_BYTES);
let used = pool.length;

/** A random incarnation: 16 characters of base64url. */
export function newIncarnation(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += INCARNATION_BYTES;
  return pool.toString("base64url", used - INCARNATION_BYTES, used);
}
