import { Network, type Request } from "./network.ts";
import type { Random } from "./random.ts";

/** What processes do: one after the other before, then side by side. */
export interface ScopeOf<Call> {
  readonly before: readonly Call[];
  readonly processes: readonly Call[];
  /** How many of these processes may die. */
  readonly crashes: number;
}

export type Step = () => Promise<void>;

/** The part of random steps at which a process dies, while one may. If a death were a step like all others, no process would come far. */
const DEATH = 0.04;

/** The processes of a scope, on a network. */
export class Processes<Call> {
  readonly network = new Network();
  readonly #scope: ScopeOf<Call>;
  readonly #begin: (process: number, call: Call) => Promise<void>;
  readonly #ids: number[] = [];
  #crashes: number;

  /** @param begin begins a call in a process. */
  constructor(scope: ScopeOf<Call>, begin: (process: number, call: Call) => Promise<void>) {
    this.#scope = scope;
    this.#begin = begin;
    this.#crashes = scope.crashes;
  }

  /** How many processes may still die. */
  get crashes(): number {
    return this.#crashes;
  }

  newId(): string {
    return this.network.newName().padEnd(12, "_");
  }

  async begin(): Promise<void> {
    const { network } = this;
    const first = network.begin();
    for (const call of this.#scope.before) {
      await this.#begin(first, call);
      while (network.requests.length > 0) await network.deliver(network.requests[0] as Request);
    }
    for (const call of this.#scope.processes) {
      const process = network.begin();
      this.#ids.push(process);
      await this.#begin(process, call);
    }
  }

  /** Makes a random step. */
  async step(random: Random): Promise<void> {
    const deaths = random.next() < DEATH ? this.deaths() : [];
    await random.pick(deaths.length > 0 ? deaths : this.requests())();
  }

  requests(): Step[] {
    const { network } = this;
    return [
      ...network.requests.map((request) => () => network.deliver(request)),
      ...network.late.map((request) => () => network.arrive(request)),
    ];
  }

  deaths(): Step[] {
    const { network } = this;
    if (this.#crashes === 0) return [];
    const busy = this.#ids.filter((one) => network.requests.some(({ process }) => process === one));
    return busy.map((process) => async () => {
      this.#crashes -= 1;
      network.crash(process);
    });
  }
}
