import type { Call } from "./call.ts";
import { DAY, withoutChance } from "./network.ts";
import { BASES, indexOf, LISTS, threadOf } from "./notes.ts";
import { Random } from "./random.ts";
import { type Process, Scene } from "./scene.ts";
import { Violation } from "./truth.ts";

const HOUR = DAY / 24;
/** What can go wrong in a world. */
const faults = ["crash", "loss", "arrival", "pause", "eviction", "damage", "failover"] as const;
type Fault = (typeof faults)[number];

/** The counts of what happened in worlds. */
export type Counts = Record<Fault | "calls" | "steps" | "expiries" | "deletions" | "lives", number>;

function noCounts(): Counts {
  const names = [...faults, "calls", "steps", "expiries", "deletions", "lives"] as const;
  return Object.fromEntries(names.map((name) => [name, 0])) as Counts;
}

/** The result of a world. */
interface WorldResult {
  readonly problem?: string;
  readonly trace: readonly string[];
  readonly counts: Counts;
}

/** Runs a world: some processes, that make some calls, at chance. The same seed makes the same world. */
async function runWorld(seed: number): Promise<WorldResult> {
  const world = new World(seed);
  return await withoutChance(
    () => world.newId(),
    () => world.run(),
  );
}

/** Runs worlds until one reports a problem. */
export async function runWorlds(
  first: number,
  worlds: number,
): Promise<{ problem?: string; trace?: readonly string[]; counts: Counts }> {
  const counts = noCounts();
  for (let seed = first; seed < first + worlds; seed++) {
    const world = await runWorld(seed);
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += world.counts[name];
    if (world.problem !== undefined)
      return { problem: `seed ${seed}: ${world.problem}`, trace: world.trace, counts };
  }
  return { counts };
}

class World {
  readonly #random: Random;
  readonly #scene: Scene;
  readonly #counts = noCounts();
  /** How often each fault happens, of 1,000 steps. */
  readonly #often: ReadonlyMap<Fault, number>;
  readonly #skew: number;
  readonly #last: number;
  #processes: Process[];

  constructor(seed: number) {
    this.#random = new Random(seed);
    const random = this.#random;
    const ids = random.pick([["x"], ["x", "y"], ["x", "y", "z"]]);
    const ttlMs = random.pick([undefined, undefined, HOUR, 3 * DAY]);
    this.#skew = Math.min(random.pick([0, HOUR / 12, 10 * HOUR]), (ttlMs ?? DAY * 40) / 8);
    // Few worlds have rare faults at all, so that the other promises are checked where nothing is lost.
    const share = {
      crash: 0.5,
      loss: 0.5,
      arrival: 0.5,
      pause: 0.4,
      eviction: 0.15,
      damage: 0.15,
      failover: 0.1,
    };
    const often = faults.map(
      (fault) => [fault, random.next() < share[fault] ? random.pick([3, 10, 30]) : 0] as const,
    );
    this.#often = new Map(often);
    this.#last = random.pick([60, 150, 400]);
    this.#scene = new Scene({ ids, ttlMs, largestSkew: this.#skew });
    this.#processes = [];
    for (let count = 1 + random.below(3); count >= 0; count--) this.#begin();
  }

  newId(): string {
    return `${this.#random.below(36).toString(36)}${this.#scene.network.newName()}`.padEnd(12, "_");
  }

