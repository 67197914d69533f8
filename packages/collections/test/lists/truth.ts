import { type IndexEntry, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores, type Driver, type EntryIndex } from "@scrollback/store-core/driver";
import { CLOSING, type EntryValue } from "../../src/lists/listed.ts";
import { DAY, type Network, START } from "./network.ts";
import { BASES, type Head, indexOf, LISTS, Notes, type Told, threadOf } from "./notes.ts";

/** A note from its creation to its end. */
export interface Life {
  readonly id: string;
  readonly incarnation: string;
  /** The number of writes before it. */
  readonly bornAt: number;
  head: Head;
  expiresAt: number | undefined;
  /** What ended it. */
  end?: "deletion" | "expiry" | "loss";
  isUnreadable: boolean;
  /** Its creation has returned, or lists were brought to what it says. */
  isListed: boolean;
  /** Lists say at least this version of it, and whether it was running then. */
  told: { readonly version: number; readonly isRunning: boolean };
  /** The lists that have it whatever writes are under way. */
  steady: readonly string[];
  /** A deletion of it has begun. */
  isClosing: boolean;
  /** A deletion of it has returned. */
  isDeleted: boolean;
  /** The index or the thread was lost, so that lists may be wrong until it is read. */
  isLost: boolean;
  /** Entries of it were evicted, so that a deletion without its head may miss others. */
  isEvicted: boolean;
  /** A process died, or a call failed: lists may be behind until it is read. */
  isOwed: boolean;
}

export class Violation extends Error {}

/**
 * What is true: the notes one after the other, as their threads say. It knows nothing of entries. After each step it is compared
 * with what lists would show at this moment.
 */
export class Truth {
  readonly lives: Life[] = [];
  /** Something was evicted, perhaps the entry of a creation under way. */
  isEvicted = false;
  readonly #network: Network;
  readonly #ids: readonly string[];
  readonly #stores: StoreFactory;
  /** By how much clocks are wrong, in milliseconds. */
  readonly #tolerance: number;
  readonly #ttlMs: number;
  #losing = false;

  constructor(network: Network, ids: readonly string[], tolerance: number, ttlMs = Number.POSITIVE_INFINITY) {
    this.#network = network;
    this.#ids = ids;
    this.#tolerance = tolerance;
    this.#ttlMs = ttlMs;
    this.#stores = createStores(silent(network.base));
  }

  now(id: string): Life | undefined {
    return this.lives.findLast((life) => life.id === id && !life.end);
  }

  of(id: string): readonly Life[] {
    return this.lives.filter((life) => life.id === id);
  }

