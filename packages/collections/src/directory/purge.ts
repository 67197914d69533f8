import type { Revision, StoreFactory } from "@scrollback/store-core";
import type { Compactor } from "./compact.ts";
import { incarnationText } from "./directory-kind.ts";
import {
  applyNotes,
  type IncarnationState,
  type MarkedEntry,
  type MarkedNote,
  type MarkSemantics,
} from "./marked-notes.ts";
import { type Key, keyText, type Position } from "./position.ts";
import { indexOfLeaf, type LeafRef, type RetiredLeaf, type Tree } from "./tree.ts";

/** The dependencies of {@link purge}. */
export interface PurgeParts<V> {
  readonly tree: Tree<MarkedNote<V>, MarkedEntry<V>>;
  readonly compactor: Compactor<MarkedNote<V>, MarkedEntry<V>>;
  readonly deleteThread: StoreFactory["deleteThread"];
  readonly semantics: MarkSemantics;
}

/** The member to purge. */
export interface Purged {
  readonly key: Key;
  readonly incarnation: string;
  /** The order numbers that the member may have in a leaf. If there are none, every leaf may be read. */
  readonly orders: readonly number[];
  /** The mark of this process. `orders` includes what was written under it. */
  readonly ownMark?: string | undefined;
  /** Purges only while no other mark of the incarnation is open, because it may be under creation. Default: purges anyway. */
  readonly deadMarks?: readonly string[] | undefined;
}

type ReadLeaf<V> = (leaf: LeafRef) => Promise<MarkedEntry<V>[]>;

/**
 * Drops the notes and the entries of some incarnations in one commit, then deletes the leaves that it replaced now or
 * earlier. If the process dies before that, a later purge or compaction removes their content.
 *
 * @throws OutdatedError, or StoreError `CONFLICT`, when another compaction was first.
 */
export async function purge<V>(
  { tree, compactor, deleteThread, semantics }: PurgeParts<V>,
  threadId: string,
  members: readonly Purged[],
): Promise<void> {
  const snapshot = await tree.read(threadId);
  if (snapshot.revision === null) return;
  const reads = new Map<LeafRef, Promise<MarkedEntry<V>[]>>();
  const readLeaf: ReadLeaf<V> = (leaf) => {
    const read = reads.get(leaf) ?? tree.readLeaf(leaf);
    reads.set(leaf, read);
    return read;
  };
  const state = applyNotes(snapshot.notes, semantics);
  const purged = new Map<string, Purged>();
  const outdated: Position[] = [];
  for (const member of members) {
    const noted = state.get(keyText(member))?.get(member.incarnation);
    const { deadMarks } = member;
    if (deadMarks && [...(noted?.marks.keys() ?? [])].some((token) => !deadMarks.includes(token))) continue;
    purged.set(incarnationText(member), member);
    outdated.push(...(await positionsOf(snapshot.root.leaves, readLeaf, member, noted)));
  }
  const isPurged = (one: MarkedNote<V> | MarkedEntry<V>) => purged.has(incarnationText(one));
  const isClosed = (note: MarkedNote<V>) =>
    note.marks &&
    [...purged.values()].some(
      (member) => keyText(note) === keyText(member) && semantics.closes(member.incarnation, note.incarnation),
    );
  const kept = snapshot.notes.filter((note) => !isPurged(note) && !isClosed(note));
  await deleteLeaves(tree, deleteThread, snapshot.root.retired);
  if (kept.length === snapshot.notes.length && outdated.length === 0) return;
  const keeps = (entry: MarkedEntry<V>) => !isPurged(entry);
  // Leaves are written to new threads, so that no old thread keeps data of the members.
  const from = { ...snapshot, root: { ...snapshot.root, retired: [] } };
  const next = await compactor.rebuild(from, { placed: [], outdated, keeps }, readLeaf);
  await compactor.commitRoot(threadId, snapshot, next, kept.map(tree.layout.encodeNote));
  await deleteLeaves(tree, deleteThread, next.retired);
}

/** The member's positions in the leaves: those that the notes name, or else found by reading all leaves. */
async function positionsOf<V>(
  leaves: readonly LeafRef[],
  readLeaf: ReadLeaf<V>,
  { key, incarnation, orders, ownMark }: Purged,
  noted: IncarnationState<V> | undefined,
): Promise<Position[]> {
  const text = incarnationText({ key, incarnation });
  const candidates = [...orders, ...(noted?.entry ? [noted.entry.order] : []), ...(noted?.was ?? [])];
  const search = async (indexes: Iterable<number>) => {
    const found: Position[] = [];
    for (const index of new Set(indexes)) {
      const leaf = leaves[index];
      const entries = leaf ? await readLeaf(leaf) : [];
      found.push(...entries.filter((entry) => incarnationText(entry) === text));
    }
    return found;
  };
  const found = await search(candidates.map((at) => indexOfLeaf(leaves, { order: at, key })));
  // Another process may have moved the member under its own mark, without a note so far.
  const isComplete =
    orders.length > 0 &&
    !noted?.isLost &&
    [...(noted?.marks.keys() ?? [])].every((token) => token === ownMark);
  return isComplete || found.length > 0 ? found : await search(leaves.keys());
}

/** Deletes the leaves that were not overwritten in the meantime. */
export async function deleteLeaves<V>(
  tree: Tree<MarkedNote<V>, MarkedEntry<V>>,
  deleteThread: StoreFactory["deleteThread"],
  leaves: readonly RetiredLeaf[],
): Promise<void> {
  const remove = (thread: string, expectedRevision: Revision) => deleteThread(thread, { expectedRevision });
  await Promise.all(leaves.map((leaf) => tree.changeLeaf(leaf, remove)));
}
