import { type ChatMessage, StoreError, type StoreFactory } from "@scrollback/store-core";
import { compact } from "./compact.ts";
import { joinNotes, lifeKeyOf, type Note } from "./entry.ts";

/** How long a note that nobody waits for may wait for others. */
const DELAY_MS = 1_000;
/** One note in so many looks whether there are enough to be sorted in, whichever process writes it. */
const LOOK_EVERY = 64;

/**
 * Writes the notes of one directory: all that have come up in one commit, one commit at a time. It needs to know nothing
 * of what is there, so it never meets another writer.
 */
export class NoteQueue {
  readonly #stores: StoreFactory;
  readonly #threadId: string;
  #waiting = new Map<string, Note>();
  #writing: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(stores: StoreFactory, threadId: string) {
    this.#stores = stores;
    this.#threadId = threadId;
  }

  /** Whether nothing waits and nothing is under way. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && !this.#writing && !this.#compacting;
  }

  /** Takes a note that is written within a second. */
  add(note: Note): void {
    this.#put(note);
    this.#timer ??= setTimeout(() => {
      // It stays in the queue, for the next one that is written.
      this.write().catch(() => undefined);
    }, DELAY_MS);
  }

  /** Takes a note and returns when it is written. */
  async addNow(note: Note): Promise<void> {
    this.#put(note);
    await this.write();
  }

  /** Returns when all notes that were taken are written. */
  async write(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#waiting.size === 0) return;
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Writes what waits, and returns when nothing is under way any more. */
  async settle(): Promise<void> {
    await this.write();
    await this.#compacting;
  }

  #put(note: Note): void {
    const key = lifeKeyOf(note);
    this.#waiting.set(key, joinNotes(this.#waiting.get(key), note));
  }

  async #writeBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting;
    this.#waiting = new Map();
    const messages = [...batch.values()].map(
      (note): ChatMessage => ({ role: "user", content: "", metadata: note }),
    );
    try {
      await this.#stores.open(this.#threadId).addMessages(messages);
    } catch (error) {
      if (!StoreError.is(error, "CLOSED")) {
        for (const [key, note] of this.#waiting) batch.set(key, joinNotes(batch.get(key), note));
        this.#waiting = batch;
      }
      throw error;
    }
    if (Math.random() * LOOK_EVERY < messages.length) this.#compact();
  }

  #compact(): void {
    this.#compacting ??= compact(this.#stores, this.#threadId)
      // What could not be sorted in now is sorted in later.
      .catch(() => undefined)
      .finally(() => {
        this.#compacting = undefined;
      });
  }
}