  /** Notes what the last step did to threads. */
  async observe(isLoss = false): Promise<void> {
    this.#losing = isLoss;
    for (const id of this.#ids) await this.#observe(id);
    this.#losing = false;
  }

  async #observe(id: string): Promise<void> {
    const deletion = this.#takeDeletion(id);
    const before = this.now(id);
    const read = await this.#read(id);
    if (read === "unreadable") {
      if (!before) throw new Violation(`${id}: an unreadable thread has appeared`);
      before.isUnreadable = true;
      return;
    }
    if (before && before.incarnation !== read?.head.incarnation) {
      before.end = deletion === undefined ? (this.#losing ? "loss" : "expiry") : "deletion";
      if (before.end === "expiry" && (before.expiresAt ?? Number.POSITIVE_INFINITY) > this.#network.now)
        throw new Violation(`${before.incarnation} is gone without a deletion`);
      if (deletion !== undefined && deletion < before.bornAt)
        throw new Violation(
          `${before.incarnation} was deleted by a request that was sent before its creation`,
        );
    }
    if (!read) return;
    const { head, expiresAt } = read;
    const life = this.now(id) ?? this.#born(id, head);
    life.isUnreadable = false;
    if (life.head.version !== head.version)
      life.steady = life.steady.filter((list) => head.lists.includes(list));
    if (!head.isRunning) life.told = { ...life.told, isRunning: false };
    life.head = head;
    life.expiresAt = expiresAt;
  }

  #born(id: string, head: Head): Life {
    const { incarnation } = head;
    if (this.lives.some((life) => life.incarnation === incarnation && life.end !== "loss"))
      throw new Violation(`${incarnation} is back`);
    const life: Life = {
      ...{ id, incarnation, head, bornAt: this.#network.applied, expiresAt: undefined },
      ...{ isUnreadable: false, isListed: false, told: { version: 0, isRunning: false }, steady: [] },
      ...{ isClosing: false, isDeleted: false, isLost: this.#losing, isEvicted: false, isOwed: false },
    };
    this.lives.push(life);
    return life;
  }

  #takeDeletion(id: string): number | undefined {
    const { deletions } = this.#network;
    const at = deletions.findIndex(({ threadId }) => threadId === threadOf(id));
    return at < 0 ? undefined : deletions.splice(at, 1)[0]?.sentAt;
  }

  async #read(id: string) {
    try {
      const { metadata, expiresAt } = await this.#stores.open(threadOf(id)).read({ limit: 0 });
      return metadata === undefined ? undefined : { head: metadata as Head, expiresAt };
    } catch (error) {
      if (StoreError.is(error, "CORRUPT")) return "unreadable";
      throw error;
    }
  }

  /** Notes that lists were told a version. */
  told(
    incarnation: string,
    { version, isRunning, lists }: Omit<Head, "listed" | "incarnation" | "order">,
  ): void {
    const life = this.lives.findLast((one) => one.incarnation === incarnation);
    if (!life || life.end || life.isUnreadable || life.told.version > version) return;
    life.isListed = true;
    life.told = { version, isRunning };
    if (life.head.version === version) life.steady = lists;
  }

  /** Notes that everything is at rest and each note was read since anything was lost. */
  repaired(): void {
    for (const life of this.lives.filter(({ end, isUnreadable }) => !end && !isUnreadable)) {
      life.isLost = false;
      life.isOwed = false;
      this.told(life.incarnation, life.head);
    }
  }

  /** The lives and the index, for the state of an exploration. */
  async key(): Promise<unknown> {
    const entriesIn = async (list: string) => {
      const { entries } = await this.#stores.index(indexOf(list)).list();
      return entries.map(({ key, id, version, order }) => [key, id, version, order]);
    };
    return [this.lives, await Promise.all(LISTS.map(entriesIn))];
  }

  /** What lists would show now, and the index itself, compared with the notes. */
  async check(isAtRest = false): Promise<void> {
    const shown = new Map<string, ReadonlyMap<string, Shown>>();
    const clock = {
      wall: () => this.#network.now,
      sleep: async () => undefined,
      timer: () => () => undefined,
    };
    const notes = new Notes({ stores: this.#stores, clock, onError: () => undefined });
    for (const list of LISTS) {
      const { entries } = await this.#stores.index(indexOf(list)).list();
      this.#checkEntries(list, entries);
      shown.set(list, entries.length === 0 ? new Map() : await this.#shown(notes, list));
    }
    for (const life of this.lives) if (this.mustBeThere(life)) this.#checkLife(life, shown, isAtRest);
  }

  async checkEmpty(): Promise<void> {
    for (const list of LISTS) {
      const { entries } = await this.#stores.index(indexOf(list)).list();
      const left = entries.find(({ value }) => !this.#isRest((value as EntryValue<Told>).told));
      if (left) throw new Violation(`${list}: ${left.key} ${left.id} is left, of version ${left.version}`);
    }
  }

  /** Whether lists must have a note: once it is told, and for hours also without, because its creation left an open entry. */
  mustBeThere(life: Life): boolean {
    const { expiresAt = Number.POSITIVE_INFINITY, end, isListed, isLost } = life;
    const { now } = this.#network;
    const isYoung = !this.isEvicted && now - START < Math.min(DAY, this.#ttlMs) - this.#tolerance;
    return !end && (isListed || isYoung) && !isLost && Math.abs(expiresAt - now) > 2 * this.#tolerance;
  }

  async #shown(notes: Notes, list: string): Promise<ReadonlyMap<string, Shown>> {
    const { items } = await notes.page(list, "up");
    const found = new Map<string, Shown>();
    for (const { member, told, snapshot } of items) {
      const shown = { id: member.key, told, isUnreadable: snapshot === "unreadable" };
      this.#checkShown(list, shown);
      // A thread that was deleted behind the back of its layer is shown until it is removed, an expired one as long as clocks differ.
      if (this.#isRest(told)) continue;
      const other = found.get(member.key);
      if (other?.told && told) throw new Violation(`${list}: ${member.key} is there twice`);
      // A creation under way beside an unreadable thread is shown as unreadable, too.
      if (!other?.told) found.set(member.key, shown);
    }
    return found;
  }

  #isRest(told: Told | undefined): boolean {
    const life = this.lives.find(({ incarnation }) => incarnation === told?.incarnation);
    return life?.end === "loss" || life?.end === "expiry";
  }

  #checkShown(list: string, { id, told, isUnreadable }: Shown): void {
    if (!told) {
      if (!isUnreadable) throw new Violation(`${list}: ${id} is shown without content`);
      return;
    }
    const life = this.lives.find(({ incarnation }) => incarnation === told.incarnation);
    if (!life) throw new Violation(`${list}: ${told.incarnation} never existed`);
    if (life.isDeleted) throw new Violation(`${list}: ${told.incarnation} is shown, its deletion returned`);
    if (life.end === "deletion" && !life.isLost)
      throw new Violation(`${list}: ${told.incarnation} is shown, its thread is deleted`);
    const { expiresAt = Number.POSITIVE_INFINITY } = life;
    if (
      life.end === "expiry" &&
      !life.isLost &&
      !isUnreadable &&
      expiresAt + this.#tolerance < this.#network.now
    )
      throw new Violation(`${list}: ${told.incarnation} is shown, it has expired`);
  }

  #checkLife(life: Life, shown: ReadonlyMap<string, ReadonlyMap<string, Shown>>, isAtRest: boolean): void {
    const { id, incarnation, head, told, isUnreadable, steady, isOwed } = life;
    const isTold = told.version >= head.version || (isAtRest && !isOwed);
    const has = (list: string) => shown.get(list)?.get(id);
    for (const list of LISTS) {
      const item = has(list);
      const where = `${incarnation} of version ${head.version}, in ${head.lists}, told ${told.version}`;
      const isRequired = steady.includes(list) || (isTold && head.lists.includes(list));
      if (!item && isRequired) throw new Violation(`${list}: ${where}, is missing`);
      if (!item?.told || isUnreadable) continue;
      if (item.told.incarnation !== incarnation)
        throw new Violation(`${list}: ${where}, is shown as ${item.told.incarnation}`);
      if (isTold && !head.lists.includes(list)) throw new Violation(`${list}: ${where}, is shown there`);
      // Only the lists that the version is in were told it.
      const isOld = item.told.version < (isTold || told.isRunning ? head.version : told.version);
      if (isOld && head.lists.includes(list))
        throw new Violation(`${list}: ${where}, is shown as version ${item.told.version}`);
    }
    if (!life.isClosing && !BASES.some(has)) throw new Violation(`${incarnation} is in no base list`);
  }

  #checkEntries(list: string, entries: readonly IndexEntry[]): void {
    for (const { id, value, version } of entries) {
      const told = (value as EntryValue<Told>).told;
      if (told === undefined) continue;
      if (version === CLOSING) throw new Violation(`${list}: the closing ${id} has content`);
      const life = this.lives.find(({ incarnation }) => incarnation === told.incarnation);
      if (life?.isDeleted)
        throw new Violation(`${list}: ${id} tells of ${told.incarnation}, whose deletion returned`);
    }
  }
}

interface Shown {
  readonly id: string;
  readonly told: Told | undefined;
  readonly isUnreadable: boolean;
}

/** The same database for a reader that must not change it. */
function silent(base: Driver & { readonly index: EntryIndex }): Driver {
  const { index } = base;
  return {
    capabilities: base.capabilities,
    commit: async () => ({ outcome: "revision-conflict", revision: null }),
    read: (request) => base.read(request),
    delete: async () => ({ outcome: "revision-conflict", revision: null }),
    list: (request) => base.list(request),
    index: {
      insertEntry: async () => false,
      updateEntry: async () => CLOSING,
      removeEntry: async () => false,
      entriesOf: (request) => index.entriesOf(request),
      listEntries: (request) => index.listEntries(request),
      listIndexes: (request) => index.listIndexes(request),
    },
    close: async () => undefined,
    classifyError: () => undefined,
  };
}
