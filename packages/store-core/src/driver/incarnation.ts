import { randomFillSync } from "node:crypto";

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
