import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { envelope } from "../envelope.ts";
import { extending, openDirectory } from "./life.ts";

/** The maximum delay of a note that no caller waits for. */
const DELAY_MS = 1_000;
/** On average every 64th note checks whether there are enough notes to compact, across all processes. */
const CHECK_EVERY = 64;

/** The conditional notes of a batch that loses this many races wait for the next batch. */
const MAX_ATTEMPTS = 5;

/** The open marks of a directory at one revision. */
export interface KnownMarks {
  readonly revision: Revision | null;
  /** Their tokens. */
  readonly open: ReadonlySet<string>;
}

/** How the notes of a directory depend on open marks. */
export interface MarkRules<N> {
  /** Whether a note has an effect only while one of its marks is open. */
  isConditional(note: N): boolean;
  /** The part of a conditional note that has an effect; undefined if there is none. */
  effectOf(note: N, open: ReadonlySet<string>): N | undefined;
  /** The open marks after a note was added. */
  after(note: N, open: ReadonlySet<string>): ReadonlySet<string>;
  /** Reads the directory. */
  read(): Promise<KnownMarks>;
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
  /** Absent if all notes always have an effect. */
  readonly marks?: MarkRules<N>;
  /** Sorts the notes of the directory into leaves. */
  compact(): Promise<void>;
}

/**
 * Writes the notes of one directory: all waiting notes in one commit, one commit at a time. Only conditional notes need to know
 * the directory's marks. They are written at the revision whose marks are known, so that no note brings a removed member back.
 */
export class NoteQueue<N> {
  readonly #parts: NoteQueueParts<N>;
  #waiting = new Map<string, N>();
  #writing: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  /** The open marks after the last batch of this process; undefined if they are unknown. */
  #known: KnownMarks | undefined;

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
    this.#writeLater();
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

  /** Call it when this process has rewritten the directory: a commit at the last known revision would fail. */
  forgetMarks(): void {
    this.#known = undefined;
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
    do await this.write();
    while (this.#waiting.size > 0);
    await this.#compacting;
  }

  #writeLater(): void {
    this.#cancelTimer ??= this.#parts.clock.timer(DELAY_MS, () => {
      this.#cancelTimer = undefined;
      // A note that was not written stays in the queue for the next write.
      this.write().catch(() => undefined);
    });
  }

  #put(note: N): void {
    const { keyOf, join } = this.#parts;
    const key = keyOf(note);
    const earlier = this.#waiting.get(key);
    this.#waiting.set(key, earlier === undefined ? note : join(earlier, note));
  }

  async #writeBatch(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const batch = this.#waiting;
    this.#waiting = new Map();
    const { clock } = this.#parts;
    let written = 0;
    let left: readonly N[] = [];
    try {
      ({ written, left } = await this.#writeNotes([...batch.values()]));
    } catch (error) {
      if (!StoreError.is(error, "CLOSED")) this.#putBack(batch.values());
      throw error;
    }
    if (left.length > 0) {
      this.#putBack(left);
      this.#writeLater();
    }
    if (clock.random() * CHECK_EVERY < written) this.#compact();
  }

  /** Adds notes in front of those that wait already. */
  #putBack(notes: Iterable<N>): void {
    const later = this.#waiting;
    this.#waiting = new Map();
    for (const note of [...notes, ...later.values()]) this.#put(note);
  }

  /** Returns the number of written notes, and the notes that wait for the next batch. */
  async #writeNotes(batch: readonly N[]): Promise<{ written: number; left: readonly N[] }> {
    const { marks } = this.#parts;
    const conditional = marks ? batch.filter((note) => marks.isConditional(note)) : [];
    if (!marks || conditional.length === 0) return { written: await this.#addAnyway(batch), left: [] };
    const others = batch.filter((note) => !marks.isConditional(note));
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      this.#known ??= await marks.read();
      const known = this.#known;
      const effects = conditional.flatMap((note) => marks.effectOf(note, known.open) ?? []);
      if (effects.length === 0) return { written: await this.#addAnyway(others), left: [] };
      try {
        return { written: await this.#add([...others, ...effects], known), left: [] };
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
    }
    return { written: await this.#addAnyway(others), left: conditional };
  }

  /** Adds notes to the directory at any revision. */
  async #addAnyway(notes: readonly N[]): Promise<number> {
    if (notes.length === 0) return 0;
    try {
      if (this.#known) return await this.#add(notes, this.#known);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
    return await this.#add(notes);
  }

  /** @throws StoreError `CONFLICT` if the directory is not at the known revision. */
  async #add(notes: readonly N[], known?: KnownMarks): Promise<number> {
    const { stores, threadId, encode, marks } = this.#parts;
    const messages = notes.map((note) => envelope("user", encode(note)));
    const options = { ...extending, ...(known && { expectedRevision: known.revision }) };
    // Unknown until the outcome is known.
    this.#known = undefined;
    const revision = await openDirectory(stores, threadId).addMessages(messages, options);
    if (known && marks)
      this.#known = {
        revision,
        open: notes.reduce((open, note) => marks.after(note, open), known.open),
      };
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
