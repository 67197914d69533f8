import { randomBytes } from "node:crypto";
import { jsonCodec, type Revision, StoreError } from "@scrollback/store-core";
import { envelope } from "../envelope.ts";
import { FORMAT_VERSION } from "../format.ts";
import { type DirectoryKind, type Incarnate, incarnationText, type Sorting } from "./directory-kind.ts";
import { type CompactionSizes, defaultSizes, MAX_INLINE_BYTES } from "./leaf-sizes.ts";
import { extending, openToRewrite } from "./life.ts";
import { compareNewest } from "./position.ts";
import {
  deletable,
  type InlineLeaf,
  indexOfLeaf,
  type LeafRange,
  type LeafRef,
  OutdatedError,
  type Root,
  type Snapshot,
  storedLeaves,
  type Tree,
  type UnusedLeaf,
} from "./tree.ts";

const MAX_ATTEMPTS = 20;

/** Reads the entries of a leaf. */
export type ReadLeaf<E> = (leaf: LeafRef) => Promise<E[]>;

/** A change of a directory: how its notes are sorted in, and the notes that are dropped even if they are added meanwhile. */
interface Rewriting<N, E extends Incarnate> extends Sorting<E> {
  drops?(note: N): boolean;
}

/** The next leaves of a directory. */
interface Plan<E> {
  readonly leaves: readonly LeafRef[];
  /** The leaves to write. */
  readonly added: readonly { readonly id: string; readonly entries: readonly E[] }[];
  /** The ids of the leaves that are no longer part of the directory. */
  readonly replaced: readonly string[];
}

/**
 * Sorts the notes of directories into their leaves. Four rules leave no thread of a leaf behind, whichever process dies:
 *
 * - A leaf's thread is written once, under an id that is never used again.
 * - The root has the id, with the number of the compaction, before the thread is written.
 * - A leaf becomes part of the directory only by the commit that increases the root's number to the number of its compaction.
 * - A root loses the id of an unused leaf only after the number was reached and the thread was deleted. So a process that is
 *   late writes a thread of its own, which it deletes when its commit fails.
 */
export class Compactor<N, E extends Incarnate> {
  readonly #tree: Tree<N, E>;
  readonly #kind: DirectoryKind<N, E>;
  readonly #sizes: CompactionSizes;

  constructor(tree: Tree<N, E>, kind: DirectoryKind<N, E>, sizes: CompactionSizes = defaultSizes) {
    this.#tree = tree;
    this.#kind = kind;
    this.#sizes = sizes;
  }

  /**
   * Sorts a directory's notes into its leaves if there are enough notes. A compaction that loses a race changes nothing.
   *
   * @returns whether the directory was rewritten.
   */
  async compact(threadId: string): Promise<boolean> {
    try {
      return await this.rewrite(threadId, ({ notes }) =>
        notes.length < this.#sizes.enoughNotes ? undefined : this.#kind.sort(notes),
      );
    } catch (error) {
      if (error instanceof OutdatedError) return false;
      throw error;
    }
  }

  /**
   * Changes a directory's leaves and drops its notes in one commit, then deletes the leaves that it replaced. `sort` returns
   * undefined if there is nothing to do.
   *
   * @returns whether the directory was rewritten.
   * @throws OutdatedError if another process rewrote the directory first. Then nothing has changed.
   */
  async rewrite(
    threadId: string,
    sort: (
      snapshot: Snapshot<N>,
      readLeaf: ReadLeaf<E>,
    ) => Rewriting<N, E> | undefined | Promise<Rewriting<N, E> | undefined>,
  ): Promise<boolean> {
    const reads = new Map<string, Promise<E[]>>();
    const readLeaf: ReadLeaf<E> = (leaf) => {
      if (!("id" in leaf)) return this.#tree.readLeaf(leaf);
      const read = reads.get(leaf.id) ?? this.#tree.readLeaf(leaf);
      reads.set(leaf.id, read);
      return read;
    };
    const snapshot = await this.#tree.read(threadId);
    const sorting = await sort(snapshot, readLeaf);
    await this.#tree.deleteLeaves(deletable(snapshot.root));
    if (!sorting) return false;
    const plan = await this.#plan(snapshot.root, sorting, readLeaf);
    const announced = await this.#announce(threadId, snapshot, plan);
    try {
      await this.#replace(threadId, snapshot, announced, plan, sorting);
      return true;
    } catch (error) {
      if (error instanceof OutdatedError) await this.#tree.deleteLeaves(plan.added.map(({ id }) => id));
      throw error;
    }
  }

