// Exceeds 300 lines because the calls of a world and its true state are checked against each other.
import { setImmediate as nextTurn } from "node:timers/promises";
import { createStores, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { Internals } from "../../src/directory/marked-options.ts";
import { storedLeaves } from "../../src/directory/tree.ts";
import { MarkedDirectories, type MarkedEntry, type MemberNow } from "../../src/index.ts";
import { RecordingDriver } from "./recording-driver.ts";
import { Random, Scheduler } from "./scheduler.ts";

const directory = "directory";
const leafThread = (leaf: string) => `leaf:${leaf}`;
const MINUTE = 60_000;
/** The processes' clocks differ by less than this. So lists may differ from the truth this long before and after an expiry. */
const CLOCK_DIFFERENCE_MS = 2 * MINUTE;
const FOREVER = Number.POSITIVE_INFINITY;
/** The lives that the processes of a world give to chats. */
const LIVES: readonly (readonly number[])[] = [
  [15 * MINUTE],
  [15 * MINUTE, 40 * MINUTE],
  [15 * MINUTE, FOREVER],
];

/** The content of a chat: the metadata of its thread. */
interface Head {
  readonly incarnation: string;
  readonly version: number;
  readonly order: number;
  readonly value: string;
}

/** The content of a chat since a moment; undefined: the chat did not exist. */
interface State {
  readonly from: number;
  readonly head: Head | undefined;
  /** When the chat expires, unless it is written again. */
  readonly expiresAt: number;
  /** The time at which the call that wrote it returned; infinite if it never returned. */
  acknowledged: number;
}

/** The counts of a world before its first call. */
export const noCounts = () => ({
  lists: 0,
  deaths: 0,
  compactions: 0,
  leaves: 0,
  purges: 0,
  removals: 0,
  expiries: 0,
  commits: 0,
});

/** The options of a world. */
export interface WorldOptions {
  readonly seed: number;
  readonly internals?: Internals;
  /** Whether processes may be suspended for minutes in the middle of a write. In such a world no process dies. */
  readonly suspends: boolean;
}

/** Chats on in-memory stores, several processes that write and list them, and the true state at each moment. */
export class World {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #driver: RecordingDriver;
  readonly #history = new Map<string, State[]>();
  readonly #suspends: boolean;
  readonly #internals: Internals;
  readonly #ids: string[];
  readonly #lives: readonly number[];
  /** The incarnations whose deletion has returned. */
  readonly #purged = new Set<string>();
  readonly #announced = new Set<string>();
  /** The leaves that only their writers can delete, see #trackLeaves. */
  readonly #late = new Set<string>();
  /** The number of pending writes of each running process. */
  readonly #writes = new Map<number, number>();
  #processes = 0;
  #incarnations = 0;
  readonly counts = noCounts();
  /** The wrong results of lists. */
  readonly problems: string[] = [];

  constructor({ seed, internals = {}, suspends }: WorldOptions) {
    this.#scheduler = new Scheduler(seed);
    this.#random = new Random(seed ^ 0x5bd1e995);
    this.#driver = new RecordingDriver({ clock: { wall: () => this.#scheduler.now } });
    this.#suspends = suspends;
    this.#internals = {
      sizes: { enoughNotes: 6, maxLeaf: 4, smallLeaf: 2, maxInline: 2 },
      mostHeld: 2,
      ...internals,
    };
    // In small worlds, the directory is often removed and created again.
    const count = this.#random.below(3) === 0 ? 1 + this.#random.below(2) : 3 + this.#random.below(12);
    this.#ids = Array.from({ length: count }, (_, n) => `chat-${n}`);
    this.#lives = this.#random.below(2) ? this.#random.pick(LIVES) : [FOREVER];
  }

  /** Runs the given number of calls, with deaths and pauses, then checks the final state when all calls have ended. */
  async run(calls: number): Promise<void> {
    let processes = [this.#start(), this.#start(), this.#start()];
    const running = new Set<Promise<void>>();
    for (let call = 0; call < calls; ) {
      const isBusy = running.size >= 4;
      if (!isBusy && (this.#scheduler.isIdle || this.#random.below(4) === 0)) {
        const process = this.#random.pick(processes);
        const done = this.#call(process)
          .catch((error: unknown) => void this.problems.push(String(error)))
          .finally(() => running.delete(done));
        running.add(done);
        call += 1;
      } else if (!this.#scheduler.isIdle) await this.#step();
      if (this.#random.below(40) === 0) this.#pass();
      if (!this.#suspends && this.#random.below(60) === 0) {
        const dying = this.#random.pick(processes);
        this.#scheduler.kill(dying.id);
        this.#writes.delete(dying.id);
        this.counts.deaths += 1;
        processes = [...processes.filter((one) => one !== dying), this.#start()];
        // Its pending calls never end.
        running.clear();
      }
    }
    await this.#quiet(processes);
  }

  #start() {
    const id = this.#processes++;
    const clock = this.#scheduler.clockOf(id, (this.#random.below(5) - 2) * 20_000);
    const ttlMs = this.#random.pick(this.#lives);
    const driver = this.#scheduler.driverOf(id, this.#driver);
    const stores = createStores(driver, ttlMs === FOREVER ? {} : { ttlMs });
    const directories = new MarkedDirectories<string>({ stores, leafThread, clock }, this.#internals);
    const expiry = () => (ttlMs === FOREVER ? {} : { expiresAt: clock.wall() + ttlMs });
    return { id, stores, directories, expiry };
  }

  /** Advances the clock by a short time or by minutes. */
  #pass(): void {
    const isLong =
      this.#random.below(3) === 0 && (this.#suspends || [...this.#writes.values()].every((n) => n === 0));
    this.#scheduler.now += isLong ? this.#random.below(8) * MINUTE : this.#random.below(500);
  }

  async #call(process: Process): Promise<void> {
    const id = this.#random.pick(this.#ids);
    const kind = this.#random.pick([
      "create",
      "create",
      "update",
      "update",
      "update",
      "delete",
      "list",
      "compact",
      "compact",
      "delete all",
    ]);
    if (kind === "list") return await this.#list(process);
    if (kind === "delete all" && this.#random.below(this.#ids.length) > 2) return;
    if (kind === "compact") {
      this.counts.compactions += 1;
      return await process.directories.compact(directory);
    }
    const count = (by: number) => this.#writes.set(process.id, (this.#writes.get(process.id) ?? 0) + by);
    count(1);
    try {
      if (kind === "create") await this.#create(process, id);
      else if (kind === "update") await this.#update(process, id);
      else if (kind === "delete") await this.#delete(process, id);
      else await this.#deleteAll(process);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
    count(-1);
  }

  async #create({ stores, directories, expiry }: Process, id: string): Promise<void> {
    const incarnation = `i${this.#incarnations++}`;
    const head: Head = {
      incarnation,
      version: 1,
      order: this.#random.below(20),
      value: `new ${incarnation}`,
    };
    let state: State | undefined;
    await directories.write(directory, { key: [id], incarnation }, async () => {
      await stores.open(id).commit({ metadata: head }, { expectedRevision: null });
      state = this.#committed(id, head);
      return { ...head, ...expiry(), was: null };
    });
    if (state) state.acknowledged = this.#scheduler.moment;
  }

  async #update({ stores, directories, expiry }: Process, id: string): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const { head, revision } = await this.#head(stores, id);
      if (!head) return;
      const { incarnation, version, order: was } = head;
      // Half of the changes move the chat.
      const order = this.#random.below(2) ? was : this.#random.below(20);
      const next = { incarnation, version: version + 1, order, value: `${incarnation} ${version + 1}` };
      let state: State | undefined;
      try {
        await directories.write(directory, { key: [id], incarnation }, async () => {
          await stores.open(id).commit({ metadata: next }, { expectedRevision: revision });
          state = this.#committed(id, next);
          return { ...next, ...expiry(), was };
        });
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
        continue;
      }
      if (state) state.acknowledged = this.#scheduler.moment;
      return;
    }
  }

  async #delete({ stores, directories }: Process, id: string): Promise<void> {
    const { head, revision } = await this.#head(stores, id);
    if (!head || revision === null) return;
    const { incarnation, order } = head;
    let state: State | undefined;
    await directories.remove(directory, { key: [id], incarnation, order }, async () => {
      await stores.deleteThread(id, { expectedRevision: revision });
      state = this.#committed(id, undefined);
      this.counts.purges += 1;
    });
    this.#purged.add(incarnation);
    if (state) state.acknowledged = this.#scheduler.moment;
  }

  /** Deletes all chats, then the directory if it has no members and no open marks by then. */
  async #deleteAll(process: Process): Promise<boolean> {
    for (const id of this.#ids) await this.#delete(process, id);
    await process.directories.flush();
    const isRemoved = await process.directories.removeDirectory(directory);
    if (isRemoved) this.counts.removals += 1;
    return isRemoved;
  }

  async #head(
    stores: Process["stores"],
    id: string,
  ): Promise<{ head?: Head; revision: Revision | null; expiresAt?: number }> {
    const { metadata, revision, expiresAt } = await stores.open(id).read({ limit: 0 });
    const expiry = expiresAt === undefined ? {} : { expiresAt };
    return metadata === undefined ? { revision } : { head: metadata as Head, revision, ...expiry };
  }

  /** A chat, as lists read it. */
  async #member(stores: Process["stores"], id: string): Promise<MemberNow<string> | undefined> {
    const { head, revision, ...expiry } = await this.#head(stores, id);
    return head && { ...head, ...expiry };
  }

  /** What lists may say of a state between two times. */
  #seenAs({ head, expiresAt }: State, from: number, to: number): string[] {
    const seen = expiresAt <= from - CLOCK_DIFFERENCE_MS ? [] : [textOf(head)];
    return expiresAt > to + CLOCK_DIFFERENCE_MS ? seen : [...seen, textOf(undefined)];
  }

  /** Whether lists may differ, because the chat expires about now. */
  #isExpiring(id: string): boolean {
    const { now } = this.#scheduler;
    return this.#statesOf(id).some(({ expiresAt }) => Math.abs(expiresAt - now) < 2 * CLOCK_DIFFERENCE_MS);
  }

  /** The state after a commit whose reply has arrived. */
  #committed(id: string, head: Head | undefined): State | undefined {
    return this.#statesOf(id).findLast(
      (state) => state.head?.incarnation === head?.incarnation && state.head?.version === head?.version,
    );
  }

  #statesOf(id: string): State[] {
    const states = this.#history.get(id) ?? [
      { from: 0, head: undefined, expiresAt: FOREVER, acknowledged: 0 },
    ];
    this.#history.set(id, states);
    return states;
  }

  /** Runs one step and records the true state. It reads the threads, because a process that dies gets no reply. */
  async #step(): Promise<void> {
    await this.#scheduler.step();
    const stores = createStores(this.#driver);
    const threadIds = [...this.#driver.written];
    this.#driver.written.clear();
    if (threadIds.length > 0) await this.#trackLeaves(stores, threadIds);
    const written = threadIds.filter((threadId) => this.#ids.includes(threadId));
    for (const id of written) {
      const states = this.#statesOf(id);
      const { head, expiresAt = FOREVER } = await this.#head(stores, id);
      const last = states.at(-1)?.head;
      if (last?.incarnation === head?.incarnation && last?.version === head?.version) continue;
      states.push({
        ...{ from: this.#scheduler.moment, head, expiresAt },
        acknowledged: Number.POSITIVE_INFINITY,
      });
      this.counts.commits += 1;
    }
  }

  /**
   * Notes the leaves that were announced, and those that were written although the directory had lost their ids in the meantime:
   * their writers had lost a race long before.
   */
  async #trackLeaves(stores: StoreFactory, written: readonly string[]): Promise<void> {
    const { root } = await new MarkedDirectories<string>({ stores, leafThread }).read(directory);
    const known = new Set([...storedLeaves(root.leaves), ...root.unused].map(({ id }) => leafThread(id)));
    for (const threadId of known) this.#announced.add(threadId);
    for (const threadId of written)
      if (this.#announced.has(threadId) && !known.has(threadId)) this.#late.add(threadId);
  }

  /** Lists all chats, and compares the result with the true states during the call. */
  async #list({ stores, directories }: Process): Promise<void> {
    const start = { moment: this.#scheduler.moment, now: this.#scheduler.now };
    const direction = this.#random.pick(["desc", "asc"] as const);
    const read = ([id = ""]: readonly string[]) => this.#member(stores, id);
    const { entries } = await directories.page(directory, { limit: 1_000, direction, read });
    this.counts.lists += 1;
    this.#check(start, entries);
  }

  #check(start: { moment: number; now: number }, entries: readonly MarkedEntry<string>[]): void {
    const listed = new Map(entries.map((entry) => [entry.key[0], entry]));
    if (listed.size !== entries.length) this.problems.push("a chat is listed twice");
    for (const id of this.#ids) {
      const states = this.#statesOf(id);
      // With suspended writers, a list may miss unacknowledged writes. Without them, it contains all commits before its begin.
      const isCurrent = (state: State) => (this.#suspends ? state.acknowledged : state.from) <= start.moment;
      const first = Math.max(0, states.findLastIndex(isCurrent));
      const allowed = states
        .slice(first)
        .flatMap((state) => this.#seenAs(state, start.now, this.#scheduler.now));
      if (allowed.includes(textOf(undefined)) && states[first]?.head) this.counts.expiries += 1;
      const found = textOf(listed.get(id));
      if (allowed.includes(found)) continue;
      this.problems.push(`${id}: listed as ${found}, true was ${allowed.join(" or ")}`);
    }
  }

  /** Waits for the end of all calls and for the expiry of the marks of dead processes, then compares the list, page by page. */
  async #quiet(processes: readonly Process[]): Promise<void> {
    const waitFor = async (work: Promise<unknown>) => {
      let isDone = false;
      const done = work.finally(() => {
        isDone = true;
      });
      done.catch(() => undefined);
      await nextTurn();
      while (!isDone) await this.#step();
      await done;
    };
    while (!this.#scheduler.isIdle) await this.#step();
    for (const { directories } of processes) await waitFor(directories.flush());
    await this.#checkContent();
    const reader = this.#start();
    // The first list closes the marks that dead processes left open; the second list reads the result.
    for (const minutes of [8, 8, 40]) {
      this.#scheduler.now += minutes * MINUTE;
      await waitFor(this.#list(reader));
      await waitFor(reader.directories.flush());
      for (const direction of ["desc", "asc"] as const) await waitFor(this.#pages(reader, direction));
      await waitFor(reader.directories.compact(directory));
    }
    const snapshot = reader.directories.read(directory);
    await waitFor(snapshot);
    this.counts.leaves += (await snapshot).root.leaves.length;
    while (this.#ids.some((id) => this.#isExpiring(id))) this.#scheduler.now += MINUTE;
    await waitFor(this.#deleteAll(reader));
    this.#scheduler.now += CLOCK_DIFFERENCE_MS;
    await this.#checkRemains();
  }

  /** Checks that the directory and its leaves have no value of a chat that was deleted, if the deletion has returned. */
  async #checkContent(): Promise<void> {
    const stores = createStores(this.#driver);
    const live = new Set(this.#ids.map((id) => this.#statesOf(id).at(-1)?.head?.incarnation));
    for await (const { threadId } of stores.iterateThreads()) {
      if (this.#ids.includes(threadId)) continue;
      const text = JSON.stringify(await stores.open(threadId).read());
      for (const [, incarnation = ""] of text.matchAll(/"value":"(?:new )?(i\d+)/g))
        if (this.#purged.has(incarnation) && !live.has(incarnation))
          this.problems.push(`${threadId} has a value of ${incarnation}, which was deleted`);
    }
  }

  /** Checks that nothing is stored after all chats and the directory were deleted, whatever died before. */
  async #checkRemains(): Promise<void> {
    for await (const { threadId } of createStores(this.#driver).iterateThreads()) {
      // The writer may have died before it deleted the leaf.
      if (!this.#suspends && this.#late.has(threadId)) continue;
      this.problems.push(`${threadId} is left after everything was deleted`);
    }
  }

  async #pages({ stores, directories }: Process, direction: "desc" | "asc"): Promise<void> {
    const read = ([id = ""]: readonly string[]) => this.#member(stores, id);
    const limit = 1 + this.#random.below(4);
    const found: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await directories.page(directory, { limit, direction, read, pageToken });
      for (const entry of page.entries)
        if (!this.#isExpiring(String(entry.key[0]))) found.push(`${entry.key[0]} ${textOf(entry)}`);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    const sign = direction === "desc" ? -1 : 1;
    const expected = this.#ids
      .filter((id) => !this.#isExpiring(id))
      .map((id) => ({ id, ...this.#statesOf(id).at(-1) }))
      .filter(({ head, expiresAt = 0 }) => head && expiresAt > this.#scheduler.now)
      .sort((a, b) => sign * ((a.head?.order ?? 0) - (b.head?.order ?? 0)) || (a.id < b.id ? -1 : 1))
      .map(({ id, head }) => `${id} ${textOf(head)}`);
    if (found.join() !== expected.join())
      this.problems.push(`${direction}: pages have ${found.join()}, true is ${expected.join()}`);
  }
}

type Process = {
  readonly id: number;
  readonly stores: StoreFactory;
  readonly directories: MarkedDirectories<string>;
  /** The expiry of a chat that is written now, by the clock of the process. */
  expiry(): { readonly expiresAt?: number };
};

function textOf(head: Omit<Head, never> | MarkedEntry<string> | undefined): string {
  return head ? `${head.incarnation}/${head.version}/${head.order}` : "none";
}
