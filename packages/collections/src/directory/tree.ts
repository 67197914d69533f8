import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { envelope } from "../envelope.ts";
import { FORMAT_VERSION, parseMetadata } from "../format.ts";
import type { DirectoryLayout, Incarnate, Overlay } from "./directory-kind.ts";
import { openLeaf } from "./life.ts";
import { compareNewest, compareOldest, type Direction, type Position } from "./position.ts";

/** A leaf in the root. */
export type LeafRef = StoredLeaf | InlineLeaf;

/** The entries of a leaf. */
export interface LeafRange {
  readonly count: number;
  /** Its first entry. The leaf has all entries up to the next leaf's first; the first leaf also has the ones before. */
  readonly first: Position;
}

/** A leaf with its own thread, which is written once and never changed. */
export interface StoredLeaf extends LeafRange {
  /** Random, and never used again. */
  readonly id: string;
}

/** The content of a leaf's thread. */
export interface LeafContent {
  readonly entries: readonly unknown[];
}

/** The newest entries of a directory. They are part of the root, so that the first page needs no other thread. */
export interface InlineLeaf extends LeafRange {
  /** In the form in which a leaf's thread stores them. */
  readonly entries: readonly unknown[];
}

/** A leaf whose thread may exist, although the leaf is not part of the directory. */
export interface UnusedLeaf {
  readonly id: string;
  /** The only compaction that may write or use it. Once the directory has had this compaction, the thread can be deleted. */
  readonly compaction: number;
}

/** The metadata of a directory's thread. */
export interface Root {
  readonly version: typeof FORMAT_VERSION;
  /** Increases with each compaction. */
  readonly compactions: number;
  /** Newest first. */
  readonly leaves: readonly LeafRef[];
  /** The leaves that compactions have announced or replaced. A leaf's thread is announced here before it is written. */
  readonly unused: readonly UnusedLeaf[];
}

const EMPTY_ROOT: Root = { version: FORMAT_VERSION, compactions: 0, leaves: [], unused: [] };

/** A directory at one revision: sorted leaves, and the notes that are not sorted into them yet. */
export interface Snapshot<N> {
  readonly revision: Revision | null;
  readonly root: Root;
  /** In the order of the log. */
  readonly notes: readonly N[];
  /** When it expires, unless it is written before, in milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number | undefined;
}

/** Options of a read of leaves. */
export interface LeafOptions {
  readonly signal?: AbortSignal | undefined;
  /** Collects the ids of missing leaves. */
  readonly missing?: Set<string>;
}

/** The threads of directories of one layout. */
export class Tree<N, E extends Incarnate> {
  readonly stores: StoreFactory;
  readonly layout: DirectoryLayout<N, E>;
  readonly clock: Pick<DirectoryClock, "wall">;

  constructor(stores: StoreFactory, layout: DirectoryLayout<N, E>, clock: Pick<DirectoryClock, "wall">) {
    this.stores = stores;
    this.layout = layout;
    this.clock = clock;
  }

  /** Reads a directory's thread. */
  async read(threadId: string, signal?: AbortSignal): Promise<Snapshot<N>> {
    const page = await this.stores.open(threadId).read(signal ? { signal } : {});
    const { entries, revision, metadata, expiresAt } = page;
    return {
      ...{ revision, expiresAt },
      root: this.parseRoot(threadId, metadata),
      notes: entries.map(({ message }) => this.layout.decodeNote(message.metadata)),
    };
  }

  parseRoot(threadId: string, metadata: unknown): Root {
    const stored = parseMetadata<Root>(threadId, metadata) ?? EMPTY_ROOT;
    const leaves = stored.leaves.map((leaf) => ({ ...leaf, first: this.layout.decodePosition(leaf.first) }));
    return { ...stored, leaves };
  }

  storedRoot(root: Root): unknown {
    const leaves = root.leaves.map((leaf) => ({ ...leaf, first: this.layout.encodePosition(leaf.first) }));
    return { ...root, leaves };
  }

