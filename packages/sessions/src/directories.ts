import {
  type DirectoryClock,
  type Position as GenericPosition,
  VerifiedDirectories,
  type VerifiedEntry,
  type VerifiedLayout,
  type VerifiedNote,
} from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import { formatToken } from "./page-token.ts";
import type { Position } from "./position.ts";
import type { SessionKey } from "./session.ts";
import type { Head } from "./session-thread.ts";
import { threads } from "./threads.ts";

/** A session has moved or was removed. */
export interface SessionNote extends Position {
  readonly incarnation: string;
  readonly events: number;
  /** Its possible previous times. */
  readonly was: readonly number[];
  readonly removed?: true;
}

/** A note as stored. */
interface StoredNote extends Position {
  readonly incarnation: string;
  readonly events: number;
  readonly was: readonly number[];
  readonly notedAt: number;
  readonly removed?: true;
}

/** An entry as a leaf stores it. */
type StoredEntry = readonly [
  time: number,
  sessionId: string,
  userId: string,
  incarnation: string,
  events: number,
  notedAt: number,
];

const layout: VerifiedLayout = {
  leafThread: threads.leaf,
  encodeNote({ order, key, incarnation, version: events, notedAt, was, removed }): StoredNote {
    return {
      ...storedPosition({ order, key }),
      incarnation,
      events,
      was,
      ...(removed && { removed }),
      notedAt,
    };
  },
  decodeNote(stored): VerifiedNote {
    const { was, removed, ...note } = stored as StoredNote;
    return { ...entryOf(note), was, ...(removed && { removed }) };
  },
  encodeEntry({ order, key, incarnation, version, notedAt }): StoredEntry {
    const [sessionId = "", userId = ""] = key;
    return [order, sessionId, userId, incarnation, version, notedAt];
  },
  decodeEntry(stored) {
    const [time, sessionId, userId, incarnation, events, notedAt] = stored as StoredEntry;
    return entryOf({ time, sessionId, userId, incarnation, events, notedAt });
  },
  encodePosition: storedPosition,
  decodePosition: (stored) => genericPosition(stored as Position),
};

function entryOf({
  incarnation,
  events,
  notedAt,
  ...position
}: Omit<StoredNote, "was" | "removed">): VerifiedEntry {
  return { ...genericPosition(position), incarnation, version: events, notedAt };
}

function genericPosition({ time, sessionId, userId }: Position): GenericPosition {
  return { order: time, key: [sessionId, userId] };
}

function storedPosition({ order: time, key }: GenericPosition): Position {
  const [sessionId = "", userId = ""] = key;
  return { time, sessionId, userId };
}

/** A session as its directory has it. */
export interface Listed extends Position {
  readonly incarnation: string;
  readonly events: number;
}
/** Reads a session; returns undefined if there is none. */
export type Look<T> = (listed: Listed) => Promise<(T & { readonly head: HeadOf }) | undefined>;
/**
 * Makes every running creation of a session start over, so that its entry can be removed. Resolves to false if the session
 * exists.
 */
export type Refuse = (position: Position) => Promise<boolean>;
interface HeadOf {
  readonly incarnation: string;
  readonly events: number;
  readonly lastUpdateTime: number;
}

/** The request of {@link Directories.page}. */
export interface PageRequest {
  readonly order: "desc" | "asc";
  readonly after: Position | undefined;
  readonly limit: number;
}

/** The directories of all sessions of an app, and of all sessions of a user. */
export class Directories {
  readonly #directories: VerifiedDirectories;
  readonly #expires: boolean;

  constructor(stores: StoreFactory, clock?: DirectoryClock) {
    this.#directories = new VerifiedDirectories({ stores, layout, clock });
    this.#expires = stores.settings.ttlMs !== undefined;
  }

  /** Notes a session in both of its directories and returns when the notes are written. */
  async noteNow(appName: string, note: SessionNote): Promise<void> {
    const generic = genericNote(note);
    await Promise.all(
      directoriesOf(appName, note).map((threadId) => this.#directories.noteNow(threadId, generic)),
    );
  }

  /** Notes a moved session; the note is written within a second. */
  note(appName: string, note: SessionNote): void {
    for (const threadId of directoriesOf(appName, note)) this.#directories.note(threadId, genericNote(note));
  }

  /**
   * Notes a session that was written. If only its life has changed, a note is needed too: the directory and the leaf of the session
   * must exist for as long.
   */
  noteWritten({ appName, userId, sessionId }: SessionKey, head: Head, before: Head): void {
    const { incarnation, events, lastUpdateTime: time } = head;
    if (time === before.lastUpdateTime && !this.#expires) return;
    this.note(appName, { time, sessionId, userId, incarnation, events, was: [before.lastUpdateTime] });
  }

  /** Returns when all notes are written. */
  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  /** Sorts the notes of a directory into its leaves if there are at least 128. Also runs automatically. */
  async compact(threadId: string): Promise<void> {
    await this.#directories.compact(threadId);
  }

  /** Sorts all notes of an app's directory into its leaves, so that nothing of deleted sessions is left in it. */
  async sortNotes(appName: string): Promise<void> {
    await this.#directories.sortNotes(threads.directoryOfApp(appName));
  }

  /** Returns a directory as stored, for tests and diagnosis. */
  async read(threadId: string) {
    return await this.#directories.read(threadId);
  }

  /** Returns a page of a directory. Reads the sessions of the page; in a small directory, all sessions. */
  async page<T>(
    threadId: string,
    { order: direction, after, limit }: PageRequest,
    look: Look<T>,
    refuse: Refuse,
  ): Promise<{ sessions: (T & { readonly head: HeadOf })[]; nextPageToken?: string }> {
    const request = { direction, limit, after: after && genericPosition(after) };
    const { members, next } = await this.#directories.page(threadId, request, verifying(look), (position) =>
      refuse(storedPosition(position)),
    );
    const sessions = members.map(({ session }) => session);
    return next ? { sessions, nextPageToken: formatToken(direction, storedPosition(next)) } : { sessions };
  }

  /** Deletes a directory without sessions. Returns false if it has sessions, or if another process is writing to it. */
  async remove<T>(threadId: string, look: Look<T>, refuse: Refuse): Promise<boolean> {
    return await this.#directories.removeDirectory(threadId, verifying(look), (position) =>
      refuse(storedPosition(position)),
    );
  }
}

function verifying<T>(look: Look<T>) {
  return async ({ incarnation: listed, version: count, ...position }: VerifiedEntry) => {
    const session = await look({ ...storedPosition(position), incarnation: listed, events: count });
    if (!session) return undefined;
    const { incarnation, events: version, lastUpdateTime: order } = session.head;
    return { incarnation, version, order, session };
  };
}

function directoriesOf(appName: string, { userId }: Position): string[] {
  return [threads.directoryOfApp(appName), threads.directoryOfUser(appName, userId)];
}

function genericNote({ incarnation, events: version, was, removed, ...position }: SessionNote) {
  return { ...genericPosition(position), incarnation, version, was, ...(removed && { removed }) };
}
