import type { Compactor, ReadLeaf } from "./compact.ts";
import { incarnationText } from "./directory-kind.ts";
import {
  applyNotes,
  type IncarnationState,
  type MarkedEntry,
  type MarkedNote,
  type MarkSemantics,
} from "./marked-notes.ts";
import { type Key, keyText, type Position } from "./position.ts";
import { indexOfLeaf, type LeafRef } from "./tree.ts";

/** The dependencies of {@link purge}. */
export interface PurgeParts<V> {
  readonly compactor: Compactor<MarkedNote<V>, MarkedEntry<V>>;
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

/**
 * Drops the notes and the entries of some incarnations in one commit, then deletes the leaves that it replaced, and those that
 * dead processes have left. If the process dies before that, a later purge or compaction deletes them.
 *
 * @throws OutdatedError when another compaction was first.
 */
export async function purge<V>(
  { compactor, semantics }: PurgeParts<V>,
  threadId: string,
  members: readonly Purged[],
): Promise<void> {
  await compactor.rewrite(threadId, async ({ root, notes }, readLeaf) => {
    const state = applyNotes(notes, semantics);
    const purged = new Map<string, Purged>();
    const outdated: Position[] = [];
    for (const member of members) {
      const noted = state.get(keyText(member))?.get(member.incarnation);
      const { deadMarks } = member;
      if (deadMarks && [...(noted?.marks.keys() ?? [])].some((token) => !deadMarks.includes(token))) continue;
      purged.set(incarnationText(member), member);
      outdated.push(...(await positionsOf(root.leaves, readLeaf, member, noted)));
    }
    const isPurged = (one: MarkedNote<V> | MarkedEntry<V>) => purged.has(incarnationText(one));
    const isClosed = (note: MarkedNote<V>) =>
      note.marks &&
      [...purged.values()].some(
        (member) =>
          keyText(note) === keyText(member) && semantics.closes(member.incarnation, note.incarnation),
      );
    // A member that was under creation may get a new mark.
    const ended = new Set(members.filter(({ deadMarks }) => !deadMarks).map(incarnationText));
    const drops = (note: MarkedNote<V>) => ended.has(incarnationText(note));
    const carried = notes.filter((note) => !isPurged(note) && !isClosed(note));
    if (carried.length === notes.length && outdated.length === 0) return undefined;
    return { placed: [], outdated, keeps: (entry) => !isPurged(entry), drops, carried };
  });
}

/** The member's positions in the leaves: those that the notes name, or else found by reading all leaves. */
async function positionsOf<V>(
  leaves: readonly LeafRef[],
  readLeaf: ReadLeaf<MarkedEntry<V>>,
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
