// Exceeds 300 lines because the steps of an execution, their faults and its key share one state.

import { StoreError } from "@scrollback/store-core";
import {
  type DocumentDatabase,
  type DocumentDriver,
  type Head,
  MemoryDocuments,
  type Page,
} from "../../src/index.ts";
import { listedIds } from "../../src/rules/draft.ts";
import type { Verb } from "../harness.ts";
import type { Drivers } from "./drivers.ts";
import type { Call, Event } from "./history.ts";
import { makeCall, REPEATED_WITHIN_MS } from "./make-call.ts";
import type { FaultKind, Scope } from "./scope.ts";

const START = 1_800_000_000_000;
/** More than any call needs. */
const MOST_REQUESTS = 80;
const NEVER = Number.POSITIVE_INFINITY;

class ConnectionLost extends Error {}
const LOST = new ConnectionLost();

/** A broken promise. */
export class Violation extends Error {}

interface Order {
  readonly verb: Verb;
  /** The ids of a request that can be torn. */
  readonly ids: readonly string[];
  /** @param only the ids that it reaches. Default: all. */
  apply(database: DocumentDatabase, only?: readonly string[]): Promise<unknown>;
  readonly words: string;
}

interface Pending {
  readonly order: Order;
  readonly process: Process | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Process {
  readonly index: number;
  readonly driver: DocumentDriver;
  /** Everything that it has learned: its state is a function of it. */
  learned: string;
  /** The number of random ids that it has made. */
  named: number;
  made: number;
  isBusy: boolean;
  isDead: boolean;
  readonly calls: readonly Call[];
}

/** A step that can be taken: its name, and what it does. */
export interface Step {
  name(): string;
  take(): unknown;
}

/** One execution: the processes, the documents, the requests under way, and the history of the calls. */
export class World {
  readonly events: Event[] = [];
  readonly database: MemoryDocuments;
  now = START;
  failure: unknown;
  readonly #scope: Scope;
  readonly #drivers: Drivers;
  readonly #thread: string;
  readonly #processes: Process[] = [];
  readonly #pending: Pending[] = [];
  /** Names of random ids that are equal in two executions, by their first 12 characters. */
  readonly #names = new Map<string, string>();
  readonly #described = new WeakMap<object, string>();
  #eventsBefore = 0;
  #jumped = 0;
  #faults = 0;
  #moment = 0;
  #requests = 0;
  /** Whether a page was raised for a commit without expiry that may not have been made. */
  #mayNeverExpire = false;
  /** Whether a request may take effect after its caller was told that it failed, so that pages may stay at rest. */
  #mayLeave = false;

  constructor(scope: Scope, drivers: Drivers) {
    this.#scope = scope;
    this.#drivers = drivers;
    this.#thread = drivers.newThread();
    this.database = new MemoryDocuments(scope.maxDocumentBytes ?? 700);
  }

