import { hash } from "node:crypto";

/** Names longer than this are hashed, so that a thread id fits its 1,024 bytes. */
const LONGEST_NAME = 200;

/**
 * A name as one part of a thread id. Escapes `:` and every other separator, and replaces a name longer than 200 characters
 * by `#` and its SHA-256. An escaped name never begins with `#`, so no two names give the same part.
 *
 * @example
 * const threadId = `notes:${nameOf(owner)}:${nameOf(title)}`;
 */
export function nameOf(name: string): string {
  const escaped = encodeURIComponent(name);
  return escaped.length <= LONGEST_NAME ? escaped : `#${hash("sha256", name, "base64url")}`;
}
