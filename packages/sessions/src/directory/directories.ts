import type { StoreFactory } from "@scrollback/store-core";
import { threads } from "../threads.ts";
import {
  compareNewest,
  compareOldest,
  type Entry,
  keyOf,
  lifeKeyOf,
  type Note,
  type Position,
} from "./entry.ts";
import { NoteQueue } from "./note-queue.ts";
import { formatToken } from "./page-token.ts";
import { countAtMost, type Directory, Outdated, readDirectory, walk } from "./tree.ts";

/** Directories up to this size are sorted anew with each list, by what the sessions themselves say. */
const SMALL = 64;
/** An entry whose life of the session is not there goes after an hour: it may be just being created. */
const ABANDONED_AFTER_MS = 3_600_000;
const MAX_ATTEMPTS = 10;
const MOST_QUEUES = 1_000;

/** What a directory needs to know of a session; undefined for one that is not there. */
export type Look<T> = (place: Position) => Promise<(T & { readonly head: HeadOf }) | undefined>;
interface HeadOf {
  readonly life: string;
  readonly events: number;
  readonly lastUpdateTime: number;
}

interface Found<T> {
  readonly entry: Entry;
  /** Where the session says that it stands. */
  readonly position: Omit<Entry, "notedAt">;
  readonly session: T;
}

/** What {@link Directories.page} is asked for. */
export interface PageRequest {
  readonly order: "desc" | "asc";
  readonly after: Position | undefined;
  readonly limit: number;
}

/** The directories of all sessions of an app, and of all sessions of a user. */
export class Directories {
  readonly #stores: StoreFactory;
  readonly #queues = new Map<string, NoteQueue>();

  constructor(stores: StoreFactory) {
    this.#stores = stores;
  }

  /** Notes a session in both of its directories and returns when that is done. */
  async noteNow(appName: string, note: Omit<Note, "notedAt">): Promise<void> {
    const stamped = { ...note, notedAt: Date.now() };
    await Promise.all(this.#both(appName, note.userId).map((queue) => queue.addNow(stamped)));
  }

  /** Notes a session that has moved, within a second. */
  note(appName: string, note: Omit<Note, "notedAt">): void {
    for (const queue of this.#both(appName, note.userId)) queue.add({ ...note, notedAt: Date.now() });
  }

  /** Returns when everything is written that was noted. */
  async settle(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.settle()));
  }

  /** A page of a directory. Looks at the sessions of the page; in a small directory at all of them. */
  async page<T>(
    threadId: string,
    request: PageRequest,
    look: Look<T>,
  ): Promise<{ sessions: (T & { readonly head: HeadOf })[]; nextPageToken?: string }> {
    await this.#queues.get(threadId)?.write();
    for (let attempt = 0; ; attempt++) {
      const directory = await readDirectory(this.#stores, threadId);
      try {
        return countAtMost(directory) <= SMALL
          ? await this.#sorted(threadId, directory, request, look)
          : await this.#asNoted(threadId, directory, request, look);
      } catch (error) {
        if (!(error instanceof Outdated) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #sorted<T>(
    threadId: string,
    directory: Directory,
    { order, after, limit }: PageRequest,
    look: Look<T>,
  ) {
    const entries: Entry[] = [];
    for await (const entry of walk(this.#stores, directory, order, undefined)) entries.push(entry);
    const compare = order === "desc" ? compareNewest : compareOldest;
    const looked = await this.#look(threadId, entries, look);
    const noted = new Set(entries.map(lifeKeyOf));
    const distinct = [...new Map(looked.map((one) => [keyOf(one.entry), one])).values()];
    for (const one of distinct)
      if (!noted.has(lifeKeyOf(one.position))) this.#correct(threadId, one.position);
    const found = distinct
      .sort((a, b) => compare(a.position, b.position))
      .filter(({ position }) => !after || compare(position, after) > 0);
    const page = found.slice(0, limit);
    return answer(page, page.at(-1)?.position, found.length > limit, order);
  }

  async #asNoted<T>(
    threadId: string,
    directory: Directory,
    { order, after, limit }: PageRequest,
    look: Look<T>,
  ) {
    const entries = walk(this.#stores, directory, order, after);
    const found: Found<T & { readonly head: HeadOf }>[] = [];
    let last: Entry | undefined;
    let next = await entries.next();
    while (found.length < limit && !next.done) {
      const batch: Entry[] = [];
      for (; batch.length < limit - found.length && !next.done; next = await entries.next())
        batch.push(next.value);
      last = batch.at(-1);
      for (const one of await this.#look(threadId, batch, look)) {
        if (found.some(({ position }) => keyOf(position) === keyOf(one.position))) continue;
        const isInPlace = one.position.time === one.entry.time;
        if (!isInPlace && (await this.#has(directory, one.position))) continue;
        found.push(one);
        if (!isInPlace) this.#correct(threadId, one.position);
      }
    }
    return answer(found, last, !next.done, order);
  }

  /** Whether the directory has a session at a position. */
  async #has(directory: Directory, position: Position): Promise<boolean> {
    for await (const entry of walk(this.#stores, directory, "desc", { ...position, userId: "" })) {
      if (compareNewest(entry, position) >= 0) return compareNewest(entry, position) === 0;
    }
    return false;
  }

  /** Looks at the sessions of entries, all at once and each once, and notes what the directory had wrong. */
  async #look<T>(threadId: string, entries: readonly Entry[], look: Look<T>) {
    const looks = new Map<string, ReturnType<Look<T>>>();
    for (const entry of entries) if (!looks.has(keyOf(entry))) looks.set(keyOf(entry), look(entry));
    await Promise.all(looks.values());
    const found: Found<T & { readonly head: HeadOf }>[] = [];
    for (const entry of entries) {
      const session = await looks.get(keyOf(entry));
      if (session) {
        const { life, events, lastUpdateTime: time } = session.head;
        const position = { time, sessionId: entry.sessionId, userId: entry.userId, life, events };
        found.push({ entry, position, session });
        if (life === entry.life && time !== entry.time) this.#correct(threadId, position, [entry.time]);
      }
      const isAbandoned =
        session?.head.life !== entry.life && Date.now() - entry.notedAt > ABANDONED_AFTER_MS;
      if (isAbandoned) this.#correct(threadId, { ...entry, removed: true }, [entry.time]);
    }
    return found;
  }

  #correct(threadId: string, note: Omit<Note, "notedAt" | "was">, was: readonly number[] = []): void {
    this.#queue(threadId).add({ ...note, was, notedAt: Date.now() });
  }

  #both(appName: string, userId: string): NoteQueue[] {
    return [threads.directoryOfApp(appName), threads.directoryOfUser(appName, userId)].map((threadId) =>
      this.#queue(threadId),
    );
  }

  #queue(threadId: string): NoteQueue {
    let queue = this.#queues.get(threadId);
    if (!queue) {
      if (this.#queues.size >= MOST_QUEUES) this.#forgetIdle();
      queue = new NoteQueue(this.#stores, threadId);
      this.#queues.set(threadId, queue);
    }
    return queue;
  }

  #forgetIdle(): void {
    for (const [threadId, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(threadId);
  }
}

function answer<T>(
  found: readonly Found<T>[],
  last: Position | undefined,
  hasMore: boolean,
  order: "desc" | "asc",
): { sessions: T[]; nextPageToken?: string } {
  const sessions = found.map(({ session }) => session);
  return hasMore && last ? { sessions, nextPageToken: formatToken(order, last) } : { sessions };
}