  /**
   * Deletes a directory with its leaves, or the remains of an expired directory. Returns false if `isEmpty` does, or if the
   * directory has changed since.
   */
  async remove(threadId: string, isEmpty: (snapshot: Snapshot<N>) => Promise<boolean>): Promise<boolean> {
    const snapshot = await this.#tree.read(threadId);
    try {
      if (!(await isEmpty(snapshot))) return false;
      const expectedRevision = await this.#withoutLeaves(threadId, snapshot);
      await this.#tree.stores.deleteThread(threadId, { expectedRevision });
      return true;
    } catch (error) {
      if (error instanceof OutdatedError || StoreError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }

  /** Deletes all leaves of a directory. @returns the directory's revision, under which no leaf's thread exists. */
  async #withoutLeaves(
    threadId: string,
    { root, revision, expiresAt }: Snapshot<N>,
  ): Promise<Revision | null> {
    const ids = [...storedLeaves(root.leaves), ...root.unused].map(({ id }) => id);
    if (ids.length === 0) return revision;
    const compactions = root.compactions + 1;
    const unused = ids.map((id) => ({ id, compaction: compactions }));
    const metadata = this.#tree.storedRoot({ version: FORMAT_VERSION, compactions, leaves: [], unused });
    const store = openToRewrite(this.#tree.stores, threadId, expiresAt);
    const next = await store.commit({ metadata }, { ...extending, expectedRevision: revision });
    await this.#tree.deleteLeaves(ids);
    return next;
  }

  /** The leaves that the notes change, with the notes sorted in. */
  async #plan(
    { leaves }: Pick<Root, "leaves">,
    sorting: Sorting<E>,
    readLeaf: ReadLeaf<E>,
  ): Promise<Plan<E>> {
    const changed = this.#changedLeaves(leaves, sorting);
    const next: LeafRef[] = [];
    const added: { id: string; entries: readonly E[] }[] = [];
    const replaced: LeafRef[] = [];
    let run: E[] = [];
    const closeRun = () => {
      const sorted = newestOfEach(run).sort(compareNewest);
      const inline = next.length === 0 ? this.#inlineLeaf(sorted) : undefined;
      if (inline) next.push(inline);
      for (const entries of chunks(sorted.slice(inline?.count ?? 0), this.#sizes.maxLeaf)) {
        const id = randomBytes(12).toString("base64url");
        added.push({ id, entries });
        next.push({ id, ...rangeOf(entries) });
      }
      run = [];
    };
    for (let index = 0; index < Math.max(1, leaves.length); index++) {
      const leaf = leaves[index];
      if (leaf && !changed.has(index)) {
        closeRun();
        next.push(leaf);
        continue;
      }
      if (leaf) {
        const entries = await readLeaf(leaf);
        run.push(...entries.filter((entry) => sorting.keeps(entry)));
        replaced.push(leaf);
      }
      run.push(...sorting.placed.filter((entry) => indexOfLeaf(leaves, entry) === index));
    }
    closeRun();
    return { leaves: next, added, replaced: storedLeaves(replaced).map(({ id }) => id) };
  }

  /**
   * The leaves that the notes change, and their small neighbours. The newest leaf stays small, so excess entries move to the
   * second leaf until that one is full.
   */
  #changedLeaves(leaves: readonly LeafRef[], { placed, outdated, isScattered }: Sorting<E>): Set<number> {
    if (isScattered) return new Set(leaves.keys());
    const { maxLeaf, smallLeaf } = this.#sizes;
    const changed = new Set<number>();
    for (const position of [...placed, ...outdated]) changed.add(indexOfLeaf(leaves, position));
    for (const index of [...changed]) {
      for (const neighbour of [index - 1, index + 1]) {
        const small = index === 0 ? Math.max(smallLeaf, maxLeaf / 2 + 1) : smallLeaf;
        if ((leaves[neighbour]?.count ?? maxLeaf) < small) changed.add(neighbour);
      }
    }
    return changed;
  }

  /** The newest of some sorted entries, as many as the root may hold. */
  #inlineLeaf(sorted: readonly E[]): InlineLeaf | undefined {
    const { layout, stores } = this.#tree;
    const entries: unknown[] = [];
    let bytes = 0;
    for (const entry of sorted.slice(0, this.#sizes.maxInline)) {
      const encoded = layout.encodeEntry(entry);
      bytes += stores.metadataSize(encoded);
      if (bytes > MAX_INLINE_BYTES) break;
      entries.push(encoded);
    }
    return entries.length === 0 ? undefined : { entries, ...rangeOf(sorted.slice(0, entries.length)) };
  }

  /** Adds the ids of the leaves to write to the root, and writes them. @returns the directory after that. */
  async #announce(threadId: string, from: Snapshot<N>, { added }: Plan<E>): Promise<Snapshot<N>> {
    if (added.length === 0) return from;
    const compaction = from.root.compactions + 1;
    const announced = await this.#commit(threadId, from, from, ({ root }) => {
      const unused = [...stillAnnounced(root), ...added.map(({ id }) => ({ id, compaction }))];
      return { root: { ...root, unused } };
    });
    for (const { id, entries } of added) await this.#tree.writeLeaf(id, entries, announced.expiresAt);
    return announced;
  }

  /** Replaces the root and drops the notes, except those added since `from` was read. */
  async #replace(
    threadId: string,
    from: Snapshot<N>,
    announced: Snapshot<N>,
    { leaves, added, replaced }: Plan<E>,
    { carried = [], drops = () => false }: Rewriting<N, E>,
  ): Promise<void> {
    const compactions = from.root.compactions + 1;
    const own = new Set(added.map(({ id }) => id));
    const { root } = await this.#commit(threadId, from, announced, (found) => {
      const newer = found.notes.slice(from.notes.length).filter((note) => !drops(note));
      const unused = [
        ...stillAnnounced(found.root).filter(({ id }) => !own.has(id)),
        ...replaced.map((id) => ({ id, compaction: compactions })),
      ];
      return {
        root: { version: FORMAT_VERSION, compactions, leaves, unused },
        notes: [...carried, ...newer.map((note) => this.#kind.layout.encodeNote(note))],
      };
    });
    await this.#tree.deleteLeaves(deletable(root));
  }

  /**
   * Commits a change of the directory as it was found, and again if only notes and announcements were added since `from`.
   *
   * @param change returns the new root and, if all notes are replaced, the new notes as stored.
   * @throws OutdatedError if another process rewrote the directory, or added notes before each attempt.
   */
  async #commit(
    threadId: string,
    from: Snapshot<N>,
    start: Snapshot<N>,
    change: (found: Snapshot<N>) => { root: Root; notes?: readonly unknown[] },
  ): Promise<Snapshot<N>> {
    let found = start;
    for (let attempt = 1; ; attempt++) {
      const { root, notes } = change(found);
      const metadata = this.#tree.storedRoot(root);
      const replaced = notes && { drop: "all" as const, append: notes.map((note) => envelope("user", note)) };
      const options = { ...extending, expectedRevision: found.revision };
      const store = openToRewrite(this.#tree.stores, threadId, found.expiresAt);
      try {
        return { ...found, root, revision: await store.commit({ ...replaced, metadata }, options) };
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
      found = await this.#tree.read(threadId);
      if (attempt === MAX_ATTEMPTS || !this.#isContinued(from, found))
        throw new OutdatedError("another compaction was first");
    }
  }

  /** Whether only notes and announcements were added to a directory since `from`: a new root drops notes, and so does a removal. */
  #isContinued(from: Snapshot<N>, now: Snapshot<N>): boolean {
    const text = ({ root, notes }: Snapshot<N>) =>
      jsonCodec.encode([
        root.compactions,
        root.leaves,
        notes.slice(0, from.notes.length).map((note) => this.#kind.layout.encodeNote(note)),
      ]);
    return text(from) === text(now);
  }
}

/** The leaves that running compactions may still write. */
function stillAnnounced({ unused, compactions }: Root): UnusedLeaf[] {
  return unused.filter(({ compaction }) => compaction > compactions);
}

function rangeOf(entries: readonly Incarnate[]): LeafRange {
  const [first] = entries;
  if (!first) throw new RangeError("a leaf has entries");
  return { count: entries.length, first: { order: first.order, key: first.key } };
}

/** Keeps the entry with the higher version if a slow writer has left two entries of one incarnation. */
function newestOfEach<E extends Incarnate>(entries: readonly E[]): E[] {
  const newest = new Map<string, E>();
  for (const entry of entries) {
    const other = newest.get(incarnationText(entry));
    if (!other || other.version < entry.version) newest.set(incarnationText(entry), entry);
  }
  return [...newest.values()];
}

/** Fills chunks from the old end, because most changes are at the new end. */
function chunks<E>(entries: readonly E[], size: number): E[][] {
  const pieces: E[][] = [];
  for (let end = entries.length; end > 0; end -= size) {
    pieces.unshift(entries.slice(Math.max(0, end - size), end));
  }
  return pieces;
}
