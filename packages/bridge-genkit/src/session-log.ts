import { envelope, parseMetadata, valueOf as valueIn } from "@scrollback/collections";
import { type MessageStore, type Revision, StoreError } from "@scrollback/store-core";

const FORMAT = { version: 1 } as const;
const owner = { package: "@scrollback/bridge-genkit", kind: "Genkit session" };
/** A log with fewer notes is not shortened. */
const SHORTEN_AT = 64;
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

/** A log as it was at a revision. */
export interface SessionLogContent {
  /** In the order of the log; the last one of a snapshot counts. */
  readonly notes: SnapshotNotes;
  readonly revision: Revision | null;
  /** The number of notes, with those that were noted again. */
  readonly length: number;
}

/** Which snapshots a session has. A snapshot is noted before it is written, so a note may have none. */
export class SessionLog {
  readonly #store: MessageStore;

  constructor(store: MessageStore) {
    this.#store = store;
  }

  /**
   * Notes a snapshot before it is written, and again after it: so a deletion that has read the log before starts again, and
   * after a deletion the log names the snapshot. Always one commit: saves that begin in one order also end in it.
   */
  async note(note: SnapshotNote): Promise<void> {
    await this.#store.commit({ append: [envelope("user", note)], metadata: FORMAT });
  }

  /** Lets the log live as long as what is written now. */
  async touch(): Promise<void> {
    await this.#store.commit({ metadata: FORMAT });
  }

  async read(): Promise<SessionLogContent> {
    const { entries, revision, metadata } = await this.#store.read();
    parseMetadata<typeof FORMAT>(this.#store.threadId, metadata, owner);
    const notes: SnapshotNotes = new Map();
    for (const { message } of entries) {
      const note = valueIn<SnapshotNote>(message);
      notes.set(note.id, note);
    }
    return { notes, revision, length: entries.length };
  }

  /**
   * Keeps the leaves and what is near them, in one commit, where this halves a long log. Called by lookups, which have read the
   * log anyway; a save would take longer than one that began after it. Upkeep only: what fails here is tried by the next lookup.
   */
  async shorten({ notes, revision, length }: SessionLogContent): Promise<void> {
    if (length < SHORTEN_AT) return;
    const kept = new Set<string>();
    for (const leaf of leavesOf(notes)) {
      let note: SnapshotNote | undefined = leaf;
      for (let depth = 0; note && depth <= KEPT_ANCESTORS; depth++) {
        kept.add(note.id);
        note = note.parentId === undefined ? undefined : notes.get(note.parentId);
      }
    }
    // Without leaves the history is a cycle, which a lookup reports.
    if (kept.size === 0 || 2 * kept.size > length) return;
    const append = [...notes.values()].filter(({ id }) => kept.has(id)).map((note) => envelope("user", note));
    try {
      await this.#store.commit({ drop: "all", append }, { expectedRevision: revision });
    } catch (error) {
      if (!StoreError.is(error)) throw error;
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
