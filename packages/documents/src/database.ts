import type {
  DriverCapabilities,
  DriverTarget,
  EntryIndex,
  ErrorClassification,
  MessageRecord,
  SequenceBounds,
} from "@scrollback/store-core/driver";

/** A message as a head and a page contain it. */
export interface StoredMessage {
  readonly sequence: number;
  /** One letter, for trimming. */
  readonly kind: MessageRecord["kind"];
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  /** The codec's text. Opaque to the database. `""` if what is stored is not a text. */
  readonly text: string;
}

/** A page in the list of a head. */
export interface PageEntry {
  readonly id: string;
  /** The sequence number of the page's first message. Its messages have consecutive numbers. */
  readonly from: number;
  /** The sequence number after its last message. */
  readonly upto: number;
  /** The size of its texts in UTF-8 bytes, with 64 for each message. */
  readonly bytes: number;
  /** One letter per message, so that trimming reads no page; absent for old pages of a long thread. */
  readonly kinds?: string | undefined;
  /** The number of the commit that first cut messages off the page, which are still stored in it; absent: none are. */
  readonly cut?: number | undefined;
  /**
   * For a message larger than a document: the number of pages that contain its text, cut into consecutive parts. Their ids are
   * `<id>-0`, `<id>-1` and so on. Absent: one page, with the id `id`.
   */
  readonly parts?: number | undefined;
}

/** The document of a thread. A database stores all its fields and interprets none, except `until`. */
export interface Head extends SequenceBounds {
  /** With `n`, the revision of the thread, see {@link tokenOf}. 16 characters of base64url. */
  readonly incarnation: string;
  /** The number of the incarnation's newest commit, from 1. Deleting the thread also raises it. */
  readonly n: number;
  /** The newest messages, oldest first. May be empty. At most 64. */
  readonly tail: readonly StoredMessage[];
  /** The older messages, in order. */
  readonly pages: readonly PageEntry[];
  /** Copies of small pinned messages that are in no page. At most two. */
  readonly pins: readonly StoredMessage[];
  /** The sequence number of the newest compaction item; 0: there is none. */
  readonly newestCompaction: number;
  /** The metadata's text, or the id of the page that contains it; absent if none is set. */
  readonly metadata?: { readonly text: string } | { readonly page: string } | undefined;
  /** The remembered operations, 20 bytes each. Binary; opaque to the database. */
  readonly operations: Uint8Array;
  /** The incarnation before this one, if the head remembers its operations. */
  readonly former?: string | undefined;
  /** The ids of pages that the thread no longer needs and that may still be stored. */
  readonly leaving: readonly string[];
  /** In milliseconds since 1970, as all times. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The time from which the thread does not exist; absent: never. Only the driver compares it. */
  readonly expiresAt?: number | undefined;
  /** The time from which the database may delete the head, later than `expiresAt`; absent: never. */
  readonly until?: number | undefined;
  /** True for a deleted thread: the head remembers its operations until it is swept. */
  readonly isDead?: boolean | undefined;
}

/** A document with older messages of a thread, a large message, or large metadata. Written once, and never changed but for `until`. */
export interface Page {
  /** Random, never used before in the thread: at most 32 characters of base64url, and `-`. */
  readonly id: string;
  /** Oldest first. Metadata is one message with the sequence number 0. */
  readonly messages: readonly StoredMessage[];
  /** The time from which the database may delete the page, in milliseconds since 1970; absent: never. */
  readonly until?: number | undefined;
}

/** A head that was read, or that a swap stored. */
export interface LoadedHead {
  /**
   * Identifies what was read, for the condition of a swap. For a readable head it is {@link tokenOf} the head. For an unreadable one, any
   * string by which {@link DocumentDatabase.swap} recognises the stored value: it must not succeed after the value has changed.
   */
  readonly token: string;
  /** Undefined if the stored value is not a head: it is damaged. */
  readonly head: Head | undefined;
}

/** A request to replace a head. */
export interface Swap {
  readonly threadId: string;
  /** What is replaced: the stored head must still have this token. `null`: no head may be stored. */
  readonly expected: LoadedHead | null;
  readonly head: Head;
  /**
   * If given, the tail of `head` is the end of the tail of `expected.head` followed by this many new messages, and the fields that
   * did not change are the same objects in both. A database can then send only the difference: push the new messages, keep the newest
   * `head.tail.length` of the result, and set the fields that changed. It may as well replace the whole document.
   */
  readonly pushed?: number | undefined;
}

/** Which copy of the data a read may use. */
export interface ReadFrom {
  /** True if an earlier answer was too old: the database must not use a replica that may lag. Default: false. */
  readonly primary?: boolean | undefined;
}

