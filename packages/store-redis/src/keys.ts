import { type Revision, StoreError } from "@scrollback/store-core";
import {
  formatRevision,
  type MessageRecord,
  type SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";

/** The keys of a thread. */
export interface ThreadKeys {
  /** A list: the messages, oldest first, then the footer. */
  readonly messages: string;
  /** A hash: the metadata and the remembered operations. */
  readonly meta: string;
  /** A hash: for a limited time after a deletion, the outcomes that a retry may ask for. */
  readonly deleted: string;
  /** A hash like `deleted`, of deletions before its first one. */
  readonly deletedBefore: string;
}

/**
 * The keys of a thread. Only the thread id is in braces. So each pair of prefix and id has its own keys, and the id is the
 * hash tag in Redis Cluster: all keys of a thread are in one slot.
 */
export function threadKeys(prefix: string, threadId: string): ThreadKeys {
  const thread = `${withoutBraces(prefix)}:{${withoutBraces(threadId)}}`;
  return {
    messages: `${thread}:messages`,
    meta: `${thread}:meta`,
    deleted: `${thread}:deleted`,
    deletedBefore: `${thread}:deleted-before`,
  };
}

/** The keys of an index, in one slot: see `scripts/entries.ts`. */
export function indexKeys(prefix: string, index: string): { entries: string; values: string } {
  const name = `${withoutBraces(prefix)}:{${withoutBraces(index)}}`;
  return { entries: `${name}:entries`, values: `${name}:entry-values` };
}

/** The pattern of the `entries` keys of all indexes whose names begin with `namePrefix`, for `SCAN`. */
export function entriesPattern(clientPrefix: string, prefix: string, namePrefix: string): string {
  return pattern(clientPrefix, prefix, namePrefix, "entries");
}

/** The name of the index that has this `entries` key. */
export function indexOf(prefix: string, entries: string): string {
  return nameIn(prefix, entries, "entries");
}

function withoutBraces(text: string): string {
  return text.replace(/[%{}]/g, encodeURIComponent);
}

/** The pattern of the `messages` keys of all threads whose ids begin with `idPrefix`, for `SCAN`. */
export function messagesPattern(clientPrefix: string, prefix: string, idPrefix: string): string {
  return pattern(clientPrefix, prefix, idPrefix, "messages");
}

function pattern(clientPrefix: string, prefix: string, namePrefix: string, part: string): string {
  const start = `${clientPrefix}${withoutBraces(prefix)}:{${withoutBraces(namePrefix)}`;
  return `${start.replace(/[\\*?[\]]/g, "\\$&")}*}:${part}`;
}

/** The id of the thread that has this `messages` key. */
export function threadIdOf(prefix: string, messages: string): string {
  return nameIn(prefix, messages, "messages");
}

function nameIn(prefix: string, key: string, part: string): string {
  const name = key.slice(`${withoutBraces(prefix)}:{`.length, -`}:${part}`.length);
  return name.replace(/%(?:25|7B|7D)/g, decodeURIComponent);
}

/** The digits of a message's time. */
const TIME_DIGITS = 13;
const TEXT_START = 1 + TIME_DIGITS;

/** A message as an element of the list: its kind, the 13 digits of its time, and its text. */
export function formatListed({ kind, createdAt, text }: MessageRecord): string {
  return kind + String(createdAt).padStart(TIME_DIGITS, "0") + text;
}

/** The message of an element of the list. A damaged one has an unknown kind or an invalid time. */
export function parseListed(listed: string): MessageRecord {
  const digits = listed.slice(1, TEXT_START);
  return {
    kind: listed.slice(0, 1) as MessageRecord["kind"],
    createdAt: /^\d{13}$/.test(digits) ? Number(digits) : Number.NaN,
    text: listed.slice(TEXT_START),
  };
}

/** The content of a thread's footer. `commit.ts` writes it and documents its format. */
export interface Footer {
  readonly revision: Revision;
  readonly bounds: SequenceBounds;
  readonly newestCompaction: number;
  readonly times: Pick<ThreadView, "createdAt" | "updatedAt" | "expiresAt">;
}

const footerForm = /^thread 1 (\S+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) \d+ \d+ (\d+) (\d+) (\d+) \d+$/;

/** @throws StoreError `UNSUPPORTED` for a newer format, `CORRUPT` for a value that is not a footer. */
export function parseFooter(threadId: string, footer: string): Footer {
  const found = footerForm.exec(footer);
  if (!found) throw unreadable(threadId, footer);
  // By index, because destructuring copies the match and takes twice as long.
  const time = (index: number) => Math.min(Number(found[index]), Number.MAX_SAFE_INTEGER);
  const expiresAt = time(10);
  return {
    revision: formatRevision(found[1] as string, Number(found[2])),
    bounds: {
      pinned: Number(found[5]) || null,
      compaction: Number(found[6]) || null,
      first: Number(found[3]),
      next: Number(found[4]),
    },
    newestCompaction: Number(found[7]),
    times: { createdAt: time(8), updatedAt: time(9), ...(expiresAt > 0 && { expiresAt }) },
  };
}

/** The error for a thread whose footer or hash is invalid. */
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
    `keyPrefix: a key of thread "${threadId}" is damaged, or another program's; delete the thread, or use another keyPrefix`,
  );
}

/** The error for a thread that has lost a part of its data. */
export function incomplete(threadId: string): StoreError {
  return new StoreError(
    "CORRUPT",
    `thread "${threadId}" has lost a part of its data, as when maxmemory-policy evicts keys; clear() or replaceMessages() makes it whole again, and deleteThread() removes it`,
  );
}
