import { encodeBase64 } from "#runtime";

/** The bytes of many ids: each write has two. Filled by the first: Cloudflare Workers have none while a module loads. */
const pool = new Uint8Array(4_096);
let used = pool.length;

/** An id that no other call gives, of so many random bytes as base64url: at most 4,096. */
export function randomId(bytes = 16): string {
  if (used + bytes > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += bytes;
  return encodeBase64(pool.subarray(used - bytes, used), "base64url");
}

/** The same for an id that is rarely made. Tests give its bytes. */
export function randomText(bytes: number): string {
  return encodeBase64(crypto.getRandomValues(new Uint8Array(bytes)), "base64url");
}

/** A UUID of version 7: 48 bits of time in milliseconds, then 74 random bits (RFC 9562, section 5.7). */
export function uuidV7(): string {
  // Not `randomUUID`, which browsers have on secure pages alone.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  const now = Date.now();
  view.setUint16(0, now / 2 ** 32);
  view.setUint32(2, now);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
