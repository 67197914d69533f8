import { eraseStream, streamOf } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { Network, type Request, withoutChance } from "../../../collections/test/lists/network.ts";
import { Random } from "../../../collections/test/lists/random.ts";
import { AnswerThread } from "../../src/streams/answer-thread.ts";
import type { AnswerWriter } from "../../src/streams/answer-writer.ts";

const CHAT = "chats:chat:ada:c";
const STEPS = 150;
/** The part of random steps at which a process dies, and at which a request or its reply is lost. */
const DEATH = 0.02;
const LOSS = 0.03;

/** A run, and the process that makes its answer. */
interface Run {
  readonly id: string;
  readonly process: number;
  readonly writer: AnswerWriter;
  count: number;
  isEnded: boolean;
  /** Whether nothing of it is left, as its process says. */
  isRemoved: boolean;
  /** Whether a request of its process was lost, so that a write may still arrive, and the process may give up. */
  isUnsure: boolean;
}

/** A listener of a run in a process of its own. */
interface Listener {
  readonly run: Run;
  readonly process: number;
  text: string;
  outcome?: "whole" | "cut" | "absent";
}

/** What happened in all executions, so that a test sees that each case came up. */
export type Seen = Record<string, number>;

/**
 * Executes `count` random orders of the steps of runs, listeners, deletions and deaths. Returns the first problem, with its steps.
 *
 * @param first the first seed.
 */
