import type { Item } from "../../src/item.ts";
import { HEAD, keyOf, toSeconds } from "../../src/item.ts";
import type { ItemRange, Refusal, Table } from "../../src/table.ts";
import type { Action } from "../../src/transaction.ts";

/** A request that a process has sent, and that was not executed. */
interface Sent {
  readonly process: number;
  readonly execute: () => unknown;
  readonly reply: (result: unknown) => void;
  readonly fail: () => void;
}

/** The faults that a run may have, at most so many of each. */
export interface Faults {
  /** The request is executed, its reply is lost. */
  readonly lost?: number;
  /** The request fails, and is executed at any later time. */
  readonly late?: number;
  /** The process never goes on, after its request was executed. */
  readonly crashed?: number;
}

export class Outage extends Error {}

/** A table in memory whose requests are executed one by one, in an order that `choose` decides. */
export class World {
  readonly items = new Map<string, Item>();
  readonly crashed = new Set<number>();
  /** Items of batches that arrived after their writer had given them up. They stay, unnamed, as the page of the adapter says. */
  readonly strays = new Set<string>();
  readonly #choose: (options: number) => number;
  readonly #left: { lost: number; late: number; crashed: number };
  #sent: Sent[] = [];
  /** The time, in requests that were executed. */
  #steps = 0;
  #late: (() => unknown)[] = [];

  constructor(choose: (options: number) => number, { lost = 0, late = 0, crashed = 0 }: Faults) {
    this.#choose = choose;
    this.#left = { lost, late, crashed };
  }

  /** Executes requests until all processes have ended or crashed, and no request is under way. */
  async run(processes: readonly Promise<unknown>[]): Promise<void> {
    let running = processes.length;
    for (const one of processes) void one.then(() => running--);
    for (;;) {
      // Until every process waits for a reply, or has ended.
      while (this.#sent.length < running - this.crashed.size) await new Promise(setImmediate);
      const options = [...this.#options()];
      if (options.length === 0) return;
      options[this.#choose(options.length)]?.();
      this.#steps += 1;
      await new Promise(setImmediate);
    }
  }

  *#options(): Generator<() => void> {
    const faults = this.#left;
    for (const sent of this.#sent) {
      const taken = (then: () => void) => () => {
        this.#sent = this.#sent.filter((one) => one !== sent);
        then();
      };
      yield taken(() => sent.reply(sent.execute()));
      if (faults.lost > 0)
        yield taken(() => {
          faults.lost--;
          sent.execute();
          sent.fail();
        });
      if (faults.late > 0)
        yield taken(() => {
          faults.late--;
          this.#late.push(sent.execute);
          sent.fail();
        });
      if (faults.crashed > 0)
        yield taken(() => {
          faults.crashed--;
          sent.execute();
          this.crashed.add(sent.process);
        });
    }
    for (const execute of this.#late)
      yield () => {
        this.#late = this.#late.filter((one) => one !== execute);
        const before = new Set(this.items.keys());
        execute();
        for (const key of this.items.keys())
          if (key.startsWith("batch#") && !before.has(key)) this.strays.add(key);
      };
  }

  /** The table of a process. */
  tableOf(process: number): Table {
    const send = <T>(execute: () => T) =>
      new Promise<T>((resolve, reject) => {
        const reply = (result: unknown) => resolve(result as T);
        this.#sent.push({ process, execute, reply, fail: () => reject(new Outage()) });
      });
    return {
      get: (_, item) => send(() => this.items.get(item)),
      query: (range) => send(() => this.#query(range)),
      // One request each: they are not atomic.
      write: async (_, puts, removals) => {
        if (puts.length > 0) await send(() => this.#apply(puts.map((put) => ({ put }))));
        if (removals.length > 0) await send(() => this.#apply(removals.map((remove) => ({ remove }))));
      },
      swap: (over, head, actions) => send(() => this.#swap(over, head, actions)),
      clock: { monotonic: () => this.#steps, sleep: async () => {} },
    };
  }

  #query({ from, to, limit = Infinity, direction }: ItemRange): Item[] {
    const keys = [...this.items.keys()].filter((key) => key >= from && key <= to).sort();
    if (direction === "down") keys.reverse();
    return keys.slice(0, limit).map((key) => this.items.get(key) ?? {});
  }

  #swap(over: Item | undefined, head: Item, actions: readonly Action[]): Refusal | undefined {
    const found = this.items.get(HEAD);
    const isSame = found?.inc?.S === over?.inc?.S && found?.v?.N === over?.v?.N;
    const isWhole = actions.every((action) => {
      if ("touch" in action) return this.items.has(action.touch);
      return (
        !("remove" in action) ||
        Number(this.items.get(action.remove)?.n?.N ?? -1) < (action.before ?? Infinity)
      );
    });
    if (!isSame || !isWhole) return { found: isSame ? undefined : found };
    const keys = actions.map((action) =>
      "put" in action ? action.put.item?.S : "remove" in action ? action.remove : action.touch,
    );
    if (actions.length > 99 || new Set(keys).size < keys.length) throw new Error("an invalid transaction");
    this.#apply([{ put: head }, ...actions]);
    return undefined;
  }

  #apply(actions: readonly Action[]): void {
    for (const action of actions) {
      if ("put" in action) this.items.set(action.put.item?.S ?? "", action.put);
      else if ("remove" in action) this.items.delete(action.remove);
      else {
        const { x: _, ...rest } = this.items.get(action.touch) ?? keyOf("", action.touch);
        this.items.set(
          action.touch,
          action.until === undefined ? rest : { ...rest, x: toSeconds(action.until) },
        );
      }
    }
  }
}
