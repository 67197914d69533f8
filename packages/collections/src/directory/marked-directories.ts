import { chatMessageTraits, reporter, type StoreFactory } from "@scrollback/store-core";
import { type DirectoryClock, systemDirectoryClock } from "../clock.ts";
import { checkDirectories, checkMember, checkPage, checkThread, checkWritten } from "./checks.ts";
import { Compactor } from "./compact.ts";
import { elapsed, HeldMarks, HOLD_MS, MOST_HELD, newToken } from "./held-marks.ts";
import {
  effectOf,
  joinMarkedNotes,
  type MarkedEntry,
  type MarkedNote,
  type MarkSemantics,
  markedKind,
  markedLayout,
  marksAfter,
  needsOpenMark,
  noteText,
  openMarks,
  soundSemantics,
} from "./marked-notes.ts";
import type {
  Internals,
  MarkedDirectoriesOptions,
  MarkedPage,
  MarkedPageRequest,
  MemberOf,
  PurgedMember,
  Written,
} from "./marked-options.ts";
import { MarkedView, type Repair } from "./marked-view.ts";
import { noteOf, saysNothingWritten } from "./marked-write.ts";
import { formatPageToken } from "./page-token.ts";
import type { Key } from "./position.ts";
import { Purges } from "./purges.ts";
import { Queues } from "./queues.ts";
import { OutdatedError, type Snapshot, Tree } from "./tree.ts";

/** The incarnation of members that have none. */
const NO_INCARNATION = "-";
/** A write that took longer than this since its mark does not rely on the mark: a list may have closed it. */
const LATE_MS = 60_000;
const MAX_ATTEMPTS = 10;

/**
 * Directories whose lists are exact from one read. A writer notes a mark before it writes to a member, and notes the result
 * within a second after the write. A list trusts the entries of members without an open mark, and reads the other members.
 *
 * @example
 * const directories = new MarkedDirectories<{ title: string }>({ stores, leafThread: (id) => `notes:leaf:${id}` });
 * await directories.write("notes:directory:ada", { key: ["n1"], incarnation }, async () => {
 *   await stores.open("notes:ada:n1").commit({ metadata: { incarnation, version: 1, title } }, { expectedRevision: null });
 *   return { order: Date.now(), version: 1, value: { title } };
 * });
 */
