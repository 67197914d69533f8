import { parseMetadata as parse } from "@scrollback/collections";

/** The format of all metadata that this version writes; events, notes and leaves are of the version of theirs. */
export const FORMAT_VERSION = 1;

/**
 * Metadata of a thread of sessions, as it was read.
 *
 * @returns undefined where there is none.
 * @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for what no version has written.
 */
export function parseMetadata<T extends { readonly version: typeof FORMAT_VERSION }>(
  threadId: string,
  metadata: unknown,
): T | undefined {
  return parse<T>(threadId, metadata, { package: "@scrollback/sessions", kind: "session" });
}
