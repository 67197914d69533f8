import { sha256 } from "#runtime";
import type { MessageRecord } from "./record.ts";

/**
 * The digest of a change whose operation id store-core generated. No other change can have that id, so nothing has to be
 * compared. Shorter than a digest, so that it never equals one.
 */
export const OWN_OPERATION_DIGEST = "own";

/**
 * The digest of an encoded change. Two changes have the same digest only if they drop, append and set the same. Times do
 * not count.
 *
 * @param append the messages; of a codec whose text depends on the time, all encoded with the same time.
 */
export function digestOf(
  drop: number | "all",
  append: readonly MessageRecord[],
  metadata: string | null | undefined,
): string {
  // Each text is preceded by its length, so the encoding is unambiguous.
  let text = `${drop}/${append.length}`;
  for (const message of append) text += `/${message.text.length}/${message.kind}${message.text}`;
  if (metadata !== undefined) text += `/m/${metadata === null ? "null" : metadata}`;
  return sha256(text).slice(0, 22);
}