/** A request for a page of a listing. */
export interface HeadsRequest {
  /** Only threads whose ids begin with this prefix; `""` for all. */
  readonly prefix: string;
  /** The maximum number of heads, from 1 to 1,000. */
  readonly limit: number;
  /** Only threads after this id, in the database's own order of ids: the `next` of the previous page. Undefined: from the start. */
  readonly after: string | undefined;
}

/** A page of a listing. */
export interface HeadListing {
  /**
   * Dead and expired heads may be in it; the driver omits them. `head` is undefined if it is damaged. Its `tail` and `pages` are ignored, so
   * they may be empty.
   */
  readonly heads: readonly { readonly threadId: string; readonly head: Head | undefined }[];
  /** The id after which the next page begins; absent on the last page. */
  readonly next?: string | undefined;
}

/**
 * The capabilities of a {@link DocumentDatabase}, as frozen plain data. Default for a message 16 MiB, for a commit 64 MiB, and for a
 * deletion 24 hours.
 */
export interface DocumentCapabilities
  extends Pick<DriverCapabilities, "backend" | "sharing">,
    Partial<Pick<DriverCapabilities, "maxMessageBytes" | "maxCommitBytes" | "deletedWithinMs">> {
  /**
   * The maximum size of a document: of its texts in UTF-8 bytes, with 64 bytes per message and page of a head. At least 384 KiB. Larger
   * content is split into several pages. An adapter whose encoding adds more than that states less than its database's limit.
   */
  readonly maxDocumentBytes: number;
}

/**
 * The contract that a database fulfils: per thread one document, its head, that is replaced on a condition, and pages beside it.
 * `DocumentDriver` makes a driver of it, with every promise of the protocol. No transactions, no locks, no secondary index.
 *
 * A thread id is a well-formed string of 1 to 1,024 bytes with any characters. Threads never mix. Each verb is one request, or, where a
 * list is longer than the database's limit, as few as its batches allow; never one per page. Every write is durable when it
 * returns, and seen by every read that starts later. A verb of several requests may fail in its middle: it is then repeated, or what is
 * left of it does no harm.
 *
 * The database may delete heads and pages at any time from their `until` on, in any order; one that cannot do so by itself keeps them.
 * Until they are deleted, verbs return them. Verbs throw the database's raw errors. Every verb must settle: a request without
 * a reply fails after a few seconds, because the next commit to the thread waits for it. A failed write may still take effect later.
 */
export interface DocumentDatabase {
  readonly capabilities: DocumentCapabilities;
  /** As `Driver.target`. */
  readonly target?: DriverTarget | undefined;
  /** As `Driver.index`: the index of the same database, beside the threads. */
  readonly index?: EntryIndex | undefined;
  /** Returns the head of a thread; `null` if none is stored. A damaged head is no error, see {@link LoadedHead}. */
  load(threadId: string, from?: ReadFrom): Promise<LoadedHead | null>;
  /**
   * Replaces the head if the stored one still has the expected token, and stores it if `null` is expected and none is stored. Atomic.
   *
   * @returns whether it did. An exception means that it is unknown.
   */
  swap(request: Swap): Promise<boolean>;
  /** Stores pages. A page whose id is stored already stays as it is. */
  write(threadId: string, pages: readonly Page[]): Promise<void>;
  /** Returns the pages with these ids that are stored, in any order. A damaged message has the text `""`, or is omitted. */
  read(threadId: string, ids: readonly string[], from?: ReadFrom): Promise<Page[]>;
  /** Sets `until` of pages to a later time; undefined: never. A page that has the same or a later one, or is not stored, stays as it is. */
  raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void>;
  /** Deletes pages. An id that is not stored is skipped. */
  remove(threadId: string, ids: readonly string[]): Promise<void>;
  /** Returns the ids of all pages of a thread that are stored, also those that no head lists. Not from a replica that may lag. */
  keys(threadId: string): Promise<string[]>;
  /**
   * Returns heads in the database's own order of thread ids. A head that is stored during the whole listing is on one of its pages. A
   * page may be short, or empty, and have a `next`.
   */
  list(request: HeadsRequest): Promise<HeadListing>;
  close(): Promise<void>;
  /** As `Driver.setup`. */
  setup?(): Promise<string | undefined> | Promise<void>;
  /** As `Driver.worksWithoutSetup`. */
  readonly worksWithoutSetup?: boolean | undefined;
  /** As `Driver.classifyError`. */
  classifyError(error: unknown): ErrorClassification | undefined;
}

/** A readable head as the database has it once it is stored. */
export const loadedHead = (head: Head): LoadedHead => ({ token: tokenOf(head), head });

/** The token of a readable head: the revision of its thread. */
export function tokenOf({ incarnation, n }: Pick<Head, "incarnation" | "n">): string {
  return `${incarnation}.${n}`;
}
