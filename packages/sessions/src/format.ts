import { type Listed, parseMetadata as parse } from "@scrollback/collections";

/** The format of all metadata that this version writes. Events have no version of their own. */
export const FORMAT_VERSION = 1;

const owner = { package: "@scrollback/sessions", kind: "session" };

/**
 * Returns the metadata of a thread of sessions.
 *
 * @returns undefined if there is none.
 * @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for metadata that no version has written.
 */
export function parseMetadata<T extends { readonly version: typeof FORMAT_VERSION }>(
  threadId: string,
  metadata: unknown,
): T | undefined {
  return parse<T>(threadId, metadata, owner);
}

/** Does the same for the metadata of a session, which must say where the session is listed. */
export function parseSession<T extends { readonly version: typeof FORMAT_VERSION; readonly listed: Listed }>(
  threadId: string,
  metadata: unknown,
): T | undefined {
  return parse<T>(threadId, metadata, { ...owner, isListed: true });
}
