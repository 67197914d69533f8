import { StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import type { Call } from "./call.ts";
import { DAY, type Loss, Network, type Request } from "./network.ts";
import { type Head, LISTS, Notes, threadOf } from "./notes.ts";
import { type Life, Truth, Violation } from "./truth.ts";

/** A process: its own lists, on a clock of its own. */
export interface Process {
  readonly id: number;
  readonly notes: Notes;
  readonly calls: Set<Call>;
  /** The versions that its own calls wrote. */
  readonly written: Map<string, number>;
}

export interface SceneOptions {
  readonly ids: readonly string[];
  readonly ttlMs?: number | undefined;
  /** By how much clocks are wrong, in milliseconds. */
  readonly largestSkew?: number;
}

/** What a call found when it began. */
interface Beginning {
  readonly lives: readonly Life[];
  /** What had ended. */
  readonly gone: readonly Life[];
  readonly due: readonly Due[];
}

/** What must not be missing from lists. */
interface Due {
  readonly life: Life;
  readonly version: number;
  readonly order: number;
  readonly steady: readonly string[];
}

/** Processes on one database, and what is true of it. After each step every promise is checked. */
export class Scene {
  readonly network = new Network();
  readonly truth: Truth;
  readonly ids: readonly string[];
  readonly processes: Process[] = [];
  /** The number of steps. */
  steps = 0;
  /** Whether steps are checked. Off while an exploration repeats what it has checked. */
  isChecked = true;
  readonly #ttlMs: number | undefined;
  #ended: (() => void)[] = [];

  constructor({ ids, ttlMs, largestSkew = 0 }: SceneOptions) {
    this.ids = ids;
    this.#ttlMs = ttlMs;
    this.truth = new Truth(this.network, ids, largestSkew, ttlMs);
  }

  /** Begins a process. */
  begin(skew = 0): Process {
    const id = this.network.begin(skew);
    const clock = this.network.clockOf(id);
    const options = this.#ttlMs === undefined ? {} : { ttlMs: this.#ttlMs };
    const stores = createStores(this.network.driverOf(id), options, { clock });
    const onError = (error: unknown) => this.#allow(error, "UNAVAILABLE", "CONFLICT");
    const notes = new Notes({ stores, clock, onError });
    const process: Process = { id, notes, calls: new Set(), written: new Map() };
    this.processes.push(process);
    return process;
  }

  /** Begins a call. */
  async call(process: Process, call: Call): Promise<void> {
    const name = "id" in call ? `${call.kind} ${call.id}` : call.kind;
    this.network.trace.push(`p${process.id} begins ${name}`);
    const beginning: Beginning = {
      lives: this.truth.lives.filter(({ end }) => !end),
      gone: this.truth.lives.filter(({ end }) => end),
      due: this.#due(),
    };
    process.calls.add(call);
    // What is checked at the end of a call depends on what was there at its beginning, so these are different states.
    const { lives, gone, due } = beginning;
    const versions = due.map(({ life, version, order, steady }) => [life.id, version, order, steady]);
    this.network.histories[process.id] += `${JSON.stringify([lives.length, gone.length, versions])};`;
    if (call.kind === "remove" || call.kind === "removeAll") this.#closing(call);
    const end = (outcome: () => void) =>
      this.#ended.push(() => {
        process.calls.delete(call);
        outcome();
      });
    await this.step(() =>
      this.network.run(process.id, () => {
        const fails = (error: unknown) =>
          end(() => {
            this.network.trace.push(`p${process.id} ${name} fails: ${error}`);
            this.#owe(call);
            this.#allow(error, "UNAVAILABLE", "CONFLICT", "CORRUPT");
          });
        void this.#made(process, call, beginning).then((outcome) => end(outcome), fails);
      }),
    );
  }

  /** Takes a step, and checks everything. */
  async step(work: () => Promise<void> | void, isLoss = false): Promise<void> {
    this.steps += 1;
    const { applied, now } = this.network;
    await work();
    if (this.network.applied > applied || this.network.now > now) await this.truth.observe(isLoss);
    for (const end of this.#ended.splice(0)) end();
    if (this.isChecked) await this.truth.check();
  }

  async lose(request: Request, loss: Loss): Promise<void> {
    await this.step(() => this.network.lose(request, loss));
  }

  async arrive(request: Request): Promise<void> {
    // A creation that arrives after its repetition has failed is not listed until it is read.
    await this.step(() => this.network.arrive(request), true);
    for (const id of this.ids) if (request.name === `commit ${threadOf(id)}`) this.#owe({ kind: "read", id });
  }

  async crash({ id, calls }: Process): Promise<void> {
    for (const call of calls) this.#owe(call);
    calls.clear();
    for (const life of this.truth.lives) if (life.told.version < life.head.version) life.isOwed = true;
    await this.step(() => this.network.crash(id));
  }

  /** Delivers everything that waits, until all processes are at rest. */
  async rest(): Promise<void> {
    const { network } = this;
    for (let count = 0; ; count++) {
      if (count > 5_000) throw new Violation("the processes do not come to rest");
      const [request] = network.requests;
      const [timer] = network.timers;
      if (request) await this.step(() => network.deliver(request));
      else if (timer) await this.step(() => network.fire(timer));
      else return;
    }
  }

  /** Checks, without further faults, that lists agree with all notes after each was read, and that everything can be removed. */
  async conclude(): Promise<void> {
    await this.rest();
    await this.truth.check(true);
    const last = this.begin();
    for (const id of this.ids) await this.#alone(last, { kind: "read", id });
    this.truth.repaired();
    await this.truth.check(true);
    await this.#alone(last, { kind: "removeAll" });
    // What is not listed, and the entries of threads that were deleted behind the back of the layer.
    for (const id of this.ids)
      if (this.truth.of(id).some(({ end }) => !end || end === "loss"))
        await this.#alone(last, { kind: "remove", id });
    for (const id of this.ids) {
      if (this.truth.now(id)) throw new Violation(`${id} is there after its deletion`);
      await this.#alone(last, { kind: "create", id });
      if (!this.truth.now(id)?.isListed) throw new Violation(`${id} cannot be created`);
    }
    await this.#alone(last, { kind: "removeAll" });
    await this.step(() => this.network.pass(40 * DAY + 2 * (this.#ttlMs ?? 0)));
    for (const list of LISTS) await this.#alone(last, { kind: "page", list, direction: "up" });
    await this.truth.checkEmpty();
  }

  async #alone(process: Process, call: Call): Promise<void> {
    await this.call(process, call);
    await this.rest();
  }

  /** Makes a call. Resolves to what is true and checked when it has returned. */
  async #made(process: Process, call: Call, { lives, gone, due }: Beginning): Promise<() => void> {
    const { notes } = process;
    switch (call.kind) {
      case "create": {
        const { id, lists = ["open"], order = 1 } = call;
        const incarnation = this.network.newName();
        await notes.create(id, incarnation, lists, order);
        return () => this.truth.told(incarnation, { version: 1, isRunning: false, lists });
      }
      case "change": {
        const head = await notes.change(call.id, call.edit, call.isSoon ?? false);
        return () => this.#changed(process, head, call.isSoon ?? false);
      }
      case "read":
        await notes.read(call.id);
        return () => undefined;
      case "remove":
        await notes.remove(call.id);
        return () => this.#removed(this.truth.of(call.id), lives, gone);
      case "removeAll": {
        await notes.removeAll();
        // The open entry of a creation under way may have expired before it was read.
        const isMet = ({ life }: Due) => life.end !== undefined || this.truth.mustBeThere(life);
        const met = () => due.filter(isMet).map(({ life }) => life);
        return () => this.#removed(met(), met(), []);
      }
      case "page": {
        const written = new Map(process.written);
        const shown = await this.#pages(process, call);
        return () => this.#shown(call, shown, due, lives, written);
      }
    }
  }

  #changed({ written }: Process, head: Head | undefined, isSoon: boolean): void {
    if (!head) return;
    written.set(head.incarnation, head.version);
    if (!isSoon) this.truth.told(head.incarnation, head);
  }

  /** Checks what a deletion has removed: what was there when it began, and the rests of what was gone before. */
  #removed(removed: readonly Life[], before: readonly Life[], gone: readonly Life[]): void {
    const isSwept = this.#ttlMs !== undefined || removed.every((life) => gone.includes(life));
    // What is told late of a thread that is gone stays until a list meets it.
    const isKnown = ({ isEvicted, isOwed, told, head }: Life) =>
      !isEvicted && !isOwed && told.version >= head.version;
    for (const life of removed) {
      if (!life.end && before.includes(life) && !life.isLost)
        throw new Violation(`${life.incarnation} is there, its deletion returned`);
      if (!life.end) continue;
      const isMet = before.includes(life) ? life.end === "expiry" : isSwept && gone.includes(life);
      // If it is unreadable and its entry was evicted, nothing says where its other entries are.
      const isFound = life.end === "deletion" && !(life.isUnreadable && life.isEvicted);
      if (isFound || (isMet && isKnown(life))) life.isDeleted = true;
    }
  }

  async #pages({ notes }: Process, { list, direction, limit }: Call & { kind: "page" }) {
    const shown: { incarnation: string | undefined; version: number; id: string }[] = [];
    let cursor: string | undefined;
    do {
      const page = await notes.page(list, direction, limit, cursor);
      for (const { member, told } of page.items)
        shown.push({ id: member.key, incarnation: told?.incarnation, version: told?.version ?? 0 });
      cursor = page.cursor;
    } while (cursor !== undefined);
    return shown;
  }

  #shown(
    { list, limit }: Call & { kind: "page" },
    shown: readonly { incarnation: string | undefined; version: number; id: string }[],
    due: readonly Due[],
    lives: readonly Life[],
    written: ReadonlyMap<string, number>,
  ): void {
    for (const { incarnation } of shown) {
      const life = this.truth.lives.find((one) => one.incarnation === incarnation);
      if (life?.isDeleted && !lives.includes(life))
        throw new Violation(`a page has ${incarnation}, whose deletion had returned`);
    }
    for (const { life, version, steady, order } of due) {
      const { incarnation, head, end, isUnreadable, isLost, id } = life;
      // An entry that moves between two pages may be on both or on none.
      const isSame =
        steady.includes(list) &&
        life.steady.includes(list) &&
        order === head.order &&
        (limit === undefined || version === head.version);
      if (!isSame || end || isUnreadable || isLost || !this.truth.mustBeThere(life)) continue;
      const found = shown.filter((one) => one.id === id && one.incarnation === incarnation);
      if (found.length !== 1) throw new Violation(`a page has ${incarnation} ${found.length} times`);
      const least = life.isOwed ? version : Math.max(version, written.get(incarnation) ?? 0);
      if ((found[0]?.version ?? 0) < least)
        throw new Violation(`a page has version ${found[0]?.version} of ${incarnation}, not ${least}`);
    }
  }

  #due(): Due[] {
    const due = this.truth.lives.filter((life) => this.truth.mustBeThere(life));
    return due.map((life) => ({
      ...{ life, version: life.told.version, order: life.head.order, steady: life.steady },
    }));
  }

  #closing(call: Call): void {
    for (const life of this.truth.lives) if (!("id" in call) || life.id === call.id) life.isClosing = true;
  }

  /** A call of unknown outcome may have left lists behind. */
  #owe(call: Call): void {
    for (const life of this.truth.lives)
      if (!life.end && (!("id" in call) || life.id === call.id)) life.isOwed = true;
  }

  #allow(error: unknown, ...codes: readonly string[]): void {
    if (error instanceof Violation || !StoreError.is(error) || !codes.includes(error.code)) throw error;
  }
}
