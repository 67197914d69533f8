import { hash } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { type Network, type Request, withoutChance } from "../../../collections/test/lists/network.ts";
import { Processes, type ScopeOf, type Step } from "../../../collections/test/lists/processes.ts";
import { Random } from "../../../collections/test/lists/random.ts";
import { ChatStore, type OwnedChats } from "../../src/index.ts";
import type { ContractMessage } from "../contract/contract.ts";
import { fileOf } from "../contract/values.ts";

/** A call of one process on the chat "c". */
export interface Call {
  readonly name: string;
  /** The messages that it adds, if it succeeds. */
  readonly adds?: readonly string[];
  /** The messages that it may erase. */
  readonly erases?: readonly string[];
  /** Whether it deletes the chat. */
  readonly deletes?: boolean;
  run(mine: OwnedChats<ContractMessage>, stores: StoreFactory): Promise<unknown>;
}

/** What is explored: every order of the requests of a few processes, of which some die, and whose last requests arrive at any time. */
export type Scope = ScopeOf<Call>;

export interface Explored {
  readonly executions: number;
  readonly states: number;
  /** What is wrong, and how it came about. */
  readonly problem?: string;
}

type Choice = { taken: number; readonly count: number };

const CHAT = "chats:chat:ada:c";

/**
 * Runs a scope again and again, each time with another order of steps. An order that leads to a state again is not followed.
 *
 * @param mostExecutions where it ends, though there are more orders.
 */
export async function explore(scope: Scope, mostExecutions: number): Promise<Explored> {
  const choices: Choice[] = [];
  const seen = new Set<string>();
  return await executeAll(scope, async (run, executions) => {
    const problem = await run.run(choices, seen);
    const found = { executions, states: seen.size };
    if (problem !== undefined) return { ...found, problem };
    while (choices.length > 0 && (choices.at(-1)?.taken ?? 0) + 1 >= (choices.at(-1)?.count ?? 0))
      choices.pop();
    const last = choices.at(-1);
    if (!last || executions === mostExecutions) return found;
    last.taken += 1;
    return undefined;
  });
}

/** Runs a scope `count` times, each time in an order that a seed decides. */
export async function sample(scope: Scope, count: number): Promise<Explored> {
  return await executeAll(scope, async (run, seed) => {
    const problem = await run.runRandomly(seed);
    if (problem !== undefined) return { executions: seed, states: 0, problem: `seed ${seed}: ${problem}` };
    return seed === count ? { executions: count, states: 0 } : undefined;
  });
}

/** Executes a scope until one execution ends the exploration. */
async function executeAll(
  scope: Scope,
  execute: (run: Execution, executions: number) => Promise<Explored | undefined>,
): Promise<Explored> {
  let run = new Execution(scope);
  return await withoutChance(
    () => run.newId(),
    async () => {
      for (let executions = 1; ; executions++) {
        await ended();
        run = new Execution(scope);
        const found = await execute(run, executions);
        if (!found) continue;
        const { problem } = found;
        return problem === undefined
          ? found
          : { ...found, problem: `${problem}\n${run.network.trace.join("\n")}` };
      }
    },
  );
}