  async run(): Promise<WorldResult> {
    const { network, truth } = this.#scene;
    const counts = this.#counts;
    try {
      while (this.#scene.steps < this.#last) await this.#step();
      while (network.late.length > 0) {
        if (this.#random.below(3) === 0) await this.#scene.step(() => network.pass(2 * DAY));
        if (network.late.length === 0) break;
        const late = this.#random.pick(network.late);
        if (this.#random.below(2) === 0) network.late = network.late.filter((one) => one !== late);
        else await this.#scene.arrive(late);
      }
      await this.#scene.conclude();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return { problem: error.message, trace: network.trace, counts };
    } finally {
      counts.steps = this.#scene.steps;
      counts.lives = truth.lives.length;
      for (const { end } of truth.lives) {
        if (end === "expiry") counts.expiries += 1;
        if (end === "deletion") counts.deletions += 1;
      }
    }
    return { trace: network.trace, counts };
  }

  #begin(): void {
    this.#processes.push(this.#scene.begin(Math.round((this.#random.next() * 2 - 1) * this.#skew)));
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const { network } = this.#scene;
    for (const [fault, often] of this.#often)
      if (often > 0 && random.below(1_000) < often && (await this.#make(fault))) {
        this.#counts[fault] += 1;
        return;
      }
    const process = random.pick(this.#processes);
    const busy = this.#processes.reduce((sum, { calls }) => sum + calls.size, 0);
    if (busy === 0 || (busy < 4 && process.calls.size < 2 && random.below(12) === 0)) {
      this.#counts.calls += 1;
      return await this.#scene.call(process, this.#newCall());
    }
    if (random.below(8) === 0) network.now += random.below(300);
    const timer = network.timers.find(({ at }) => at <= network.now) ?? network.timers[0];
    if (timer && (network.requests.length === 0 || timer.at <= network.now))
      return await this.#scene.step(() => network.fire(timer));
    if (network.requests.length === 0) throw new Violation("a call waits for nothing");
    // Mostly the newest go on, so that some wait for long.
    const request = random.below(3) ? random.pick(network.requests) : network.requests.at(-1);
    if (request) await this.#scene.step(() => network.deliver(request));
  }

  #newCall(): Call {
    const random = this.#random;
    const id = random.pick(this.#scene.ids);
    const label = random.below(3) === 0 ? ["label"] : [];
    const lists = [random.pick(BASES), ...label];
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
        return { kind: "create", id, lists, order: random.below(4) };
      case 3:
        return { kind: "change", id, edit: {} };
      case 4:
        return {
          kind: "change",
          id,
          edit: { movesUp: true, isRunning: random.below(2) === 0 },
          isSoon: true,
        };
      case 5:
        return { kind: "change", id, edit: { isRunning: random.below(2) === 0 } };
      case 6:
      case 7:
        return { kind: "change", id, edit: { lists }, isSoon: random.below(5) === 0 };
      case 8:
        return { kind: "read", id };
      case 9:
        return random.below(4) ? { kind: "remove", id } : { kind: "removeAll" };
      case 10:
        return { kind: "remove", id };
      default: {
        const direction = random.pick(["up", "down"] as const);
        return {
          kind: "page",
          list: random.pick(LISTS),
          direction,
          ...(random.below(2) && { limit: 1 + random.below(2) }),
        };
      }
    }
  }

  /** Makes a fault. Resolves to whether there was one to make. */
  async #make(fault: Fault): Promise<boolean> {
    const random = this.#random;
    const { network } = this.#scene;
    switch (fault) {
      case "crash": {
        const process = random.pick(this.#processes);
        this.#processes = this.#processes.filter((one) => one !== process);
        await this.#scene.crash(process);
        this.#begin();
        return true;
      }
      case "loss": {
        if (network.requests.length === 0) return false;
        const request = random.pick(network.requests);
        const when = random.pick(["now", "later"] as const);
        const outcome = request.isInsert ? "giveUp" : random.pick(["repeat", "giveUp"] as const);
        await this.#scene.lose(request, { when, outcome });
        return true;
      }
      case "arrival":
        if (network.late.length === 0) return false;
        await this.#scene.arrive(random.pick(network.late));
        return true;
      case "pause": {
        const ms = random.pick([HOUR / 2, HOUR * 11, DAY, 2 * DAY, 20 * DAY]);
        await this.#scene.step(() => network.pass(ms));
        return true;
      }
      case "eviction":
        await this.#evict();
        return true;
      case "damage":
        return await this.#damage(random.pick(this.#scene.ids));
      case "failover":
        return await this.#lose(random.pick(this.#scene.ids));
    }
  }

  /** Removes all entries, or some. */
  async #evict(): Promise<void> {
    const { network, truth } = this.#scene;
    const { index } = network.base;
    truth.isEvicted = true;
    const isAll = this.#random.below(2) === 0;
    network.trace.push(`eviction of ${isAll ? "everything" : "some entries"}`);
    for (const name of LISTS.map(indexOf)) {
      const all = { index: name, direction: "up", limit: 100, after: undefined, signal: undefined } as const;
      const { entries } = await index.listEntries(all);
      for (const { key, id } of entries) {
        if (!isAll && this.#random.below(2) === 0) continue;
        const place = { index: name, key, id, signal: undefined };
        await index.removeEntry(place);
        for (const life of truth.of(key)) Object.assign(life, { isLost: true, isEvicted: true });
      }
    }
    await this.#scene.step(() => undefined);
  }

  /** Makes the head of a thread unreadable. */
  async #damage(id: string): Promise<boolean> {
    const life = this.#scene.truth.now(id);
    if (!life || life.isUnreadable || (life.expiresAt ?? Number.POSITIVE_INFINITY) <= this.#scene.network.now)
      return false;
    this.#scene.network.trace.push(`${id} is damaged`);
    await this.#scene.step(() => this.#scene.network.replace(threadOf(id), "{", life.expiresAt));
    return true;
  }

  /** Loses a thread behind the back of everyone. */
  async #lose(id: string): Promise<boolean> {
    const life = this.#scene.truth.now(id);
    if (!life) return false;
    this.#scene.network.trace.push(`${id} is lost`);
    life.isLost = true;
    await this.#scene.step(() => this.#scene.network.replace(threadOf(id)), true);
    return true;
  }
}