export async function exploreStreams(
  first: number,
  count: number,
  seen: Seen = {},
): Promise<string | undefined> {
  let execution = new Execution(0, seen);
  return await withoutChance(
    () => execution.network.newName().padEnd(12, "_"),
    async () => {
      for (let seed = first; seed < first + count; seed++) {
        execution = new Execution(seed, seen);
        const problem = await execution.run();
        if (problem !== undefined) return `seed ${seed}: ${problem}\n${execution.network.trace.join("\n")}`;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return undefined;
    },
  );
}

class Execution {
  readonly network = new Network();
  readonly #random: Random;
  readonly #seen: Seen;
  readonly #base: StoreFactory = createStores(this.network.base);
  readonly #runs: Run[] = [];
  readonly #listeners: Listener[] = [];
  /** The runs whose chat was deleted: nothing of them may be there from then on. */
  readonly #erased = new Set<Run>();
  #deletions = 0;

  constructor(seed: number, seen: Seen) {
    this.#random = new Random(seed);
    this.#seen = seen;
  }

  /** @returns what is wrong. */
  async run(): Promise<string | undefined> {
    await this.#beginRun();
    for (let step = 0; step < STEPS; step++) {
      await this.#step();
      const problem = await this.#check();
      if (problem !== undefined) return problem;
    }
    return await this.#conclude();
  }

  async #step(): Promise<void> {
    const { network } = this;
    const random = this.#random;
    const alive = this.#runs.filter(({ process }) => network.isAlive(process));
    const making = alive.filter(({ isEnded }) => !isEnded);
    const chance = random.next();
    if (chance < DEATH && alive.length > 0) return this.#die(random.pick(alive));
    if (chance < DEATH + LOSS && network.requests.length > 0) {
      const request = random.pick(network.requests);
      const run = this.#runs.find(({ process }) => process === request.process);
      if (run) run.isUnsure = true;
      const when = random.pick(["now", "later"] as const);
      const outcome = random.pick(["repeat", "giveUp"] as const);
      return await network.lose(request, { when, outcome });
    }
    const steps: (() => Promise<void>)[] = [];
    const add = (weight: number, step: () => Promise<void>) => {
      for (let copy = 0; copy < weight; copy++) steps.push(step);
    };
    for (const request of network.requests) add(4, () => network.deliver(request));
    for (const request of network.late) add(1, () => network.arrive(request));
    const [timer] = network.timers.toSorted((one, other) => one.at - other.at);
    if (timer) add(4, () => network.fire(timer));
    for (const run of making) {
      add(3, () => this.#emit(run));
      add(1, () => this.#endRun(run));
      add(1, () => this.#beat(run));
    }
    const [newest] = this.#runs.slice(-1);
    if (newest && this.#listeners.length < 3) add(1, () => this.#listen(random.pick(this.#runs)));
    if (this.#runs.length < 3 && random.next() < 0.2) add(1, () => this.#beginRun());
    if (this.#deletions < 2 && random.next() < 0.15) add(1, () => this.#deleteChat());
    if (random.next() < 0.1) add(1, () => this.#list());
    if (steps.length > 0) await random.pick(steps)();
  }

  #storesOf(process: number): StoreFactory {
    return createStores(this.network.driverOf(process), {}, { clock: this.network.clockOf(process) });
  }

  #threadOf(process: number): AnswerThread {
    const stores = this.#storesOf(process);
    const isCurrent = async (runId: string) => headRun(await stores.open(CHAT).read({ limit: 0 })) === runId;
    const clock = this.network.clockOf(process);
    return new AnswerThread({ stores, clock, isCurrent, onError: () => this.#note("error") }, CHAT);
  }

  /** A run takes the place of the last one, and creates the chat if it was deleted. */
  async #beginRun(): Promise<void> {
    const { network } = this;
    const id = `r${this.#runs.length}`;
    const last = this.#runs.at(-1);
    this.#note(last && !last.isEnded ? "takeover" : "begin");
    await this.#base.open(CHAT).commit({ metadata: { run: id } });
    const process = network.begin();
    network.trace.push(`p${process} begins ${id}`);
    await network.run(process, () => {
      const writer = this.#threadOf(process).write(id);
      const run: Run = { id, process, writer, count: 0, isEnded: false, isRemoved: false, isUnsure: false };
      this.#runs.push(run);
      void writer.ended.then(() => {
        run.isRemoved = true;
      });
    });
  }

  async #emit(run: Run): Promise<void> {
    const text = `${run.id}.${run.count++} `;
    await this.network.run(run.process, () => run.writer.add(text));
  }

  /** The answer ends, or is stopped. The head then has no run. */
  async #endRun(run: Run): Promise<void> {
    run.isEnded = true;
    this.network.trace.push(`${run.id} ends`);
    const { revision, metadata } = await this.#base.open(CHAT).read({ limit: 0 });
    if (revision !== null && headRun({ metadata }) === run.id)
      await this.#base.open(CHAT).commit({ metadata: { ended: run.id } });
    await this.network.run(run.process, () => {
      run.writer.end();
      if (this.#random.next() < 0.3) run.writer.hurry();
    });
  }

  /** The process finds that the chat has its run no more. */
  async #beat(run: Run): Promise<void> {
    if (headRun(await this.#base.open(CHAT).read({ limit: 0 })) !== run.id) await this.#endRun(run);
  }

  #die(run: Run): Promise<void> {
    this.#note("death");
    this.network.crash(run.process);
    return Promise.resolve();
  }

  async #listen(run: Run): Promise<void> {
    const process = this.network.begin();
    const listener: Listener = { run, process, text: "" };
    this.#listeners.push(listener);
    this.network.trace.push(`p${process} listens to ${run.id}`);
    const listen = async () => {
      const stream = await this.#threadOf(process).listen(run.id, new AbortController().signal);
      if (!stream) {
        listener.outcome = "absent";
        return;
      }
      let next = await stream.next();
      for (; !next.done; next = await stream.next()) listener.text += next.value;
      listener.outcome = next.value ? "whole" : "cut";
    };
    await this.network.run(process, () => {
      listen().catch(() => {
        listener.outcome = "cut";
      });
    });
  }

  /** As the deletion of a chat, whose own thread goes first. */
  async #deleteChat(): Promise<void> {
    this.#deletions += 1;
    await this.#base.deleteThread(CHAT);
    const process = this.network.begin();
    this.network.trace.push(`p${process} deletes the chat`);
    const erased = [...this.#runs];
    this.#note("deletion");
    await this.network.run(process, () => {
      eraseStream(this.#storesOf(process), CHAT, undefined).then(
        () => {
          for (const run of erased) this.#erased.add(run);
        },
        () => undefined,
      );
    });
  }

  /** A list that finds the newest run lost. */
  async #list(): Promise<void> {
    const run = this.#runs.at(-1);
    if (!run || this.network.isAlive(run.process)) return;
    this.#note("list");
    const process = this.network.begin();
    await this.network.run(process, () => {
      this.#threadOf(process)
        .remove(run.id)
        .catch(() => undefined);
    });
  }

  async #check(): Promise<string | undefined> {
    for (const { run, text, outcome, process } of this.#listeners) {
      const whole = textOf(run);
      if (!whole.startsWith(text)) return `p${process} got "${text}" of "${whole}"`;
      if (outcome === "whole" && text !== whole) return `p${process} got "${text}" as the whole "${whole}"`;
    }
    const { entries } = await this.#base.open(streamOf(CHAT)).read();
    const stored = entries.map(({ message }) => message.content).join("");
    for (const run of this.#erased)
      if (stored.includes(`${run.id}.`)) return `the chat is deleted, and "${stored}" is stored`;
    for (const run of this.#runs)
      if (run.isRemoved && !run.isUnsure && stored.includes(`${run.id}.`))
        return `${run.id} is over, and "${stored}" is stored`;
    return await this.#stoppedWithoutCause();
  }

  /** A run of the chat stores its answer, unless something was lost or the chat was deleted. */
  async #stoppedWithoutCause(): Promise<string | undefined> {
    const run = this.#runs.at(-1);
    if (!run?.isRemoved || run.isEnded || run.isUnsure || this.#deletions > 0) return undefined;
    return `${run.id} goes on, and is not stored any more`;
  }

  /** Lets everything come to its end, and looks at what is left. */
  async #conclude(): Promise<string | undefined> {
    const { network } = this;
    for (const run of this.#runs) if (!run.isEnded && network.isAlive(run.process)) await this.#endRun(run);
    for (let steps = 0; network.requests.length + network.timers.length + network.late.length > 0; steps++) {
      if (steps > 20_000) return "it does not end";
      const [request] = network.requests as [Request?];
      const [late] = network.late as [Request?];
      const [timer] = network.timers.toSorted((one, other) => one.at - other.at);
      if (request) await network.deliver(request);
      else if (late) await network.arrive(late);
      else if (timer) await network.fire(timer);
      const problem = await this.#check();
      if (problem !== undefined) return problem;
    }
    for (const { process, outcome } of this.#listeners) {
      if (outcome === undefined) return `p${process} listens for ever`;
      this.#note(outcome);
    }
    // The ttl of a stream, not that of a mark.
    network.now += 60_001;
    const { entries } = await this.#base.open(streamOf(CHAT)).read();
    return entries.length > 0 ? `left: ${JSON.stringify(entries)}` : undefined;
  }

  #note(what: string): void {
    this.#seen[what] = (this.#seen[what] ?? 0) + 1;
  }
}

function textOf({ id, count }: Run): string {
  return Array.from({ length: count }, (_, index) => `${id}.${index} `).join("");
}

function headRun({ metadata }: { readonly metadata?: unknown }): unknown {
  return (Object(metadata) as { run?: unknown }).run;
}
