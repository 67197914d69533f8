import { StoreError, type StoreFactory } from "@scrollback/store-core";
import type { Listed, Member, Missing, Snapshot } from "../../src/lists/listed.ts";
import { Lists, type ListsOptions } from "../../src/lists/lists.ts";

export const BASES = ["open", "archived"];
export const LISTS = [...BASES, "label"];

/** What lists say of a note. */
export interface Told {
  readonly incarnation: string;
  readonly version: number;
}

/** The metadata of a note's thread. The version is its content. */
export interface Head extends Told {
  readonly order: number;
  readonly lists: readonly string[];
  /** Lists read the head. */
  readonly isRunning: boolean;
  readonly listed: Listed;
}

export interface Note extends Snapshot<Told> {
  readonly head: Head;
}

/** A change of a note. */
export interface Edit {
  readonly lists?: readonly string[];
  readonly isRunning?: boolean;
  readonly movesUp?: boolean;
}

export const threadOf = (id: string) => `note:${id}`;
export const indexOf = (list: string) => `notes:${list}`;

/** The smallest layer on {@link Lists}: notes without a content, each in one base list and perhaps in a further one. */
export class Notes {
  readonly lists: Lists<Told, Note>;
  readonly #stores: StoreFactory;
  readonly #wall: () => number;

  constructor({ stores, clock, onError }: Required<ListsOptions>) {
    this.#stores = stores;
    this.#wall = clock.wall;
    this.lists = new Lists<Told, Note>({ stores, clock, onError });
  }

  /** Creates a note. Afterwards lists have it. */
  async create(id: string, incarnation: string, lists: readonly string[], order: number): Promise<void> {
    await this.#write(id, undefined, { incarnation, version: 1, order, lists, isRunning: false });
  }

  /** Changes a note, if it exists. Resolves to the new head. */
  async change(id: string, edit: Edit, isSoon: boolean): Promise<Head | undefined> {
    for (let attempt = 0; attempt < 4; attempt++) {
      const note = await this.memberOf(id).read();
      if (!note.listed) return undefined;
      const { movesUp, ...changed } = edit;
      const { listed: _, ...head } = note.head;
      const next = { ...head, ...changed, version: head.version + 1, order: head.order + (movesUp ? 3 : 0) };
      try {
        return await this.#write(id, note, next, isSoon);
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
    }
    throw new StoreError("CONFLICT", "other writers committed first");
  }

  /** Reads a note, so that lists agree with it. */
  async read(id: string): Promise<void> {
    const member = this.memberOf(id);
    const note = await member.read();
    if (note.listed) this.lists.seen(member, note);
  }

  async remove(id: string): Promise<void> {
    await this.lists.remove(this.memberOf(id));
  }

  async removeAll(): Promise<void> {
    const remove = ({ key }: { readonly key: string }) => this.remove(key);
    await this.lists.removeAll(BASES.map(indexOf), remove, undefined);
  }

  /** One page of a list. */
  async page(list: string, direction: "up" | "down", limit = 100, cursor?: string) {
    const memberOf = ({ key }: { readonly key: string }) => this.memberOf(key);
    const request = { index: indexOf(list), direction, limit, memberOf };
    return await this.lists.page(cursor === undefined ? request : { ...request, cursor });
  }

  memberOf(id: string): Member<Told, Note> {
    const threadId = threadOf(id);
    return {
      ...{ threadId, key: id, bases: BASES.map(indexOf) },
      read: async (): Promise<Note | Missing> => {
        const { revision, metadata, expiresAt } = await this.#stores.open(threadId).read({ limit: 0 });
        if (revision === null || metadata === undefined) return { revision };
        return noteOf(metadata as Head, revision, expiresAt);
      },
      place: async ({ head, revision }, listed) => {
        const next = { ...head, version: head.version + 1, listed };
        return noteOf(next, await this.#commit(id, next, revision), this.#expiry());
      },
    };
  }

  async #write(
    id: string,
    before: Note | undefined,
    draft: Omit<Head, "listed">,
    isSoon = false,
  ): Promise<Head> {
    const member = this.memberOf(id);
    const { version, order, isRunning, lists, incarnation } = draft;
    const told = { version, order, told: { incarnation, version }, isDoubtful: isRunning };
    const { revision, listed, expiresAt } = await this.lists.write(
      member,
      before,
      lists.map(indexOf),
      told,
      async (listed) => ({
        revision: await this.#commit(id, { ...draft, listed }, before?.revision ?? null),
      }),
    );
    const head = { ...draft, listed };
    const note = noteOf(head, revision, expiresAt);
    if (isSoon) this.lists.tellSoon(member, note);
    else await this.lists.tell(member, note);
    return head;
  }

  async #commit(id: string, head: Head, expectedRevision: string | null): Promise<string> {
    // The record says the incarnation and the version first.
    const { incarnation, version, ...rest } = head;
    const metadata = { incarnation, version, ...rest };
    const revision = await this.#stores.open(threadOf(id)).commit({ metadata }, { expectedRevision });
    return String(revision);
  }

  #expiry(): number | undefined {
    const { ttlMs } = this.#stores.settings;
    return ttlMs === undefined ? undefined : this.#wall() + ttlMs;
  }
}

function noteOf(head: Head, revision: string, expiresAt: number | undefined): Note {
  const { incarnation, version, order, isRunning, listed } = head;
  const snapshot = { version, order, told: { incarnation, version }, isDoubtful: isRunning, listed };
  return { ...snapshot, revision, incarnation, expiresAt, head };
}
