import { randomFillSync } from "node:crypto";

const EPOCH_BYTES = 12;
/** Drawn for many commits at once: most of them need none, as only a new thread takes one. */
const pool = Buffer.alloc(128 * EPOCH_BYTES);
let used = pool.length;

/** A random epoch: 16 characters of base64url. */
export function newEpoch(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += EPOCH_BYTES;
  return pool.toString("base64url", used - EPOCH_BYTES, used);
}
