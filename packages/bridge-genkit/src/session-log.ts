import { envelope, parseMetadata, valueOf as valueIn } from "@scrollback/collections";
import { type MessageStore, type Revision, StoreError } from "@scrollback/store-core";

const FORMAT = { version: 1 } as const;
const owner = { package: "@scrollback/bridge-genkit", kind: "Genkit session" };
/** The average number of notes between two rewrites of a log, and the least number of notes for one. */
const REWRITE_AT = 64;
/** Ancestors of a leaf that are kept: where a leaf turns out not to exist, its parent is one. */
const KEPT_ANCESTORS = 2;

/** A snapshot of a session, as the session's log has it. */
export interface SnapshotNote {
  readonly id: string;
  readonly parentId?: string | undefined;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** What the log of a session says, by snapshot. */
export type SnapshotNotes = Map<string, SnapshotNote>;

/** Which snapshots a session has. A snapshot is noted before it is written, so a note may have none. */
export class SessionLog {
  readonly #store: MessageStore;

  constructor(store: MessageStore) {
    this.#store = store;
  }

  async note(note: SnapshotNote): Promise<void> {
    await this.#store.commit({ append: [envelope("user", note)], metadata: FORMAT });
    if (Math.random() * REWRITE_AT < 1) await this.#rewrite();
  }

  /**
   * Notes a snapshot again, after it was written. So a deletion that has read the log before starts again, and after a
   * deletion the log names the snapshot. Always one commit: saves that begin in one order also end in it.
   */
  async confirm(note: SnapshotNote): Promise<void> {
    await this.#store.commit({ append: [envelope("user", note)], metadata: FORMAT });
  }

  /** Lets the log live as long as what is written now. */
  async touch(): Promise<void> {
    await this.#store.commit({ metadata: FORMAT });
  }

  /** The notes in the order of the log; the last one of a snapshot counts. */
  async read(): Promise<{ notes: SnapshotNotes; revision: Revision | null; length: number }> {
    const { entries, revision, metadata } = await this.#store.read();
    parseMetadata<typeof FORMAT>(this.#store.threadId, metadata, owner);
    const notes: SnapshotNotes = new Map();
    for (const { message } of entries) {
      const note = valueIn<SnapshotNote>(message);
      notes.set(note.id, note);
    }
    return { notes, revision, length: entries.length };
  }

  /** Keeps the leaves and what is near them. Another writer may be first, and then a later note does it. */
  async #rewrite(): Promise<void> {
    const { notes, revision, length } = await this.read();
    if (length < REWRITE_AT) return;
    const kept = new Set<string>();
    for (const leaf of leavesOf(notes)) {
      let note: SnapshotNote | undefined = leaf;
      for (let depth = 0; note && depth <= KEPT_ANCESTORS; depth++) {
        kept.add(note.id);
        note = note.parentId === undefined ? undefined : notes.get(note.parentId);
      }
    }
    // Without leaves the history is a cycle, which a lookup reports.
    if (kept.size === 0) return;
    const append = [...notes.values()].filter(({ id }) => kept.has(id)).map((note) => envelope("user", note));
    try {
      await this.#store.commit({ drop: "all", append }, { expectedRevision: revision });
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  }
}

/** The snapshots without a child. */
export function leavesOf(notes: SnapshotNotes): SnapshotNote[] {
  const parents = new Set([...notes.values()].map(({ parentId }) => parentId));
  return [...notes.values()].filter(({ id }) => !parents.has(id));
}

/** The leaf that was created last. */
export function newestOf(leaves: readonly SnapshotNote[]): SnapshotNote | undefined {
  const [first, ...others] = leaves;
  return others.reduce(
    (newest, leaf) => (newest && leaf.createdAt > newest.createdAt ? leaf : newest),
    first,
  );
}
