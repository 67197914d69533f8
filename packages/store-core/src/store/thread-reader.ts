import { nextTurn, sha256 } from "#runtime";
import { jsonCodec } from "../codec/codec.ts";
import { type Cursor, formatCursor, parseCursor, type Revision } from "../driver/revision.ts";
import { StoreError } from "../errors.ts";
import type { MessageStore, ReadOptions, ThreadPage } from "./store.ts";

/** The maximum number of messages on a page. */
export const MESSAGES_AT_ONCE = 500;

type Entry<M> = ThreadPage<M>["entries"][number];

/** A message up to which a thread was read, with what shows later that the thread is unchanged up to there. Plain JSON. */
export interface ReadPosition {
  /** The cursor after the message. */
  readonly after: Cursor;
  /** The digest of the message and its time. */
  readonly digest: string;
  /** The {@link trimmedBefore} of the thread. */
  readonly trimmed: number;
}

/** The options of {@link ThreadReader.begin}. */
export interface ThreadReaderOptions {
  /** Reads no message with a larger sequence number. Default: to the message that is the last when reading begins. */
  readonly end?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a thread as it was when reading began, in several pages while others write. Messages that are added are not read.
 *
 * Only two changes affect the messages that are read: commits drop from the end, and trimming removes from the beginning.
 * So nothing is lost or replaced if at the end the last message is still the same, and no more are trimmed than before.
 */
export class ThreadReader<M> {
  /** The newest messages, and the thread's metadata and times, when reading began. */
  readonly newest: ThreadPage<M>;
  readonly #store: MessageStore<M>;
  readonly #abort: { readonly signal?: AbortSignal };
  /** The sequence number of the last message to read. */
  readonly #end: number;
  /** That message; undefined if it cannot be read. */
  readonly #last: Entry<M> | undefined;

  private constructor(
    store: MessageStore<M>,
    newest: ThreadPage<M>,
    end: number,
    last: Entry<M> | undefined,
    abort: { readonly signal?: AbortSignal },
  ) {
    this.newest = newest;
    this.#store = store;
    this.#end = end;
    this.#last = last;
    this.#abort = abort;
  }

  static async begin<M>(
    store: MessageStore<M>,
    { end: given = Number.POSITIVE_INFINITY, signal }: ThreadReaderOptions = {},
  ): Promise<ThreadReader<M>> {
    const abort = signal ? { signal } : {};
    const newest = await store.read({ limit: MESSAGES_AT_ONCE, ...abort });
    const end = Math.min(given, sequenceOf(newest.newer));
    const isOnPage = newest.older === undefined || sequenceOf(newest.older) <= end;
    const { entries } =
      newest.revision === null || isOnPage || end === 0
        ? newest
        : await store.read({ after: formatCursor(newest.revision, end - 1), limit: 1, ...abort });
    return new ThreadReader(
      store,
      newest,
      end,
      entries.findLast(({ sequence }) => sequence === end),
      abort,
    );
  }

  /** Whether all messages are on the newest page. */
  get isOnePage(): boolean {
    return this.newest.older === undefined;
  }

  /** The position of a message that this reader has read. */
  positionOf(entry: Entry<M>): ReadPosition {
    const after = formatCursor(this.newest.revision ?? "", entry.sequence);
    return { after, digest: digestOf(entry), trimmed: trimmedBefore(this.newest) };
  }

  /**
   * Reads the messages, oldest first, page by page.
   *
   * @param from begins after this position, which an earlier reader of the thread has given.
   * @throws StoreError `CONFLICT` if the thread was deleted, begun again, cleared, trimmed, or changed up to the last message to
   *   read: since reading began, or since the position. What was read is then not a thread.
   */
  async *pages(from?: ReadPosition): AsyncGenerator<readonly Entry<M>[], void, undefined> {
    const { revision, entries } = this.newest;
    if (revision === null) return;
    const isWanted = ({ sequence }: Entry<M>) => sequence <= this.#end;
    if (this.isOnePage && !from) {
      yield entries.filter(isWanted);
      return;
    }
    if (from) await this.#checkPosition(revision, from);
    let position = from;
    let seen: Revision | null = revision;
    for (let after = from?.after ?? formatCursor(revision, 0); sequenceOf(after) < this.#end; ) {
      // Backends in this process reply within one turn of the event loop: without this pause a signal could never be aborted.
      await nextTurn();
      const page = await this.#read(revision, { after, limit: MESSAGES_AT_ONCE });
      // A later reader may continue after any page, so each one must belong to the pages before it.
      if (page.revision !== seen && position) await this.#checkPosition(revision, position);
      seen = page.revision;
      const wanted = page.entries.filter(isWanted);
      if (wanted.length > 0) yield wanted;
      const last = wanted.at(-1);
      if (last) position = this.positionOf(last);
      const { newer = after } = page;
      if (newer === after) break;
      after = newer;
    }
    if (seen === revision) return;
    if (!this.#last) throw changed();
    await this.#checkPosition(revision, this.positionOf(this.#last));
  }

  /** @throws StoreError `CONFLICT` if the thread is not as it was when the position was read, up to there. */
  async #checkPosition(revision: Revision, { after, digest, trimmed }: ReadPosition): Promise<void> {
    // In this order: a thread that still has the message afterwards was not cut to its pinned messages before.
    const now = await this.#read(revision, { limit: 0 });
    if (trimmedBefore(now) !== trimmed) throw changed();
    const sequence = sequenceOf(after);
    const page = await this.#read(revision, { after: formatCursor(revision, sequence - 1), limit: 1 });
    const [entry] = page.entries;
    if (entry?.sequence !== sequence || digestOf(entry) !== digest) throw changed();
  }

  async #read(revision: Revision, options: ReadOptions): Promise<ThreadPage<M>> {
    const page = await this.#store.read({ ...options, ...this.#abort });
    if (page.revision === null || formatCursor(page.revision, 0) !== formatCursor(revision, 0))
      throw new StoreError("CONFLICT", "the source thread was deleted or has expired meanwhile");
    return page;
  }
}

function changed(): StoreError {
  return new StoreError("CONFLICT", "the source thread was cleared, trimmed or changed meanwhile");
}

/** The sequence number of a cursor; 0 without one. */
function sequenceOf(cursor: Cursor | undefined): number {
  return cursor === undefined ? 0 : parseCursor("read: after", cursor).sequence;
}

/**
 * How many numbers of the sequence have no message, on the newest page or an empty one. Grows when the thread is trimmed; neither
 * messages that are added nor those that are dropped from the end change it.
 */
function trimmedBefore({ newer, count }: ThreadPage<unknown>): number {
  return sequenceOf(newer) - count;
}

function digestOf({ createdAt, message }: Pick<Entry<unknown>, "createdAt" | "message">): string {
  return sha256(`${createdAt} ${jsonCodec.encode(message)}`);
}