  /** Runs the part before the exploration, and starts the processes. */
  async begin(): Promise<void> {
    const first = this.#begin([], 9);
    for (const step of this.#scope.before ?? []) {
      if (typeof step === "number") {
        this.now += step;
        this.database.sweep(this.now);
      } else await this.#runAlone(first, step);
    }
    this.#eventsBefore = this.events.length;
    this.#requests = 0;
    for (const [index, calls] of this.#scope.processes.entries()) this.#begin(calls, index);
    this.#startCalls();
  }

  /** The steps that can be taken now. `isQuiet`: no call is under way. */
  steps(): { readonly steps: Step[]; readonly isQuiet: boolean } {
    const steps: Step[] = [];
    for (const pending of [...this.#pending]) {
      steps.push({ name: () => this.#nameOf(pending), take: () => this.#settle(pending) });
      if (pending.process) this.#addFaults(steps, pending, pending.process);
    }
    const { jumps = [] } = this.#scope;
    const jump = jumps[this.#jumped];
    if (jump !== undefined) {
      const take = () => {
        this.now += jump;
        this.#jumped += 1;
      };
      steps.push({ name: () => `${jump} ms pass`, take });
    }
    const documents = this.#documents;
    if ((documents.head?.until ?? NEVER) <= this.now) {
      const take = () => {
        documents.head = null;
      };
      steps.push({ name: () => "the head is swept", take });
    }
    for (const { id, until = NEVER } of documents.pages.values())
      if (until <= this.now)
        steps.push({ name: () => `${this.#named(id)} is swept`, take: () => documents.pages.delete(id) });
    return { steps, isQuiet: this.#processes.every(({ isBusy, isDead }) => isDead || !isBusy) };
  }

  /** Called after a step, when nothing moves any more. */
  afterStep(): void {
    if (this.failure) throw this.failure;
    const { head, pages } = this.#documents;
    if (head && !head.isDead && this.now < (head.expiresAt ?? NEVER)) {
      const missing = listedIds(head).filter((id) => !pages.has(id));
      if (missing.length > 0)
        throw new Violation(`pages ${missing.map((id) => this.#named(id))} are missing`);
      const stays = listedIds(head).filter((id) => pages.get(id)?.until === undefined);
      if (head.until !== undefined && stays.length > 0 && !this.#mayNeverExpire)
        throw new Violation(`pages ${stays.map((id) => this.#named(id))} stay for ever`);
    }
    this.#startCalls();
  }

  /** The calls of a new process after everything: they must work, agree with the history, and leave nothing. */
  async conclude(): Promise<void> {
    const { pages } = this.#documents;
    const unlisted = () => {
      const { head } = this.#documents;
      const listed = new Set(head ? listedIds(head) : []);
      return [...pages.values()].filter(({ id, until = NEVER }) => !listed.has(id) && until > this.now);
    };
    if (!this.#mayLeave && this.#jumped === 0 && unlisted().length > 0)
      throw new Violation(`pages ${unlisted().map(({ id }) => this.#named(id))} stay at rest`);
    for (const process of this.#processes) process.isDead = true;
    this.#pending.length = 0;
    const process = this.#begin([], 8);
    const read: Call = { kind: "read" };
    await this.#runAlone(process, read);
    const seen = this.events.at(-1)?.result;
    const listing = process.driver.list({ prefix: "", limit: 10, cursor: undefined, signal: undefined });
    await this.#answerUntil(listing);
    const { threads, corrupt = [] } = await listing;
    const isThere = seen?.kind === "seen" && seen.revision !== null;
    if (threads.length !== (isThere ? 1 : 0) || corrupt.length > 0)
      throw new Violation(`${threads.length} threads are listed, and ${corrupt.length} damaged ones`);
    for (const call of [{ kind: "commit", append: "z" } as const, read, { kind: "delete" } as const, read])
      await this.#runAlone(process, call);
    if (pages.size > 0) throw new Violation(`after its deletion the thread has ${pages.size} pages at rest`);
  }

  /** Equal for two executions whose futures are the same. */
  key(): string {
    const { head, pages } = this.#documents;
    const documents = [head, ...pages.values()].map((one) => one && this.#describe(one)).sort();
    const processes = this.#processes.map(({ learned, isDead, made }) => [!isDead && learned, made]);
    const pending = this.#pending.map((one) => this.#nameOf(one)).sort();
    const events = this.events.slice(this.#eventsBefore).map((event) => JSON.stringify(event));
    const own = [this.now, this.#jumped, this.#faults, this.#mayLeave, this.#mayNeverExpire];
    return JSON.stringify([documents, processes, pending, events, own]);
  }

  get #documents(): { head: Head | null; readonly pages: Map<string, Page> } {
    return this.database.documentsOf(this.#thread) as {
      head: Head | null;
      readonly pages: Map<string, Page>;
    };
  }

  #begin(calls: readonly Call[], index: number): Process {
    const skew = this.#scope.skews?.[index] ?? 0;
    const driver = this.#drivers.driverOf(index, {
      capabilities: this.database.capabilities,
      wall: () => this.now + skew,
      monotonic: () => this.now,
      send: (verb, request) => this.#send(process, verb, request),
    });
    const state = { learned: "", named: 0, made: 0, isBusy: false, isDead: false };
    const process: Process = { index, driver, calls, ...state };
    this.#processes.push(process);
    return process;
  }

  #send(process: Process, verb: Verb, request: readonly unknown[]): Promise<unknown> {
    if (process.isDead) return new Promise(() => undefined);
    this.#requests += 1;
    if (this.#requests > MOST_REQUESTS * (1 + this.#scope.processes.length))
      this.failure ??= new Violation("the calls never end");
    const order = this.#orderOf(process, verb, request);
    return new Promise((resolve, reject) => {
      this.#pending.push({ order, process, resolve, reject });
    });
  }

  #orderOf(process: Process, verb: Verb, request: readonly unknown[]): Order {
    const [first, second, ...rest] = request;
    if (verb === "swap") {
      const { head } = first as { head: Head };
      this.#nameNew(process, head.incarnation);
      const words = `swap ${JSON.stringify((first as { expected?: { token: string } }).expected?.token)} ${this.#describe(head)}`;
      const apply = (database: DocumentDatabase) =>
        database.swap(first as Parameters<DocumentDatabase["swap"]>[0]);
      return { verb, ids: [], apply, words: this.#named(words) };
    }
    const list = Array.isArray(second) ? (second as readonly (string | Page)[]) : [];
    const ids = list.map((one) => (typeof one === "string" ? one : one.id));
    if (verb === "write") for (const id of ids) this.#nameNew(process, id);
    const words = list.map((one) => (typeof one === "string" ? this.#named(one) : this.#describe(one)));
    const apply = (database: DocumentDatabase, only?: readonly string[]) => {
      const part = only ? list.filter((_, index) => only.includes(ids[index] ?? "")) : list;
      const args = Array.isArray(second) ? [first, part, ...rest] : request;
      return Reflect.apply(Reflect.get(database, verb), database, args) as Promise<unknown>;
    };
    if (verb === "raise" && rest[0] === undefined) this.#mayNeverExpire = true;
    const isWrite = verb === "write" || verb === "raise" || verb === "remove";
    return { verb, ids: isWrite ? ids : [], apply, words: `${verb} ${words} ${JSON.stringify(rest)}` };
  }

  /** The newest revision from before the exploration. */
  get #known(): string | undefined {
    const results = this.events.slice(0, this.#eventsBefore).map(({ result }) => result);
    const last = results.findLast((result) => result?.kind === "committed");
    return last?.kind === "committed" ? (last.revision ?? undefined) : undefined;
  }

  #startCalls(): void {
    for (const process of this.#processes) {
      const call = process.calls[process.made];
      if (!call || process.isBusy || process.isDead || (call.after ?? 0) > this.#jumped) continue;
      void this.#run(process, call);
    }
  }

  /** Makes a call, and repeats it while the connection is lost. */
  async #run(process: Process, call: Call): Promise<void> {
    const known = this.#known;
    const event: Event = {
      ...{ call, expected: call.kind === "commit" && call.expectsKnown ? known : undefined },
      ...{ begin: this.#moment++, beginWall: this.now },
      ...{ end: NEVER, endWall: NEVER },
    };
    this.events.push(event);
    process.isBusy = true;
    process.made += 1;
    process.learned = hashOf(`${process.learned} begin ${this.now}`);
    const name = `${process.index}-${process.made}`;
    const documents = this.#documents;
    const isRemoving = call.kind === "delete" || (call.kind === "commit" && call.drop === "all");
    const present = isRemoving && documents.head ? listedIds(documents.head) : [];
    for (let attempt = 0; !process.isDead; attempt++) {
      try {
        const target = {
          driver: process.driver,
          threadId: this.#thread,
          operationId: name,
          attempt,
          now: this.now,
        };
        const result = await makeCall(event, target);
        if (process.isDead) return;
        Object.assign(event, { end: this.#moment++, endWall: this.now, result });
        const left = present.filter((id) => documents.pages.has(id));
        if (left.length > 0) this.failure ??= new Violation(`${left} are at rest after a ${call.kind}`);
      } catch (error) {
        if (process.isDead) return;
        if (error instanceof ConnectionLost && this.now - event.beginWall < REPEATED_WITHIN_MS) continue;
        // The outcome stays unknown: the time in which a store repeats a call has passed.
        const isTooLate = StoreError.is(error) && error.message.startsWith("the outcome is unknown");
        if (!(error instanceof ConnectionLost) && !isTooLate)
          this.failure ??= new Violation(`a ${call.kind} failed with ${error}`);
      }
      process.isBusy = false;
      return;
    }
  }

  #addFaults(steps: Step[], pending: Pending, process: Process): void {
    const { faults = [], mostFaults = 0 } = this.#scope;
    if (this.#faults >= mostFaults) return;
    const { order } = pending;
    const isWrite = ["swap", "write", "raise", "remove"].includes(order.verb);
    const add = (kind: FaultKind, take: () => unknown, words: string = kind) => {
      if (!faults.includes(kind)) return;
      steps.push({
        name: () => `${words}: ${this.#nameOf(pending)}`,
        take: () => {
          this.#faults += 1;
          return take();
        },
      });
    };
    const leaveUnderWay = () => {
      this.#mayLeave = true;
      this.#pending.push({ ...pending, process: undefined });
    };
    add("lost request", () => this.#settle(pending, "lost"));
    if (isWrite) {
      add("lost reply", () => this.#settle(pending, "lost reply"));
      add("late", () => {
        leaveUnderWay();
        return this.#settle(pending, "lost");
      });
    }
    for (const only of order.ids.length > 1 ? order.ids : [])
      add("torn", () => this.#settle(pending, [only]), `torn, it reaches ${this.#named(only)}`);
    add("crash", () => this.#crash(process));
    if (isWrite)
      add(
        "crash",
        () => {
          leaveUnderWay();
          this.#crash(process);
        },
        "crash, and it is under way",
      );
  }

  #crash(process: Process): void {
    process.isDead = true;
    this.#mayLeave = true;
    for (const pending of [...this.#pending]) if (pending.process === process) this.#remove(pending);
  }

  /** A request takes effect, unless it is lost, and its reply arrives, unless that is lost. An array: the ids that it reaches. */
  async #settle(pending: Pending, fault?: "lost" | "lost reply" | readonly string[]): Promise<void> {
    const { order, process } = pending;
    this.#remove(pending);
    const only = Array.isArray(fault) ? fault : undefined;
    const value = fault === "lost" ? undefined : await order.apply(this.database, only);
    if (!process) return;
    const learned = fault ? String(fault) : this.#describe({ value });
    process.learned = hashOf(`${process.learned} ${order.verb}: ${learned} ${this.now}`);
    if (fault) pending.reject(LOST);
    else pending.resolve(value);
  }

  #nameOf({ order, process }: Pending): string {
    return `${process ? `process ${process.index}` : "a request under way"}: ${order.words}`;
  }

  #remove(pending: Pending): void {
    this.#pending.splice(this.#pending.indexOf(pending), 1);
  }

  #nameNew(process: Process, id: string): void {
    const seed = id.slice(0, 12);
    if (id.startsWith("call") || this.#names.has(seed)) return;
    process.named += 1;
    this.#names.set(seed, `${process.index}#${process.named}:`);
  }

  #named(text: string): string {
    return text.replace(/[\w-]{12,}/g, (token) => {
      const name = this.#names.get(token.slice(0, 12));
      return name === undefined ? token : name + token.slice(12);
    });
  }

  #describe(value: object): string {
    const known = this.#described.get(value);
    if (known !== undefined) return known;
    const text = JSON.stringify(value, (name, part) =>
      name === "operations" ? Buffer.from(part).toString("hex") : part,
    );
    const words = this.#named(text);
    this.#described.set(value, words);
    return words;
  }

  async #runAlone(process: Process, call: Call): Promise<void> {
    await this.#answerUntil(this.#run(process, call));
    if (this.failure) throw this.failure;
  }

  async #answerUntil(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    for (await settled(); !isDone; await settled()) {
      if (this.failure) throw this.failure;
      for (const pending of [...this.#pending]) await this.#settle(pending);
    }
  }
}

/** Resolves when no code is running any more: a tick that a microtask requests comes after all microtasks. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

/** A hash of 53 bits. */
export function hashOf(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2_654_435_761);
    b = Math.imul(b ^ code, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return `${(b >>> 0).toString(36)}.${(a >>> 0).toString(36)}`;
}
