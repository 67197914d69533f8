import type { ChatMessage, Revision, StoreFactory } from "@scrollback/store-core";
import { FORMAT_VERSION, parseMetadata } from "../format.ts";
import { threads } from "../threads.ts";
import {
  compareNewest,
  compareOldest,
  type Entry,
  fromStored,
  isCurrent,
  joinAll,
  lifeKeyOf,
  type Note,
  type Position,
  type StoredEntry,
} from "./entry.ts";

/** A leaf as the root knows it: a thread, and the revision at which it holds what the root means. */
export interface LeafRef {
  readonly id: string;
  readonly revision: Revision;
  readonly count: number;
  /** Its first entry. The leaf has all from there to the next leaf's first; the first leaf has what is before it, too. */
  readonly first: Position;
}

/** The metadata of a directory's thread. */
export interface Root {
  readonly version: typeof FORMAT_VERSION;
  /** Grows with each compaction. */
  readonly compactions: number;
  /** Newest first. */
  readonly leaves: readonly LeafRef[];
  /** Leaves that are no longer part of it, to be written over by the next compaction. */
  readonly retired: readonly Pick<LeafRef, "id" | "revision">[];
}

const EMPTY_ROOT: Root = { version: FORMAT_VERSION, compactions: 0, leaves: [], retired: [] };

/** A directory at one moment: sorted leaves, and the notes that are not in them yet. */
export interface Directory {
  readonly revision: Revision | null;
  readonly root: Root;
  readonly notes: ReadonlyMap<string, Note>;
  /** How many messages the notes are, and the sequence number of the newest. */
  readonly noteCount: number;
  readonly last: number;
}

/** Reads a directory's thread. */
export async function readDirectory(stores: StoreFactory, threadId: string): Promise<Directory> {
  const { entries, revision, metadata } = await stores.open(threadId).read();
  return {
    revision,
    root: parseMetadata<Root>(threadId, metadata) ?? EMPTY_ROOT,
    notes: joinAll(entries.map(({ message }) => noteOf(message))),
    noteCount: entries.length,
    last: entries.at(-1)?.sequence ?? 0,
  };
}

export function noteOf(message: ChatMessage): Note {
  return message.metadata as Note;
}

/** Thrown when a leaf was written over since the root was read. */
export class Outdated extends Error {}

/** The entries of a leaf, newest first. Those of a leaf that has expired are gone, as their sessions are. */
export async function readLeaf(stores: StoreFactory, leaf: LeafRef): Promise<Entry[]> {
  const page = await stores.open(threads.leaf(leaf.id)).read();
  if (page.revision === null) return [];
  if (page.revision !== leaf.revision) throw new Outdated("a leaf has changed");
  return ((page.entries[0]?.message.metadata ?? []) as StoredEntry[]).map(fromStored);
}

/** How many sessions there are at most. */
export function countAtMost({ root, notes }: Directory): number {
  return root.leaves.reduce((sum, leaf) => sum + leaf.count, notes.size);
}

/** The entries of a directory from behind `after` on, in the order asked for. Reads leaves as it comes to them. */
export async function* walk(
  stores: StoreFactory,
  directory: Directory,
  order: "desc" | "asc",
  after: Position | undefined,
): AsyncGenerator<Entry> {
  const { leaves } = directory.root;
  const moved = [...directory.notes.values()].filter((note) => !note.removed);
  const entriesOf = async (index: number): Promise<Entry[]> => {
    const leaf = leaves[index];
    const entries = leaf ? await readLeaf(stores, leaf) : [];
    const here = moved.filter((note) => indexOfLeaf(leaves, note) === index);
    return [
      ...entries.filter((entry) => isCurrent(entry, directory.notes.get(lifeKeyOf(entry)))),
      ...here,
    ].sort(compareNewest);
  };
  if (order === "desc") {
    for (let index = after ? indexOfLeaf(leaves, after) : 0; index < Math.max(1, leaves.length); index++) {
      for (const entry of await entriesOf(index)) {
        if (!after || compareNewest(entry, after) > 0) yield entry;
      }
    }
    return;
  }
  // Ties are by ascending id in both orders, so those of one time, which may lie in several leaves, are turned round.
  let ties: Entry[] = [];
  const takeTies = () => {
    const sorted = ties.sort(compareOldest).filter((entry) => !after || compareOldest(entry, after) > 0);
    ties = [];
    return sorted;
  };
  const from = after ? leaves.findLastIndex((leaf) => leaf.first.time >= after.time) : leaves.length - 1;
  for (let index = Math.max(0, from); index >= 0; index--) {
    for (const entry of (await entriesOf(index)).reverse()) {
      if (ties[0] && ties[0].time !== entry.time) yield* takeTies();
      ties.push(entry);
    }
  }
  yield* takeTies();
}

/** The leaf that has a position's place. */
export function indexOfLeaf(leaves: readonly LeafRef[], position: Position): number {
  let low = 0;
  let high = leaves.length;
  // Of the leaves from `low` on, the last whose first entry is not behind the position.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const leaf = leaves[middle];
    if (leaf && compareNewest(leaf.first, position) <= 0) low = middle;
    else high = middle;
  }
  return low;
}
