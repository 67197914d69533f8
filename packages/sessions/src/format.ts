import { StoreError } from "@scrollback/store-core";

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
  if (metadata === undefined) return undefined;
  const { version } = Object(metadata) as { version?: unknown };
  if (version === FORMAT_VERSION) return metadata as T;
  if (Number.isSafeInteger(version) && Number(version) > FORMAT_VERSION) {
    throw new StoreError(
      "UNSUPPORTED",
      `thread "${threadId}" has format version ${version}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/sessions`,
    );
  }
  throw new StoreError("CORRUPT", `the metadata of thread "${threadId}" is not a Scrollback session's`);
}
