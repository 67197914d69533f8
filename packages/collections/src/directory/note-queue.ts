import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { envelope } from "../envelope.ts";

/** The maximum delay of a note that no caller waits for. */
const DELAY_MS = 1_000;
/** On average every 64th note checks whether there are enough notes to compact, across all processes. */
const CHECK_EVERY = 64;

/** A batch that loses this many races is written without its check. */
const MAX_ATTEMPTS = 5;

/** The notes of a batch that the directory at one revision still needs. */
export interface NeededNotes<N> {
  readonly notes: readonly N[];
  readonly revision: Revision | null;
}

/** The dependencies of a {@link NoteQueue}. */
export interface NoteQueueParts<N> {
  readonly stores: StoreFactory;
  readonly threadId: string;
  readonly clock: DirectoryClock;
  /** Waiting notes with the same text are joined. */
  keyOf(note: N): string;
  join(earlier: N, later: N): N;
  encode(note: N): unknown;
  /**
   * Reads the directory and omits the notes of members that were removed. Absent if all notes are always needed.
   * Called only for batches of which `isConditional` is true for all notes, and only if another process may have written.
   */
  readonly needed?: (batch: readonly N[]) => Promise<NeededNotes<N>>;
  /** Whether a note applies only if the directory already contains its member. */
  readonly isConditional?: (note: N) => boolean;
  /** Sorts the notes of the directory into leaves. */
  compact(): Promise<void>;
}

/**
 * Writes the notes of one directory: all waiting notes in one commit, one commit at a time. It does not need to know the
 * directory's content, so writers never conflict.
 */
export class NoteQueue<N> {
  readonly #parts: NoteQueueParts<N>;
  #waiting = new Map<string, N>();
  #writing: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  /** The directory's revision after the last batch of this process. Undefined if it is unknown. */
  #revision: Revision | undefined;

  constructor(parts: NoteQueueParts<N>) {
    this.#parts = parts;
  }

  /** Whether nothing is waiting or running. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && !this.#writing && !this.#compacting;
  }

  /** Adds a note, which is written within a second. */
  add(note: N): void {
    this.#put(note);
    this.#cancelTimer ??= this.#parts.clock.timer(DELAY_MS, () => {
      this.#cancelTimer = undefined;
      // A note that was not written stays in the queue for the next write.
      this.write().catch(() => undefined);
    });
  }

  /** Drops the waiting note with this text, and returns it. */
  drop(text: string): N | undefined {
    const note = this.#waiting.get(text);
    this.#waiting.delete(text);
    return note;
  }

  /** Adds a note and returns when it is written. */
  async addNow(note: N): Promise<void> {
    this.#put(note);
    await this.write();
  }

  /** Returns when all added notes are written. */
  async write(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#waiting.size === 0) return;
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Writes the waiting notes and returns when nothing is running. */
  async flush(): Promise<void> {
    await this.write();
    await this.#compacting;
  }

  #put(note: N): void {
    putInto(this.#waiting, this.#parts, note);
  }

  async #writeBatch(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const batch = this.#waiting;
    this.#waiting = new Map();
    const { clock } = this.#parts;
    let written = 0;
    try {
      written = await this.#writeNotes([...batch.values()]);
    } catch (error) {
      if (!StoreError.is(error, "CLOSED")) {
        for (const note of this.#waiting.values()) putInto(batch, this.#parts, note);
        this.#waiting = batch;
      }
      throw error;
    }
    if (clock.random() * CHECK_EVERY < written) this.#compact();
  }

  /** Returns the number of written notes. */
  async #writeNotes(batch: readonly N[]): Promise<number> {
    const { needed, isConditional } = this.#parts;
    let expected = this.#revision;
    if (!needed || !batch.every((note) => isConditional?.(note))) return await this.#add(batch);
    let notes = batch;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (expected === undefined) {
        const found = await needed(batch);
        notes = found.notes;
        if (notes.length === 0 || found.revision === null) return 0;
        expected = found.revision;
      }
      try {
        return await this.#add(notes, expected);
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
      expected = undefined;
    }
    return await this.#add(notes);
  }

  async #add(notes: readonly N[], expectedRevision?: Revision): Promise<number> {
    const { stores, threadId, encode } = this.#parts;
    const messages = notes.map((note) => envelope("user", encode(note)));
    // Unknown until the outcome is known.
    this.#revision = undefined;
    const condition = expectedRevision === undefined ? {} : { expectedRevision };
    this.#revision = (await stores.open(threadId).addMessages(messages, condition)) ?? undefined;
    return notes.length;
  }

  #compact(): void {
    this.#compacting ??= this.#parts
      .compact()
      // Notes that could not be compacted now are compacted later.
      .catch(() => undefined)
      .finally(() => {
        this.#compacting = undefined;
      });
  }
}

function putInto<N>(waiting: Map<string, N>, { keyOf, join }: NoteQueueParts<N>, note: N): void {
  const key = keyOf(note);
  const earlier = waiting.get(key);
  waiting.set(key, earlier === undefined ? note : join(earlier, note));
}
