import { type DirectoryLayout, type DirectoryRules, type Incarnate, incarnationText } from "./rules.ts";

/** A member in a directory: where it was when this was noted. */
export interface VerifiedEntry extends Incarnate {
  /** When it was noted, in milliseconds since 1970. */
  readonly notedAt: number;
}

/** A note: a member has moved, or is gone. */
export interface VerifiedNote extends VerifiedEntry {
  /** The order numbers that it may have had before. */
  readonly was: readonly number[];
  readonly removed?: true;
}

/** How directories whose entries are verified by every list are stored. */
export type VerifiedLayout = DirectoryLayout<VerifiedNote, VerifiedEntry>;

/** Two notes of one incarnation as one; `later` was written later. */
export function joinNotes(earlier: VerifiedNote, later: VerifiedNote): VerifiedNote {
  const was = [...new Set([...earlier.was, ...later.was])];
  return { ...(isOutdated(later, earlier) ? earlier : later), was };
}

/** Whether a note that was written later describes an earlier moment, as its writer was slow. */
function isOutdated(later: VerifiedNote, earlier: VerifiedNote): boolean {
  return !later.removed && (earlier.removed === true || later.version < earlier.version);
}

/** All notes of a directory, the notes of one incarnation joined. */
export function joinAll(notes: Iterable<VerifiedNote>): Map<string, VerifiedNote> {
  const joined = new Map<string, VerifiedNote>();
  for (const note of notes) {
    const key = incarnationText(note);
    const earlier = joined.get(key);
    joined.set(key, earlier ? joinNotes(earlier, note) : note);
  }
  return joined;
}

/** The rules of directories whose entries are verified by every list. */
export function verifiedRules(layout: VerifiedLayout): DirectoryRules<VerifiedNote, VerifiedEntry> {
  return {
    layout,
    sort(notes) {
      const joined = joinAll(notes);
      return {
        placed: [...joined.values()].filter((note) => !note.removed),
        outdated: [...joined.values()].flatMap(({ order, key, was }) =>
          [order, ...was].map((at) => ({ order: at, key })),
        ),
        keeps(entry) {
          const note = joined.get(incarnationText(entry));
          // The writer of a note with a lower version was slow, and a newer note has been sorted in already.
          return note === undefined || (!note.removed && note.version < entry.version);
        },
      };
    },
  };
}