export class MarkedDirectories<V> implements AsyncDisposable {
  readonly #tree: Tree<MarkedNote<V>, MarkedEntry<V>>;
  readonly #compactor: Compactor<MarkedNote<V>, MarkedEntry<V>>;
  readonly #kind: ReturnType<typeof markedKind<V>>;
  readonly #queues: Queues<MarkedNote<V>>;
  readonly #marks: HeldMarks;
  readonly #clock: DirectoryClock;
  readonly #semantics: MarkSemantics;
  readonly #stores: StoreFactory;
  readonly #purges: Purges<V>;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores with `maxMessages`. */
  constructor(options: MarkedDirectoriesOptions, internals: Internals = {}) {
    checkDirectories(options);
    const { clock = systemDirectoryClock, holdMs = HOLD_MS } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    this.#stores = stores;
    const layout = markedLayout<V>(options.leafThread);
    this.#clock = clock;
    const { semantics = soundSemantics, sizes, mostHeld = MOST_HELD } = internals;
    this.#semantics = semantics;
    const onError = reporter(options.onError);
    this.#kind = markedKind(layout, semantics);
    this.#tree = new Tree(stores, layout, clock);
    this.#compactor = new Compactor(this.#tree, this.#kind, sizes);
    this.#purges = new Purges({ compactor: this.#compactor, semantics, clock, onError });
    this.#queues = new Queues((threadId) => ({
      stores,
      threadId,
      clock,
      keyOf: noteText,
      join: joinMarkedNotes,
      encode: layout.encodeNote,
      marks: {
        ...{ isConditional: needsOpenMark, effectOf, after: marksAfter },
        read: async () => {
          const { notes, revision } = await this.#tree.read(threadId);
          return { revision, open: openMarks(notes, semantics) };
        },
      },
      compact: () => this.compact(threadId).catch(onError),
    }));
    this.#marks = new HeldMarks({
      clock,
      holdMs,
      mostHeld,
      open: ({ threadId, key, incarnation, token, wall: at }) =>
        this.#queues.of(threadId).addNow({ key, incarnation, marks: [{ token, at }] }),
      close: ({ threadId, key, incarnation, token }) =>
        this.#queues.of(threadId).add({ key, incarnation, closes: [token] }),
    });
  }

  /**
   * Writes to a member and makes the change visible to lists: notes a mark, calls `write`, then notes its result within a
   * second. One mark covers the writes of 30 s. `write` must commit to the member's own thread by compare-and-set and
   * return the member's new state, or undefined if it changed nothing. It must end within 10 s.
   *
   * @returns what `write` returned.
   * @throws what `write` throws. A `StoreError` other than `UNAVAILABLE` and `ABORTED` must mean that nothing was written. Also throws
   *   StoreError `INVALID_ARGUMENT`, or `TOO_LARGE` for a value over 8 KiB encoded, if the returned state is invalid. The member is
   *   written then, and lists read it.
   */
  async write<W extends Written<V> | undefined>(
    threadId: string,
    { key, incarnation }: MemberOf,
    write: () => Promise<W>,
  ): Promise<W> {
    checkMember("write", threadId, { key, incarnation });
    const marksFirst = this.#semantics.marksFirst;
    const early = marksFirst ? await this.#marks.enter(threadId, key, incarnation) : undefined;
    let written: W;
    try {
      written = await write();
    } catch (error) {
      if (early) this.#marks.leave(early, !saysNothingWritten(error));
      throw error;
    }
    const mark = early ?? (await this.#marks.enter(threadId, key, incarnation));
    const isLate = written !== undefined && elapsed(this.#clock, mark) > LATE_MS;
    let isUncertain = true;
    try {
      if (written && isLate) await this.#announce(threadId, { key, incarnation });
      else if (written) {
        checkWritten("write: the returned state", this.#stores, written);
        this.#queues.of(threadId).add(noteOf({ key, incarnation }, written, mark.token));
      }
      isUncertain = isLate;
    } finally {
      this.#marks.leave(mark, isUncertain);
    }
    return written;
  }

  /**
   * Removes a member: notes a mark, calls `remove`, which must delete the member's thread, then purges the member from the
   * directory. If the process dies in between, the next list that finds the member completes the removal. `order` is the
   * member's last order number.
   */
  async remove(
    threadId: string,
    { key, incarnation, order }: MemberOf & { readonly order: number },
    remove: () => Promise<void>,
  ): Promise<void> {
    checkMember("remove", threadId, { key, incarnation, order });
    const mark = await this.#marks.enter(threadId, key, incarnation);
    let isUncertain = true;
    try {
      await remove();
      isUncertain = false;
    } catch (error) {
      isUncertain = !saysNothingWritten(error);
      throw error;
    } finally {
      this.#marks.leave(mark, isUncertain);
    }
    await this.purge(threadId, { key, incarnation, order });
  }

  /**
   * Adds or moves a member that has no thread, and returns when lists show it. Of several calls for one key, the last write wins.
   * `was` is as in {@link Written}.
   */
  async note(threadId: string, key: Key, entry: Pick<Written<V>, "order" | "value" | "was">): Promise<void> {
    const { order, value, was } = entry;
    const written = { order, version: 0, value, was };
    checkMember("note", threadId, { key, incarnation: NO_INCARNATION });
    checkWritten("note", this.#stores, written);
    const token = newToken();
    await this.#queues.of(threadId).addNow({
      ...noteOf({ key, incarnation: NO_INCARNATION }, written, token),
      marks: [{ token, at: this.#clock.wall() }],
      closes: [token],
    });
  }

  /**
   * Drops every entry and note of a member from a directory, and deletes the leaves that held it. A missing member is not
   * an error. Omit `incarnation` for a member of {@link MarkedDirectories.note}. Without `order`, the member's last order
   * number, every leaf may be read.
   */
  async purge(threadId: string, { key, incarnation = NO_INCARNATION, order }: PurgedMember): Promise<void> {
    checkMember("purge", threadId, { key, incarnation, order });
    const ownMark = this.#marks.forget({ threadId, key, incarnation });
    const queue = this.#queues.existing(threadId);
    const dropped = queue?.drop(noteText({ key, incarnation }));
    // A batch that is being written may hold a note of the member.
    await queue?.write();
    const orders = [order, dropped?.entry?.order, ...(dropped?.was ?? [])].filter((one) => one !== undefined);
    await this.#purges.purge(threadId, { key, incarnation, orders, ownMark });
    queue?.forgetMarks();
  }

  /**
   * Deletes a directory without members and open marks, and its leaves.
   *
   * @returns false if it may have members: purge them first, or wait until lists have closed the marks of dead processes.
   */
  async removeDirectory(threadId: string): Promise<boolean> {
    checkThread("removeDirectory", threadId);
    return await this.#compactor.remove(threadId, async ({ root, notes }) => {
      const view = new MarkedView(notes, this.#semantics, this.#clock.wall());
      if (view.isUnsure) return false;
      for await (const entry of this.#tree.walk(root, view, "desc", undefined)) {
        if (!view.isExpired(entry)) return false;
      }
      return true;
    });
  }

  /** Returns one page. Reads the directory, the page's leaves, and at once the members that may be changing. */
  async page(threadId: string, request: MarkedPageRequest<V>): Promise<MarkedPage<V>> {
    const { limit, direction = "desc", filterName = "", filter = () => true, signal } = request;
    const { includesExpired = false } = request;
    const after = checkPage(threadId, request);
    const missing = new Set<string>();
    for (let attempt = 0; ; attempt++) {
      const snapshot = await this.#tree.read(threadId, signal);
      const view = new MarkedView(snapshot.notes, this.#semantics, this.#clock.wall());
      for (const repair of await view.read(request.read)) this.#repair(threadId, repair);
      try {
        const entries: MarkedEntry<V>[] = [];
        const walk = this.#tree.walk(snapshot.root, view, direction, after, { signal, missing });
        for await (const entry of walk) {
          if (view.isEnded(entry)) this.#removeEnded(threadId, entry, request.read);
          if ((view.isExpired(entry) && !includesExpired) || !filter(entry)) continue;
          const last = entries.at(-1);
          if (entries.length === limit && last) {
            return { entries, nextPageToken: formatPageToken(direction, last, filterName) };
          }
          entries.push(entry);
        }
        return { entries };
      } catch (error) {
        if (!(error instanceof OutdatedError) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Closes the marks of this process and returns when all notes are written. Call it before you close the stores. */
  async flush(): Promise<void> {
    this.#marks.closeAll();
    await this.#queues.flush();
    await this.#purges.flush();
  }

  /** The same as {@link MarkedDirectories.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  /** Sorts the notes of a directory into its leaves if there are at least 128. Also runs automatically. */
  async compact(threadId: string): Promise<void> {
    if (await this.#compactor.compact(threadId)) this.#queues.existing(threadId)?.forgetMarks();
  }

  /** Returns a directory as stored, for tests and diagnosis. */
  async read(threadId: string): Promise<Snapshot<MarkedNote<V>>> {
    return await this.#tree.read(threadId);
  }

  /** Writes a mark that stays open. Lists read the member until one of them closes the mark. */
  async #announce(threadId: string, { key, incarnation }: MemberOf): Promise<void> {
    const marks = [{ token: newToken(), at: this.#clock.wall() }];
    await this.#queues.of(threadId).addNow({ key, incarnation, marks });
  }

  /** Purges in the background an entry that has expired, unless the expiry of its member was changed without a note. */
  #removeEnded(threadId: string, entry: MarkedEntry<V>, read: MarkedPageRequest<V>["read"]): void {
    const { key, incarnation, order } = entry;
    this.#purges.start(threadId, { key, incarnation, orders: [order] }, async () => {
      const member = await read(key);
      if (member === "unreadable") return false;
      if (member?.incarnation !== incarnation) return true;
      await this.#announce(threadId, { key, incarnation });
      return false;
    });
  }

  /** Completes in the background the unfinished work of dead processes. */
  #repair(threadId: string, { note, purge: member }: Repair<V>): void {
    if (note) this.#queues.of(threadId).add(note);
    if (member) this.#purges.start(threadId, member);
  }
}
