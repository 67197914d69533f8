import { StoreError } from "@scrollback/store-core";

/** The format version of everything that this package writes. */
export const FORMAT_VERSION = 1;

/**
 * The metadata of a thread that this package wrote.
 *
 * @returns undefined where the thread has no metadata.
 * @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for anything else.
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
      `thread "${threadId}" has format version ${version}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/collections`,
    );
  }
  throw new StoreError("CORRUPT", `the metadata of thread "${threadId}" is not a Scrollback collection's`);
}
