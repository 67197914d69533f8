import { envelope, parseMetadata, valueOf as valueIn } from "@scrollback/collections";
import { type MessageStore, type Revision, StoreError } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";

const FORMAT = { version: 1 } as const;
const owner = { package: "@scrollback/bridge-genkit", kind: "Genkit session" };
/** The minimum number of notes of a log that is shortened. */
const SHORTEN_AT = 64;
/** The number of ancestors to keep per leaf: if a noted leaf does not exist, its parent is a leaf. */
const KEPT_ANCESTORS = 2;

/** The note of a snapshot in the log of its session. */
export interface SnapshotNote {
  readonly id: string;
  readonly parentId?: string | undefined;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** The notes of a session's log, by snapshot id. */
export type SnapshotNotes = Map<string, SnapshotNote>;

/** The content of a log at one revision. */
export interface SessionLogContent {
  /** In the order of the log. The last note of a snapshot counts. */
  readonly notes: SnapshotNotes;
  readonly revision: Revision | null;
  /** The number of notes, including repeated ones. */
  readonly length: number;
}

/** The log of a session's snapshots. A snapshot is noted before it is written, so the snapshot of a note may not exist. */
export class SessionLog {
  readonly #store: MessageStore;

  constructor(store: MessageStore) {
    this.#store = store;
  }

  /**
   * Notes a snapshot. Called before the snapshot is written, and again afterwards. So a deletion that has read the log earlier
   * starts again, and after a deletion the log names the snapshot. Always one commit, so that saves end in the order in which
   * they begin.
   */
  async note(note: SnapshotNote): Promise<void> {
    await this.#store.commit({ append: [envelope("user", note)], metadata: FORMAT });
  }

  /** Renews the expiry of the log, so that it does not expire before a snapshot that is written now. */
  async touch(): Promise<void> {
    await this.#store.commit({ metadata: FORMAT });
  }

  async read(): Promise<SessionLogContent> {
    const { entries, revision, metadata } = await this.#store.read();
    parseMetadata<typeof FORMAT>(this.#store.threadId, metadata, owner);
    const notes: SnapshotNotes = new Map();
    for (const { message } of entries) {
      const note = valueIn<SnapshotNote>(message, isObject);
      notes.set(note.id, note);
    }
    return { notes, revision, length: entries.length };
  }

  /**
   * Shortens a long log to the leaves and their nearest ancestors, in one commit, if this halves it. Called by lookups, which
   * have read the log anyway; in a save it would let saves that begin later end earlier. A `StoreError` is ignored: the next
   * lookup retries.
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

/** The most recently created leaf. */
export function newestOf(leaves: readonly SnapshotNote[]): SnapshotNote | undefined {
  const [first, ...others] = leaves;
  return others.reduce(
    (newest, leaf) => (newest && leaf.createdAt > newest.createdAt ? leaf : newest),
    first,
  );
}
