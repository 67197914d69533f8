import { hash } from "node:crypto";
import { StoreError } from "@scrollback/store-core";

/** Names longer than this are hashed, so that a thread id fits its 1,024 bytes. */
const LONGEST_NAME = 200;

/**
 * Encodes a name as one part of a thread id. Escapes `:` and every other separator, and replaces a name longer than 200
 * characters with `#` and its SHA-256. An escaped name never begins with `#`, so two names never give the same part.
 *
 * @example
 * const threadId = `notes:${nameOf(owner)}:${nameOf(title)}`;
 *
 * @throws StoreError `INVALID_ARGUMENT` for a name that is not well-formed Unicode.
 */
export function nameOf(name: string): string {
  if (!name.isWellFormed())
    throw new StoreError("INVALID_ARGUMENT", "nameOf: name must be well-formed Unicode");
  const escaped = encodeURIComponent(name);
  return escaped.length <= LONGEST_NAME ? escaped : `#${hash("sha256", name, "base64url")}`;
}
