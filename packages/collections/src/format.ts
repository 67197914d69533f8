import { StoreError } from "@scrollback/store-core";
import { isListing, type Listed } from "./lists/listed.ts";

/** The format version of everything that this package writes. */
export const FORMAT_VERSION = 1;

const collections = { package: "@scrollback/collections", kind: "collection" };

/**
 * Returns the metadata of a thread that this package, or the layer `owner`, wrote in format version 1.
 *
 * @returns undefined if the thread has no metadata.
 * @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for anything else.
 */
export function parseMetadata<T extends { readonly version: typeof FORMAT_VERSION }>(
  threadId: string,
  metadata: unknown,
  owner: { readonly package: string; readonly kind: string } = collections,
): T | undefined {
  if (metadata === undefined) return undefined;
  const { version } = Object(metadata) as { version?: unknown };
  if (version === FORMAT_VERSION) return metadata as T;
  if (Number.isSafeInteger(version) && Number(version) > FORMAT_VERSION) {
    throw new StoreError(
      "UNSUPPORTED",
      `thread "${threadId}" has format version ${version}, this package reads up to ${FORMAT_VERSION}; upgrade ${owner.package}`,
      { threadId },
    );
  }
  throw new StoreError(
    "CORRUPT",
    `the metadata of thread "${threadId}" is not a Scrollback ${owner.kind}'s`,
    {
      threadId,
    },
  );
}

/** The metadata of threads that a layer lists: as {@link parseMetadata}, and `CORRUPT` if it does not say where the thread is listed. */
export function parseListed<T extends { readonly version: typeof FORMAT_VERSION; readonly listed: Listed }>(
  threadId: string,
  metadata: unknown,
  owner: { readonly package: string; readonly kind: string },
): T | undefined {
  const head = parseMetadata<T>(threadId, metadata, owner);
  if (head === undefined || isListing(head.listed)) return head;
  throw new StoreError(
    "CORRUPT",
    `the metadata of thread "${threadId}" does not say where the ${owner.kind} is listed`,
    { threadId },
  );
}
