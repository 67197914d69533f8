import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { type DirectoryClock, systemDirectoryClock } from "../clock.ts";
import { Compactor } from "./compact.ts";
import { incarnationText, type Sorting } from "./directory-kind.ts";
import { compareNewest, compareOldest, type Direction, keyText, type Position } from "./position.ts";
import { Queues } from "./queues.ts";
import { OutdatedError, type Snapshot, Tree } from "./tree.ts";
import {
  joinNotes,
  type VerifiedEntry,
  type VerifiedLayout,
  type VerifiedNote,
  verifiedKind,
} from "./verified-notes.ts";

/** Each list sorts a directory of up to 64 members by the members' own content. */
const SMALL = 64;
/** An entry without its member's incarnation is removed after an hour; until then the member may be under creation. */
const ABANDONED_AFTER_MS = 3_600_000;
const MAX_ATTEMPTS = 10;

/** The state of a member, as a list reads it. */
export interface Verified extends Pick<VerifiedEntry, "incarnation" | "version" | "order"> {}

/** Reads the member of an entry; returns undefined if there is none. */
export type Verify<T extends Verified> = (entry: VerifiedEntry) => Promise<T | undefined>;

/**
 * Makes every running creation of a member fail, or start over with a new note, so that an old entry can be removed.
 * Resolves to false if the member exists by now.
 */
export type RefuseCreation = (position: Position) => Promise<boolean>;

interface Found<T> {
  readonly entry: VerifiedEntry;
  /** The position according to the member itself. */
  readonly position: Omit<VerifiedEntry, "notedAt">;
  readonly member: T;
}

/** The request of {@link VerifiedDirectories.page}. */
export interface VerifiedPageRequest {
  readonly direction: Direction;
  readonly after?: Position | undefined;
  readonly limit: number;
}

/** One page of a directory. `next` is the start of the next page; absent on the last page. */
export interface VerifiedPage<T> {
  readonly members: T[];
  readonly next?: Position;
}

/** Options of {@link VerifiedDirectories}. */
export interface VerifiedDirectoriesOptions {
  readonly stores: StoreFactory;
  readonly layout: VerifiedLayout;
  /** Default: the clocks of this process. */
  readonly clock?: DirectoryClock | undefined;
}

/**
 * Directories whose lists read every member that they return, so an entry may lag behind its member by a second. A note is
 * one request. A write does not wait for it, except for the note of a creation, which is written first.
 */
export class VerifiedDirectories {
  readonly #tree: Tree<VerifiedNote, VerifiedEntry>;
  readonly #compactor: Compactor<VerifiedNote, VerifiedEntry>;
  readonly #kind: ReturnType<typeof verifiedKind>;
  readonly #queues: Queues<VerifiedNote>;
  readonly #clock: DirectoryClock;
  /** The running removals of entries. */
  readonly #removing = new Set<Promise<void>>();

