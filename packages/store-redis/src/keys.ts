import { type Extent, formatRevision, type Revision, StoreError } from "@scrollback/store-core";

/** The two keys of a thread. */
export interface ThreadKeys {
  /** A list: the records, oldest first, then the footer. */
  readonly messages: string;
  /** A hash: the metadata and the remembered operations. */
  readonly meta: string;
}

/**
 * The keys of a thread. Braces stand only around the thread id, so that no two pairs of prefix and id read alike and
 * Redis Cluster takes exactly the id as the hash tag: all keys of a thread lie in one slot.
 */
export function threadKeys(prefix: string, threadId: string): ThreadKeys {
  const thread = `${withoutBraces(prefix)}:{${withoutBraces(threadId)}}`;
  return { messages: `${thread}:messages`, meta: `${thread}:meta` };
}

function withoutBraces(text: string): string {
  return text.replace(/[%{}]/g, encodeURIComponent);
}

/** What a thread's footer says; `commit.lua` writes it and states its form. */
export interface Footer {
  readonly revision: Revision;
  readonly extent: Extent;
}

/** @throws StoreError `UNSUPPORTED` when it is of a newer format, `CORRUPT` when it is another program's value. */
export function parseFooter(threadId: string, footer: string): Footer {
  const [, epoch, ...numbers] = /^thread 1 (\S+) (\d+) (\d+) (\d+) (\d+) \d+ \d+ [01]$/.exec(footer) ?? [];
  const [commits, first, next, pinned] = numbers.map(Number);
  if (epoch === undefined || commits === undefined || first === undefined || next === undefined) {
    throw unreadable(threadId, footer);
  }
  return { revision: formatRevision(epoch, commits), extent: { pinned: pinned || null, first, next } };
}

/** The error of a thread whose footer or hash cannot be understood. */
export function unreadable(threadId: string, footer: string): StoreError {
  const format = /^thread (\d+) /.exec(footer)?.[1];
  if (format !== undefined && format !== "1") {
    return new StoreError(
      "UNSUPPORTED",
      `thread "${threadId}" has format ${format}, this package reads format 1; upgrade @scrollback/store-redis`,
    );
  }
  return new StoreError(
    "CORRUPT",
    `keyPrefix: a key of thread "${threadId}" holds something that is not Scrollback's; give another keyPrefix or remove the key`,
  );
}

/** The error of a thread of which a part is gone. */
export function incomplete(threadId: string): StoreError {
  return new StoreError(
    "CORRUPT",
    `thread "${threadId}" has lost a part of its data, as when maxmemory-policy evicts keys; clear() or replaceMessages() makes it whole again`,
  );
}