  /**
   * The entries of a leaf, newest first. An expired leaf has none, because its members have expired too. With `missing`, a
   * missing leaf is first treated as deleted: its id is added, and the error makes the caller read the root again.
   */
  async readLeaf(leaf: LeafRef, { signal, missing }: LeafOptions = {}): Promise<E[]> {
    if (isInline(leaf)) return leaf.entries.map((entry) => this.layout.decodeEntry(entry));
    const thread = this.stores.open(this.layout.leafThread(leaf.id));
    const [message] = (await thread.read(signal ? { signal } : {})).entries;
    if (message) {
      const { entries } = message.message.metadata as LeafContent;
      return entries.map((entry) => this.layout.decodeEntry(entry));
    }
    if (!missing || missing.has(leaf.id)) return [];
    missing.add(leaf.id);
    throw new OutdatedError("a leaf is missing");
  }

  /** Writes a leaf's thread. `expiresAt` is when its directory expires; undefined: never. */
  async writeLeaf(id: string, entries: readonly E[], expiresAt: number | undefined): Promise<void> {
    const content: LeafContent = { entries: entries.map((entry) => this.layout.encodeEntry(entry)) };
    const thread = openLeaf(this.stores, this.layout.leafThread(id), expiresAt, this.clock.wall());
    await thread.addMessages([envelope("user", content)], { expectedRevision: null });
  }

  /** Deletes the threads of leaves; a missing one is not an error. */
  async deleteLeaves(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.stores.deleteThread(this.layout.leafThread(id))));
  }

  /**
   * Iterates over the entries of a directory after `after`, in the given direction. Reads each leaf when the iteration
   * reaches it.
   */
  async *walk(
    { leaves }: Pick<Root, "leaves">,
    overlay: Overlay<E>,
    direction: Direction,
    after: Position | undefined,
    options: LeafOptions = {},
  ): AsyncGenerator<E> {
    const entriesOf = async (index: number): Promise<E[]> => {
      const leaf = leaves[index];
      const entries = leaf ? await this.readLeaf(leaf, options) : [];
      const placed = overlay.placed.filter((entry) => indexOfLeaf(leaves, entry) === index);
      return [...entries.filter((entry) => overlay.keeps(entry)), ...placed].sort(compareNewest);
    };
    if (direction === "desc") {
      for (let index = after ? indexOfLeaf(leaves, after) : 0; index < Math.max(1, leaves.length); index++) {
        for (const entry of await entriesOf(index)) {
          if (!after || compareNewest(entry, after) > 0) yield entry;
        }
      }
      return;
    }
    // Ties are by ascending key in both directions, and entries of one order number may be in several leaves.
    let ties: E[] = [];
    const takeTies = () => {
      const sorted = ties.sort(compareOldest).filter((entry) => !after || compareOldest(entry, after) > 0);
      ties = [];
      return sorted;
    };
    const from = after ? leaves.findLastIndex((leaf) => leaf.first.order >= after.order) : leaves.length - 1;
    for (let index = Math.max(0, from); index >= 0; index--) {
      for (const entry of (await entriesOf(index)).reverse()) {
        if (ties[0] && ties[0].order !== entry.order) yield* takeTies();
        ties.push(entry);
      }
    }
    yield* takeTies();
  }
}

/** The leaves that have threads of their own. */
export function storedLeaves(leaves: readonly LeafRef[]): StoredLeaf[] {
  return leaves.filter((leaf): leaf is StoredLeaf => !isInline(leaf));
}

function isInline(leaf: LeafRef): leaf is InlineLeaf {
  return "entries" in leaf;
}

/** The leaves whose threads no compaction needs any more. */
export function deletable({ unused, compactions }: Pick<Root, "unused" | "compactions">): string[] {
  return unused.filter(({ compaction }) => compaction <= compactions).map(({ id }) => id);
}

/** Thrown when the root was overwritten since it was read. Callers get it only after the last attempt. */
export class OutdatedError extends StoreError {
  constructor(problem: string) {
    const message = `another process rewrote the directory at the same time: ${problem}; try again`;
    super("UNAVAILABLE", message, { retryable: true });
  }
}

/** The index of the leaf that a position belongs to. */
export function indexOfLeaf(leaves: readonly LeafRef[], position: Position): number {
  let low = 0;
  let high = leaves.length;
  // Finds the last leaf whose first entry is not after the position.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const leaf = leaves[middle];
    if (leaf && compareNewest(leaf.first, position) <= 0) low = middle;
    else high = middle;
  }
  return low;
}
