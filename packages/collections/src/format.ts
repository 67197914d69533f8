import { type ChatMessage, StoreError } from "@scrollback/store-core";
import type { Check } from "@scrollback/store-core/driver";
import { sha256 } from "@scrollback/store-core/internal";
import { isListing } from "./lists/listed.ts";

/** The format version of everything that this package writes. */
export const FORMAT_VERSION = 1;

/** What wrote the metadata of a thread. */
interface Owner {
  readonly package: string;
  readonly kind: string;
  /** Whether the metadata must say where the thread is listed. Default: it need not. */
  readonly isListed?: boolean;
}

const collections: Owner = { package: "@scrollback/collections", kind: "collection" };

/**
 * Returns the metadata of a thread that this package, or the layer `owner`, wrote in format version 1.
 *
 * @returns undefined if the thread has no metadata.
 * @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for anything else.
 */
export function parseMetadata<T extends { readonly version: typeof FORMAT_VERSION }>(
  threadId: string,
  metadata: unknown,
  owner: Owner = collections,
): T | undefined {
  if (metadata === undefined) return undefined;
  const { version } = Object(metadata) as { version?: unknown };
  if (version === FORMAT_VERSION && owner.isListed && !isListing((metadata as { listed?: unknown }).listed))
    throw new StoreError(
      "CORRUPT",
      `the metadata of thread "${threadId}" does not say where the ${owner.kind} is listed`,
      { threadId },
    );
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
  return escaped.length <= LONGEST_NAME ? escaped : `#${sha256(name)}`;
}

/**
 * Wraps any value as a message: the metadata of a message with empty content. The role determines trimming: a turn begins
 * at `"user"`, and `"tool"` stays with the message before it.
 *
 * @example
 * await store.addMessages([envelope("user", { type: "checkpoint", id })]);
 * const [message] = await store.listMessages({ limit: 1 });
 * console.log(message && valueOf(message));
 */
export function envelope(role: ChatMessage["role"], value: unknown, id?: string): ChatMessage {
  return { ...(id !== undefined && { id }), role, content: "", metadata: value };
}

/**
 * Returns the value of an envelope.
 *
 * @param check the problem of a value that is not a `T`, as `isObject` returns it. Default: takes any value.
 * @throws StoreError `CORRUPT` for a message that is not an envelope, and for a value that `check` refuses.
 */
export function valueOfEnvelope<T = unknown>(message: ChatMessage, check?: Check): T {
  if (message.content !== "" || !("metadata" in message))
    throw new StoreError("CORRUPT", "valueOf: message is not an envelope: it has content, or no metadata");
  const problem = check?.(message.metadata);
  if (problem !== undefined)
    throw new StoreError("CORRUPT", `valueOf: the value of message (its metadata) ${problem}`);
  return message.metadata as T;
}
