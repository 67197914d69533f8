import { hash } from "node:crypto";
import { timelessRecord } from "./record.ts";

/**
 * Stands for the digest where store-core makes the operation id: no other change can have that id, so there is nothing to
 * compare. Not as long as a digest, so that it equals none.
 */
export const OWN_OPERATION_DIGEST = "own";

/**
 * A digest of a change as encoded: two changes have the same one only if they drop, append and set the same. When they were
 * made does not count.
 */
export function digestOf(
  drop: number | "all",
  append: readonly string[],
  metadata: string | null | undefined,
): string {
  // Lengths stand before the texts, so that no two lists read alike.
  let text = `${drop}/${append.length}`;
  for (const record of append.map(timelessRecord)) text += `/${record.length}/${record}`;
  if (metadata !== undefined) text += `/m/${metadata === null ? "null" : metadata}`;
  return hash("sha256", text, "base64url").slice(0, 22);
}