  /** Does no I/O. */
  constructor({ stores, layout, clock = systemDirectoryClock }: VerifiedDirectoriesOptions) {
    this.#clock = clock;
    this.#kind = verifiedKind(layout);
    this.#tree = new Tree(stores, layout, clock);
    this.#compactor = new Compactor(this.#tree, this.#kind);
    this.#queues = new Queues<VerifiedNote>((threadId) => ({
      stores,
      threadId,
      clock,
      keyOf: incarnationText,
      join: joinNotes,
      encode: layout.encodeNote,
      compact: () => this.compact(threadId),
    }));
  }

  /** Notes a member and returns when the note is written. */
  async noteNow(threadId: string, note: Omit<VerifiedNote, "notedAt">): Promise<void> {
    await this.#queues.of(threadId).addNow({ ...note, notedAt: this.#clock.wall() });
  }

  /** Notes a moved member; the note is written within a second. */
  note(threadId: string, note: Omit<VerifiedNote, "notedAt">): void {
    this.#queues.of(threadId).add({ ...note, notedAt: this.#clock.wall() });
  }

  /** Returns when all notes are written. */
  async flush(): Promise<void> {
    await Promise.all(this.#removing);
    await this.#queues.flush();
  }

  /** Sorts the notes of a directory into its leaves if there are at least 128. Also runs automatically. */
  async compact(threadId: string): Promise<void> {
    await this.#compactor.compact(threadId);
  }

  /**
   * Sorts all notes of a directory into its leaves, so that nothing of removed members is left in it.
   *
   * @throws StoreError `CONFLICT` if other processes compact the directory continuously.
   */
  async sortNotes(threadId: string): Promise<void> {
    await this.#queues.existing(threadId)?.write();
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        await this.#compactor.rewrite(threadId, ({ notes }) =>
          notes.length === 0 ? undefined : this.#kind.sort(notes),
        );
        return;
      } catch (error) {
        if (!(error instanceof OutdatedError)) throw error;
      }
    }
    throw new StoreError("CONFLICT", "sortNotes: other processes compact the directory; call it again");
  }

  /** Returns a directory as stored, for tests and diagnosis. */
  async read(threadId: string): Promise<Snapshot<VerifiedNote>> {
    return await this.#tree.read(threadId);
  }

  /**
   * Returns a page of a directory. Reads the members of the page; in a small directory, all members. An entry without a
   * member is removed one hour after it was written, and after `refuse` has resolved to true.
   */
  async page<T extends Verified>(
    threadId: string,
    request: VerifiedPageRequest,
    verify: Verify<T>,
    refuse: RefuseCreation,
  ): Promise<VerifiedPage<T>> {
    const lookup: MemberLookup<T> = { threadId, verify, refuse };
    const missing = new Set<string>();
    // A list is read although its database takes no new data: an entry that is missing or wrong so far is a matter of a second, too.
    await this.#queues
      .existing(threadId)
      ?.write()
      .catch(() => undefined);
    for (let attempt = 0; ; attempt++) {
      const { root, notes } = await this.#tree.read(threadId);
      const view = { leaves: root.leaves, sorting: this.#kind.sort(notes), missing };
      const noted = new Set(notes.map(incarnationText)).size;
      const most = root.leaves.reduce((sum, leaf) => sum + leaf.count, noted);
      try {
        return most <= SMALL
          ? await this.#sorted(lookup, view, request)
          : await this.#asNoted(lookup, view, request);
      } catch (error) {
        if (!(error instanceof OutdatedError) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Deletes a directory without members, and its leaves. Reads the members of all entries. An entry without a member is removed
   * after `refuse` has resolved to true.
   *
   * @returns false if the directory has members, or if another process is writing to it.
   */
  async removeDirectory<T extends Verified>(
    threadId: string,
    verify: Verify<T>,
    refuse: RefuseCreation,
  ): Promise<boolean> {
    await this.#queues.existing(threadId)?.write();
    return await this.#compactor.remove(threadId, async ({ root, notes }) => {
      // An expired leaf has no entries. If a compaction has deleted a leaf, the directory is not removed, because it has changed.
      const entries = this.#tree.walk(root, this.#kind.sort(notes), "desc", undefined);
      for await (const entry of entries) if ((await verify(entry)) || !(await refuse(entry))) return false;
      return true;
    });
  }

  async #sorted<T extends Verified>(
    lookup: MemberLookup<T>,
    view: View,
    { direction, after, limit }: VerifiedPageRequest,
  ) {
    const entries: VerifiedEntry[] = [];
    for await (const entry of this.#walk(view, direction, undefined)) entries.push(entry);
    const compare = direction === "desc" ? compareNewest : compareOldest;
    const verified = await this.#verify(lookup, entries);
    const noted = new Set(entries.map(incarnationText));
    const distinct = [...new Map(verified.map((one) => [keyText(one.entry), one])).values()];
    for (const one of distinct)
      if (!noted.has(incarnationText(one.position))) this.#correct(lookup.threadId, one.position);
    const found = distinct
      .sort((a, b) => compare(a.position, b.position))
      .filter(({ position }) => !after || compare(position, after) > 0);
    const page = found.slice(0, limit);
    return pageOf(page, page.at(-1)?.position, found.length > limit);
  }

  async #asNoted<T extends Verified>(
    lookup: MemberLookup<T>,
    view: View,
    { direction, after, limit }: VerifiedPageRequest,
  ) {
    const entries = this.#walk(view, direction, after);
    const found: Found<T>[] = [];
    let last: VerifiedEntry | undefined;
    let next = await entries.next();
    while (found.length < limit && !next.done) {
      const batch: VerifiedEntry[] = [];
      for (; batch.length < limit - found.length && !next.done; next = await entries.next())
        batch.push(next.value);
      last = batch.at(-1);
      for (const one of await this.#verify(lookup, batch)) {
        if (found.some(({ position }) => keyText(position) === keyText(one.position))) continue;
        const hasMoved = one.position.order !== one.entry.order;
        if (hasMoved && (await this.#has(view, one.position))) continue;
        found.push(one);
        if (hasMoved) this.#correct(lookup.threadId, one.position);
      }
    }
    return pageOf(found, last, !next.done);
  }

  #walk({ leaves, sorting, missing }: View, direction: Direction, after: Position | undefined) {
    return this.#tree.walk({ leaves }, sorting, direction, after, { missing });
  }

  /** Whether the directory has an entry at a position. */
  async #has(view: View, { order, key }: Position): Promise<boolean> {
    for await (const entry of this.#walk(view, "desc", { order, key: key.slice(0, -1) })) {
      const compared = compareNewest(entry, { order, key });
      if (compared >= 0) return compared === 0;
    }
    return false;
  }

  /** Reads the members of entries, in parallel and each once, and notes corrections in the directory. */
  async #verify<T extends Verified>(
    { threadId, verify, refuse }: MemberLookup<T>,
    entries: readonly VerifiedEntry[],
  ): Promise<Found<T>[]> {
    const reads = new Map<string, ReturnType<Verify<T>>>();
    for (const entry of entries) if (!reads.has(keyText(entry))) reads.set(keyText(entry), verify(entry));
    await Promise.all(reads.values());
    const found: Found<T>[] = [];
    for (const entry of entries) {
      const member = await reads.get(keyText(entry));
      if (member) {
        const { incarnation, version, order } = member;
        const position = { order, key: entry.key, incarnation, version };
        found.push({ entry, position, member });
        if (incarnation === entry.incarnation && order !== entry.order)
          this.#correct(threadId, position, [entry.order]);
      }
      const isAbandoned =
        member?.incarnation !== entry.incarnation && this.#clock.wall() - entry.notedAt > ABANDONED_AFTER_MS;
      // If the member exists, no creation that began before it can succeed.
      if (isAbandoned && member) this.#remove(threadId, entry);
      else if (isAbandoned) this.#removeRefused(threadId, entry, refuse);
    }
    return found;
  }

  #remove(threadId: string, { order, key, incarnation, version }: VerifiedEntry): void {
    this.#correct(threadId, { order, key, incarnation, version, removed: true }, [order]);
  }

  /** The age alone does not decide: the creation may be slower, or the clocks may differ. */
  #removeRefused(threadId: string, entry: VerifiedEntry, refuse: RefuseCreation): void {
    const removing = refuse(entry)
      .then((isRefused) => {
        if (isRefused) this.#remove(threadId, entry);
      })
      // The next list retries.
      .catch(() => undefined)
      .finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }

  #correct(threadId: string, note: Omit<VerifiedNote, "notedAt" | "was">, was: readonly number[] = []): void {
    this.note(threadId, { ...note, was });
  }
}

/** How a list reads the members of its directory. */
interface MemberLookup<T extends Verified> {
  readonly threadId: string;
  readonly verify: Verify<T>;
  readonly refuse: RefuseCreation;
}

interface View {
  readonly leaves: Snapshot<VerifiedNote>["root"]["leaves"];
  readonly sorting: Sorting<VerifiedEntry>;
  /** The leaves that were missing, see {@link Tree.readLeaf}. */
  readonly missing: Set<string>;
}

function pageOf<T>(
  found: readonly Found<T>[],
  last: Position | undefined,
  hasMore: boolean,
): VerifiedPage<T> {
  const members = found.map(({ member }) => member);
  return hasMore && last ? { members, next: { order: last.order, key: last.key } } : { members };
}
