import { randomBytes } from "node:crypto";
import { type ChatMessage, type Revision, StoreError } from "@scrollback/store-core";
import { envelope } from "../envelope.ts";
import { FORMAT_VERSION } from "../format.ts";
import { type DirectoryKind, type Incarnate, incarnationText, type Sorting } from "./directory-kind.ts";
import { type CompactionSizes, defaultSizes, MAX_INLINE_BYTES } from "./leaf-sizes.ts";
import { compareNewest } from "./position.ts";
import {
  type InlineLeaf,
  indexOfLeaf,
  type LeafContent,
  type LeafRef,
  OutdatedError,
  type RetiredLeaf,
  type Root,
  type Snapshot,
  type StoredLeaf,
  storedLeaves,
  type Tree,
} from "./tree.ts";

const MAX_ATTEMPTS = 20;

/** Sorts the notes of directories into their leaves. */
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
   * Sorts a directory's notes into its leaves if there are enough notes. Leaves are written first, as new threads or over
   * retired ones. The commit that removes the notes also adds the leaves to the directory. A compaction that loses the race
   * for that commit changes nothing.
   */
  async compact(threadId: string): Promise<void> {
    const snapshot = await this.#tree.read(threadId);
    if (snapshot.notes.length < this.#sizes.enoughNotes) return;
    try {
      const sorting = this.#kind.sort(snapshot.notes);
      await this.commitRoot(threadId, snapshot, await this.rebuild(snapshot, sorting), sorting.carried);
    } catch (error) {
      // Another compaction is running.
      if (!(error instanceof OutdatedError) && !StoreError.is(error, "CONFLICT")) throw error;
    }
  }

  /** Writes the leaves that the notes change, and retires the leaves that they replace. */
  async rebuild(
    { root }: Snapshot<N>,
    sorting: Sorting<E>,
    readLeaf: (leaf: LeafRef) => Promise<E[]> = (leaf) => this.#tree.readLeaf(leaf),
  ): Promise<Root> {
    const { leaves } = root;
    const changed = this.#changedLeaves(leaves, sorting);
    const { maxLeaf } = this.#sizes;
    const spare = [...root.retired];
    const next: LeafRef[] = [];
    const retired: LeafRef[] = [];
    let run: E[] = [];
    const closeRun = async () => {
      const sorted = newestOfEach(run).sort(compareNewest);
      const inline = next.length === 0 ? this.#inlineLeaf(sorted) : undefined;
      if (inline) next.push(inline);
      for (const entries of chunks(sorted.slice(inline?.count ?? 0), maxLeaf))
        next.push(await this.#writeLeaf(entries, spare));
      run = [];
    };
    for (let index = 0; index < Math.max(1, leaves.length); index++) {
      const leaf = leaves[index];
      if (leaf && !changed.has(index)) {
        await closeRun();
        next.push(leaf);
        continue;
      }
      if (leaf) {
        const entries = await readLeaf(leaf);
        run.push(...entries.filter((entry) => sorting.keeps(entry)));
        retired.push(leaf);
      }
      run.push(...sorting.placed.filter((entry) => indexOfLeaf(leaves, entry) === index));
    }
    await closeRun();
    const free = [...spare, ...storedLeaves(retired)].map(({ id, token, revision }) => ({
      id,
      token,
      revision,
    }));
    return { version: FORMAT_VERSION, compactions: root.compactions + 1, leaves: next, retired: free };
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
    const [first] = sorted;
    if (!first || entries.length === 0) return undefined;
    return { entries, count: entries.length, first: { order: first.order, key: first.key } };
  }

  /** Writes a leaf over a retired one, or to a new thread if no retired leaf is available. */
  async #writeLeaf(entries: readonly E[], spare: RetiredLeaf[]): Promise<StoredLeaf> {
    const { layout, stores } = this.#tree;
    const [first] = entries;
    if (!first) throw new RangeError("a leaf has entries");
    const token = newToken();
    const message = envelope("user", {
      token,
      entries: entries.map((entry) => layout.encodeEntry(entry)),
    } satisfies LeafContent);
    const write = async (thread: string, expectedRevision: Revision | null) =>
      String(await stores.open(thread).replaceMessages([message], { expectedRevision }));
    const range = { count: entries.length, first: { order: first.order, key: first.key } };
    for (let leaf = spare.shift(); leaf; leaf = spare.shift()) {
      // No revision: another compaction, which lost its race, has overwritten the leaf, or it has expired.
      const revision = await this.#tree.changeLeaf(leaf, write);
      if (revision !== undefined) return { id: leaf.id, token, revision, ...range };
    }
    const id = newToken();
    return { id, token, revision: await write(layout.leafThread(id), null), ...range };
  }

  /** Replaces the root and drops the notes, except those added since `from` was read. */
  async commitRoot(
    threadId: string,
    from: Snapshot<N>,
    root: Root,
    carried: readonly unknown[] = [],
  ): Promise<void> {
    const store = this.#tree.stores.open(threadId);
    const metadata = this.#tree.storedRoot(root);
    const kept = carried.map((note) => envelope("user", note));
    let { revision } = from;
    let append: ChatMessage[] = kept;
    for (let attempt = 0; ; attempt++) {
      try {
        await store.commit({ drop: "all", append, metadata }, { expectedRevision: revision });
        return;
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
      }
      const page = await store.read();
      const { compactions } = this.#tree.parseRoot(threadId, page.metadata);
      if (compactions !== from.root.compactions) throw new OutdatedError("another compaction was first");
      revision = page.revision;
      const newer = page.entries.filter(({ sequence }) => sequence > from.last);
      append = [...kept, ...newer.map(({ message }) => envelope("user", message.metadata))];
    }
  }
}

function newToken(): string {
  return randomBytes(12).toString("base64url");
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
