import { StoreError, type StoreFactory } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import { envelope } from "../envelope.ts";

/** The maximum delay of a note that no caller waits for. */
const DELAY_MS = 1_000;
/** On average every 64th note checks whether there are enough notes to compact, across all processes. */
const CHECK_EVERY = 64;

/** What a queue of notes needs. */
export interface NoteQueueParts<N> {
  readonly stores: StoreFactory;
  readonly threadId: string;
  readonly clock: DirectoryClock;
  /** Waiting notes with the same text are joined. */
  keyOf(note: N): string;
  join(earlier: N, later: N): N;
  encode(note: N): unknown;
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
    const { stores, threadId, clock, encode } = this.#parts;
    const messages = [...batch.values()].map((note) => envelope("user", encode(note)));
    try {
      await stores.open(threadId).addMessages(messages);
    } catch (error) {
      if (!StoreError.is(error, "CLOSED")) {
        for (const note of this.#waiting.values()) putInto(batch, this.#parts, note);
        this.#waiting = batch;
      }
      throw error;
    }
    if (clock.random() * CHECK_EVERY < messages.length) this.#compact();
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
