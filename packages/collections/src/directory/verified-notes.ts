import {
  type DirectoryKind,
  type DirectoryLayout,
  type Incarnate,
  incarnationText,
} from "./directory-kind.ts";

/** A member in a directory, with its position at the time of the note. */
export interface VerifiedEntry extends Incarnate {
  /** When it was noted, in milliseconds since 1970. */
  readonly notedAt: number;
}

/** A note: a member has moved or was removed. */
export interface VerifiedNote extends VerifiedEntry {
  /** Its possible previous order numbers. */
  readonly was: readonly number[];
  readonly removed?: true;
}

/** The layout of directories whose lists verify every entry. */
export type VerifiedLayout = DirectoryLayout<VerifiedNote, VerifiedEntry>;

/** Joins two notes of one incarnation; `later` was written later. */
export function joinNotes(earlier: VerifiedNote, later: VerifiedNote): VerifiedNote {
  const was = [...new Set([...earlier.was, ...later.was])];
  return { ...(isOutdated(later, earlier) ? earlier : later), was };
}

/** Whether the note that was written later describes an earlier state, because its writer was slow. */
function isOutdated(later: VerifiedNote, earlier: VerifiedNote): boolean {
  return !later.removed && (earlier.removed === true || later.version < earlier.version);
}

/** All notes of a directory; the notes of one incarnation are joined. */
export function joinAll(notes: Iterable<VerifiedNote>): Map<string, VerifiedNote> {
  const joined = new Map<string, VerifiedNote>();
  for (const note of notes) {
    const key = incarnationText(note);
    const earlier = joined.get(key);
    joined.set(key, earlier ? joinNotes(earlier, note) : note);
  }
  return joined;
}

/** The kind of directories whose lists verify every entry. */
export function verifiedKind(layout: VerifiedLayout): DirectoryKind<VerifiedNote, VerifiedEntry> {
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
          // The writer of a note with a lower version was slow, and a newer note is already in a leaf.
          return note === undefined || (!note.removed && note.version < entry.version);
        },
      };
    },
  };
}
