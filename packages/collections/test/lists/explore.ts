import type { Call } from "./call.ts";
import { DAY, withoutChance } from "./network.ts";
import { threadOf } from "./notes.ts";
import { type Process, Scene } from "./scene.ts";
import { Violation } from "./truth.ts";

/** The number of faults of each kind, and the lifetime of threads. */
export type Faults = Pick<Scope, "crashes" | "losses" | "days" | "damages" | "damaged" | "ttlMs">;

/** What is explored: every order of the requests of a few processes, with a few faults at any moment. */
export interface Scope {
  readonly name: string;
  /** Made one after the other by a process of its own. */
  readonly before?: readonly Call[];
  readonly processes: readonly (readonly Call[])[];
  /** The number of faults of each kind. */
  readonly crashes?: number;
  readonly losses?: number;
  readonly days?: number;
  /** How often the head of a thread becomes unreadable. */
  readonly damages?: number;
  /** 1: the heads of all threads are unreadable from the beginning. */
  readonly damaged?: number;
  readonly ttlMs?: number;
}

/** The result of an exploration. */
export interface Explored {
  readonly executions: number;
  readonly states: number;
  readonly steps: number;
  readonly problem?: string;
  readonly trace?: readonly string[];
}

type Step = () => Promise<void>;

/** Runs a scope again and again, each time with another order of steps. Executions that lead to the same state are continued once. */
export async function explore(scope: Scope, mostExecutions = Number.POSITIVE_INFINITY): Promise<Explored> {
  const current: { run?: Execution } = {};
  return await withoutChance(
    () => current.run?.newId() ?? "",
    () => executeAll(scope, mostExecutions, current),
  );
}

async function executeAll(
  scope: Scope,
  mostExecutions: number,
  current: { run?: Execution },
): Promise<Explored> {
  const choices: { taken: number; readonly count: number }[] = [];
  const seen = new Set<string>();
  let steps = 0;
  for (let executions = 1; ; executions++) {
    const run = new Execution(scope);
    current.run = run;
    const found = await run.run(choices, seen);
    steps += run.scene.steps;
    const done = { executions, states: seen.size, steps };
    if (found) return { ...done, problem: found.message, trace: run.scene.network.trace };
    for (let last = choices.at(-1); last && ++last.taken >= last.count; last = choices.at(-1)) choices.pop();
    if (choices.length === 0 || executions >= mostExecutions) return done;
    if (executions % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

class Execution {
  readonly scene: Scene;
  readonly #scope: Scope;
  readonly #processes: Process[] = [];
  readonly #begun: number[] = [];
  #crashes: number;
  #losses: number;
  #days: number;
  #damages: number;

  constructor(scope: Scope) {
    const { crashes = 0, losses = 0, days = 0, damages = 0, ttlMs } = scope;
    this.#scope = scope;
    const calls = [...(scope.before ?? []), ...scope.processes.flat()];
    const ids = [...new Set(calls.flatMap((call) => ("id" in call ? [call.id] : [])))];
    this.scene = new Scene({ ids, ttlMs });
    [this.#crashes, this.#losses, this.#days, this.#damages] = [crashes, losses, days, damages];
  }

  newId(): string {
    return this.scene.network.newName().padEnd(12, "_");
  }

  async run(choices: { taken: number; count: number }[], seen: Set<string>): Promise<Error | undefined> {
    try {
      this.scene.isChecked = choices.length === 0;
      const first = this.scene.begin();
      for (const call of this.#scope.before ?? []) {
        await this.scene.call(first, call);
        await this.scene.rest();
      }
      if (this.#scope.damaged) for (const { id } of this.scene.truth.lives) await this.#damage(id);
      for (const _ of this.#scope.processes) {
        this.#processes.push(this.scene.begin());
        this.#begun.push(0);
      }
      for (let depth = 0; ; depth++) {
        const isNew = depth === choices.length;
        if (isNew) {
          const key = await this.#key();
          if (seen.has(key)) return undefined;
          seen.add(key);
        }
        const { steps, isQuiet } = this.#steps();
        if (isNew) {
          // A conclusion changes the state: the steps that follow are taken by further executions.
          if (isQuiet) await this.scene.conclude();
          if (isQuiet && steps.length > 0) choices.push({ taken: -1, count: steps.length });
          if (isQuiet || steps.length === 0) return undefined;
          choices.push({ taken: 0, count: steps.length });
        }
        this.scene.isChecked = depth + 1 >= choices.length;
        await steps[choices[depth]?.taken ?? 0]?.();
      }
    } catch (error) {
      return error instanceof Error ? error : new Violation(String(error));
    }
  }

  #steps(): { steps: Step[]; isQuiet: boolean } {
    const { scene } = this;
    const { network } = scene;
    const steps: Step[] = [];
    for (const [at, calls] of this.#scope.processes.entries()) {
      const process = this.#processes[at];
      const next = calls[this.#begun[at] ?? 0];
      if (!process || !next || process.calls.size > 0 || !network.isAlive(process.id)) continue;
      steps.push(async () => {
        this.#begun[at] = (this.#begun[at] ?? 0) + 1;
        await scene.call(process, next);
      });
    }
    for (const request of network.requests) steps.push(() => scene.step(() => network.deliver(request)));
    for (const timer of network.timers) steps.push(() => scene.step(() => network.fire(timer)));
    const isQuiet = steps.length === 0;
    for (const request of network.late) steps.push(() => scene.arrive(request));
    if (this.#losses > 0 && !isQuiet) {
      for (const request of network.requests.filter(({ isWrite }) => isWrite))
        for (const outcome of request.isInsert ? (["giveUp"] as const) : (["giveUp", "repeat"] as const))
          for (const when of ["now", "later"] as const)
            steps.push(async () => {
              this.#losses -= 1;
              await scene.lose(request, { when, outcome });
            });
    }
    if (this.#crashes > 0 && !isQuiet) {
      for (const process of this.#processes.filter(({ id }) => this.#isBusy(id)))
        steps.push(async () => {
          this.#crashes -= 1;
          await scene.crash(process);
        });
    }
    if (this.#days > 0)
      steps.push(async () => {
        this.#days -= 1;
        await scene.step(() => network.pass(2 * DAY));
      });
    const readable = scene.truth.lives.find(({ end, isUnreadable }) => !end && !isUnreadable);
    if (this.#damages > 0 && readable)
      steps.push(async () => {
        this.#damages -= 1;
        await this.#damage(readable.id);
      });
    return { steps, isQuiet };
  }

  async #damage(id: string): Promise<void> {
    await this.scene.step(() => this.scene.network.replace(threadOf(id), "{"));
  }

  #isBusy(process: number): boolean {
    const { requests, timers } = this.scene.network;
    return [...requests, ...timers].some((one) => one.process === process);
  }

  async #key(): Promise<string> {
    const { network, truth } = this.scene;
    const late = network.late.map(({ process, name, isRepeated }) => `${process}${name}${isRepeated}`);
    const alive = this.#processes.map(({ id }) => network.isAlive(id));
    const local = [
      network.histories,
      this.#begun,
      alive,
      this.#crashes,
      this.#losses,
      this.#days,
      this.#damages,
    ];
    return JSON.stringify([local, late.sort(), await truth.key()]);
  }
}
