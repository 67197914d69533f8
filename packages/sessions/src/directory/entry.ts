/** Where a session stands in a directory. */
export interface Position {
  readonly time: number;
  readonly sessionId: string;
  readonly userId: string;
}

/** A session in a directory: where it stood when this was noted. */
export interface Entry extends Position {
  /** The life of the session and how many events it had: of two entries of a life the one with more is right. */
  readonly life: string;
  readonly events: number;
  /** When it was noted, in milliseconds since the epoch. */
  readonly notedAt: number;
}

/** What a directory is told: a session has moved, or is gone. */
export interface Note extends Entry {
  /** Where it may have stood before. */
  readonly was: readonly number[];
  readonly removed?: true;
}

/** Newest first; ties by id, then by user. */
export function compareNewest(a: Position, b: Position): number {
  return b.time - a.time || compareIds(a, b);
}

/** Oldest first; ties by id, then by user. */
export function compareOldest(a: Position, b: Position): number {
  return a.time - b.time || compareIds(a, b);
}

export function compareIds(a: Position, b: Position): number {
  return compareText(a.sessionId, b.sessionId) || compareText(a.userId, b.userId);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What tells sessions of a directory apart. */
export function keyOf({ sessionId, userId }: Position): string {
  return JSON.stringify([userId, sessionId]);
}

/**
 * What tells entries apart. The lives of a session have an entry each: nothing in their notes says which life came
 * first, so a late note of an ended life must not take the place of a later one.
 */
export function lifeKeyOf({ sessionId, userId, life }: Omit<Entry, "notedAt">): string {
  return JSON.stringify([userId, sessionId, life]);
}

/** Two notes of one life as one; `later` was written later. */
export function joinNotes(earlier: Note | undefined, later: Note): Note {
  if (!earlier) return later;
  const was = [...new Set([...earlier.was, ...later.was])];
  return { ...(isOutdated(later, earlier) ? earlier : later), was };
}

/** Whether a note that was written later tells of an earlier moment: its writer was slow. */
function isOutdated(later: Note, earlier: Note): boolean {
  return !later.removed && (earlier.removed === true || later.events < earlier.events);
}

/** Whether an entry of a leaf still counts beside the note that there is of its life. */
export function isCurrent(entry: Entry, note: Note | undefined): boolean {
  // The writer of a note of fewer events was slow, and a newer note has been sorted in already.
  return note === undefined || (!note.removed && note.events < entry.events);
}

/** All notes of a directory, the ones of one life joined. */
export function joinAll(notes: Iterable<Note>): Map<string, Note> {
  const joined = new Map<string, Note>();
  for (const note of notes) {
    const key = lifeKeyOf(note);
    joined.set(key, joinNotes(joined.get(key), note));
  }
  return joined;
}

/** An entry as a leaf stores it. */
export type StoredEntry = readonly [
  time: number,
  sessionId: string,
  userId: string,
  life: string,
  events: number,
  notedAt: number,
];

export function toStored({ time, sessionId, userId, life, events, notedAt }: Entry): StoredEntry {
  return [time, sessionId, userId, life, events, notedAt];
}

export function fromStored([time, sessionId, userId, life, events, notedAt]: StoredEntry): Entry {
  return { time, sessionId, userId, life, events, notedAt };
}