/** Lets the timers of earlier executions end, which hold them in memory. */
function ended(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** One order of steps. */
class Execution {
  readonly #scope: Scope;
  readonly #processes: Processes<Call>;
  readonly #outcomes = new Map<Call, "done" | "failed">();

  constructor(scope: Scope) {
    this.#scope = scope;
    this.#processes = new Processes(scope, (process, call) => this.#begin(process, call));
  }

  get network(): Network {
    return this.#processes.network;
  }

  newId(): string {
    return this.#processes.newId();
  }

  /** @returns what is wrong. */
  async runRandomly(seed: number): Promise<string | undefined> {
    await this.#processes.begin();
    const random = new Random(seed);
    for (;;) {
      await this.#deliverLists();
      if (this.network.requests.length === 0) return await this.#conclude();
      await this.#processes.step(random);
    }
  }

  /** @returns what is wrong. */
  async run(choices: Choice[], seen: Set<string>): Promise<string | undefined> {
    await this.#processes.begin();
    for (let depth = 0; ; depth++) {
      await this.#deliverLists();
      if (depth === choices.length) {
        const key = await this.#key();
        if (seen.has(key)) return undefined;
        seen.add(key);
        const { length: count } = this.#steps();
        if (this.network.requests.length === 0) return await this.#conclude();
        choices.push({ taken: 0, count });
      }
      await this.#steps()[choices[depth]?.taken ?? 0]?.();
    }
  }

  async #begin(process: number, call: Call): Promise<void> {
    const stores = createStores(this.network.driverOf(process));
    const chats = new ChatStore<ContractMessage>({
      stores,
      now: () => this.network.now,
      fileBytes: 4,
      onError: () => undefined,
    });
    await this.network.run(process, () => {
      call.run(chats.of("ada"), stores).then(
        () => this.#outcomes.set(call, "done"),
        () => this.#outcomes.set(call, "failed"),
      );
    });
  }

  /** The entries of lists have an exploration of their own. */
  async #deliverLists(): Promise<void> {
    const isOfList = ({ name }: Request) =>
      name.includes(" chats:open:") || name.includes(" chats:archived:");
    for (let next = this.network.requests.find(isOfList); next; next = this.network.requests.find(isOfList))
      await this.network.deliver(next);
  }

  #steps(): Step[] {
    return [...this.#processes.requests(), ...this.#processes.deaths()];
  }

  async #key(): Promise<string> {
    const { network } = this;
    const late = network.late.map(({ process, name }) => `${process} ${name}`);
    const waiting = network.requests.map(({ process, name }) => `${process} ${name}`);
    const stored = await dump(createStores(network.base));
    const state = JSON.stringify([network.histories, waiting, late, this.#processes.crashes, stored]);
    return hash("sha256", state, "base64url");
  }

  /** Checks what a healthy process finds, before and after it has erased what is not needed, and after all late requests. */
  async #conclude(): Promise<string | undefined> {
    const stores = createStores(this.network.base);
    const now = () => this.network.now;
    const chats = new ChatStore<ContractMessage>({ stores, now, fileBytes: 4, onError: () => undefined });
    const mine = chats.of("ada");
    const isDeleted = (await mine.get("c")) === undefined;
    const deletion = this.#scope.processes.find(({ deletes }) => deletes);
    if (isDeleted && !deletion) return "the chat is gone";
    if (deletion && this.#outcomes.get(deletion) === "done" && !isDeleted) return "the chat is not deleted";
    const found = isDeleted ? undefined : await this.#missingOrDoubled(mine, stores);
    if (found !== undefined) return found;
    const sweep = async () => {
      if (isDeleted) await mine.delete("c");
      else {
        await mine.append("c", [{ id: "last", role: "user", content: fileOf("last") }]);
        await mine.truncate("c", { from: "last" });
      }
      await chats.flush();
    };
    await sweep();
    for (const request of [...this.network.late]) await this.network.arrive(request);
    // What a late request has found is marked for an hour.
    this.network.now += 2 * 3_600_000;
    await sweep();
    const named = new Set(await namedParts(stores));
    let contents = 0;
    for await (const { threadId, count } of stores.iterateThreads()) {
      if (threadId === CHAT || count === 0 || named.has(threadId)) continue;
      if (!threadId.startsWith("scrollback:content:")) return `left behind: ${threadId}`;
      contents += 1;
    }
    const used = isDeleted ? new Set() : await contentsIn(mine);
    if (contents !== used.size) return `${contents} contents are stored, ${used.size} are used`;
    return isDeleted ? undefined : await this.#missingOrDoubled(mine, stores);
  }

  async #missingOrDoubled(
    mine: OwnedChats<ContractMessage>,
    stores: StoreFactory,
  ): Promise<string | undefined> {
    const { entries = [], continuations = [] } = (await mine.export("c")) ?? {};
    const parts = await namedParts(stores);
    if (parts.length !== continuations.length) return `${parts.length - continuations.length} parts are gone`;
    const all = [entries, ...continuations.map((one) => one.entries)].flat();
    const texts = all.map(({ message }) => (message as ContractMessage).content);
    if (new Set(texts).size !== texts.length) return `doubled: ${texts.join(", ")}`;
    const erased = new Set(this.#scope.processes.flatMap(({ erases = [] }) => erases));
    const added = [...this.#outcomes].flatMap(([{ adds = [] }, outcome]) => (outcome === "done" ? adds : []));
    const lost = added.filter((text) => !texts.includes(text) && !erased.has(text));
    return lost.length > 0 ? `lost: ${lost.join(", ")}` : undefined;
  }
}

/** The contents that messages of the chat have. */
async function contentsIn(mine: OwnedChats<ContractMessage>): Promise<Set<string>> {
  const { entries = [], continuations = [] } = (await mine.export("c")) ?? {};
  const all = [entries, ...continuations.map((one) => one.entries)].flat();
  return new Set(all.flatMap(({ message }) => (message as { file?: string }).file ?? []));
}

async function namedParts(stores: StoreFactory): Promise<string[]> {
  const { metadata } = await stores.open(CHAT).read({ limit: 0 });
  const { parts = {} } = Object(metadata) as { parts?: object };
  return Object.keys(parts).map((part) => `part:${CHAT}:${part}`);
}

async function dump(stores: StoreFactory): Promise<string> {
  const all: unknown[] = [];
  for await (const { threadId } of stores.iterateThreads()) {
    const { entries, metadata } = await stores.open(threadId).read();
    const { operations, ...head } = Object(metadata);
    all.push([threadId, entries.map(({ message }) => message.metadata), head]);
  }
  for (const name of [`parts:${CHAT}`, `files:${CHAT}`, "contents:ada"])
    all.push((await stores.index(name).list()).entries);
  return JSON.stringify(all);
}
