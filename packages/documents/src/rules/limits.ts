import { byteLength } from "@scrollback/store-core/internal";
import type { StoredMessage } from "../database.ts";

/** The bytes that a message, or a page in a head's list, counts beside its texts. */
const OVERHEAD_BYTES = 64;
/** The maximum number of messages in a tail, and the number of the newest ones that stay when it is exceeded. */
export const MAX_TAIL = 64;
export const KEPT_TAIL = 32;
/** The maximum number of messages in a page that is written because a tail is exceeded. */
export const MAX_PAGE_MESSAGES = 256;
/** If a head lists more pages than this, the smallest neighbours are merged, so that heads of long threads stay small. */
export const MAX_PAGES = 64;
export const MERGED_PAGES = 8;
/** The number of the newest messages in pages whose kinds a head contains, if `maxMessages` is not larger. */
export const KNOWN_KINDS = 8_192;
/** A page with trimmed messages is written anew after this number of commits: before 64, also if 32 share a swap. */
export const CUT_COMMITS = 32;
/** The maximum number of commits that share a swap. */
export const MAX_SHARED = 32;
/** After this number of commits, trimmed content is removed. */
export const TRIMMED_WITHIN_COMMITS = CUT_COMMITS + MAX_SHARED;

/** The sizes of the parts of a thread, in bytes, of the size of a document. */
export interface Limits {
  /** Of all messages of a tail, and of those that stay when it is exceeded. */
  readonly tail: number;
  readonly keptTail: number;
  /** Of a pinned message in a head. A larger one has a page of its own. */
  readonly pin: number;
  /** Of metadata in a head. */
  readonly metadata: number;
  /** Of a page, unless one message is larger. */
  readonly page: number;
  /** Of a page that was merged. */
  readonly merged: number;
  /** Of a text in one page. A larger one is cut into parts. */
  readonly part: number;
}

const KIB = 1_024;

export function limitsOf(maxDocumentBytes: number): Limits {
  const tail = Math.min(128 * KIB, maxDocumentBytes / 4);
  return {
    tail,
    keptTail: tail / 2,
    pin: Math.min(4 * KIB, maxDocumentBytes / 16),
    metadata: Math.min(16 * KIB, maxDocumentBytes / 16),
    page: Math.min(256 * KIB, maxDocumentBytes / 2),
    merged: Math.min(512 * KIB, maxDocumentBytes / 2),
    part: maxDocumentBytes - 2 * OVERHEAD_BYTES,
  };
}

export function sizeOf({ text }: Pick<StoredMessage, "text">): number {
  return OVERHEAD_BYTES + byteLength(text);
}

export function sizeOfAll(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}
