// Exceeds 300 lines because the steps of an execution, their faults and its key share one state.

import { StoreError } from "@scrollback/store-core";
import type { RecordLogDriver } from "../../src/index.ts";
import { FIRST_ROW } from "../../src/record-log.ts";
import { ROOT_LATE_MS } from "../../src/simulator/network.ts";
import { hashOf, subsetsOf } from "./choices.ts";
import { Drivers, type Surroundings } from "./drivers.ts";
import type { Call, Event } from "./history.ts";
import { type Order, Rows } from "./log.ts";
import { makeCall } from "./make-call.ts";
import type { FaultKind, Scope } from "./scope.ts";
import { START, Words } from "./words.ts";

/** More than any call needs. */
const MOST_REQUESTS = 60;

class ConnectionLost extends Error {}

/** A broken promise. */
export class Violation extends Error {}

interface Pending {
  readonly order: Order;
  readonly sentAt: number;
  readonly process: Process | undefined;
  /** The effect was made; only the reply is missing. */
  reply?: { readonly value: unknown };
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Process {
  readonly index: number;
  readonly driver: RecordLogDriver;
  /** Everything that it has learned: its state is a function of it. */
  learned: string;
  sent: number;
  calls: readonly Call[];
  isBusy: boolean;
  isDead: boolean;
}

/** A step that can be taken: its name, and what it does. */
export interface Step {
  readonly isDeletion: boolean;
  name(): string;
  take(): void;
}

/** One execution: the processes, the rows, the requests under way, and the history of the calls. */
export class World {
  readonly events: Event[] = [];
  readonly rows: Rows;
  now: number;
  readonly #scope: Scope;
  readonly #drivers: Drivers;
  readonly #stream: string;
  readonly #processes: Process[] = [];
  readonly #pending: Pending[] = [];
  readonly #words: Words;
  readonly #eventsBefore: number;
  #jumped = 0;
  #faults = 0;
  #moment = 0;
  #operations = 0;
  #requests = 0;
  #deletions = 0;
  #hasJustDeleted = false;
  failure: unknown;

  constructor(scope: Scope, drivers: Drivers, from?: World) {
    this.#scope = scope;
    this.#drivers = drivers;
    this.#stream = drivers.newStream();
    this.rows = new Rows(from?.rows.all());
    this.now = from?.now ?? START;
    this.#words = new Words(from ? from.#words : undefined);
    this.#moment = from ? from.#moment : 0;
    this.#operations = from ? from.#operations : 0;
    this.events.push(...(from?.events ?? []));
    this.#eventsBefore = this.events.length;
  }

  /** Runs the part before the exploration. */
  static async prepare(scope: Scope): Promise<World> {
    const world = new World(scope, new Drivers());
    const process = world.#begin([]);
    for (const step of scope.before) {
      if (typeof step !== "number") await world.#runAlone(process, step);
      else {
        world.now += step;
        world.rows.delete(world.rows.expired(world.now).map(({ number }) => number));
      }
    }
    return world;
  }

  begin(): void {
    for (const calls of this.#scope.processes) this.#begin(calls);
    this.#startCalls();
  }

  /** The calls of a new process after everything: they must work, and agree with the history. */
  async conclude(): Promise<void> {
    for (const process of this.#processes) process.isDead = true;
    this.#pending.length = 0;
    const process = this.#begin([]);
    const read: Call = { kind: "read" };
    await this.#runAlone(process, read);
    const seen = this.events.at(-1)?.result;
    const listing = process.driver.list({ prefix: "", limit: 10, cursor: undefined, signal: undefined });
    await this.#answerUntil(listing);
    const { threads, corrupt = [] } = await listing;
    const isThere = seen?.kind === "seen" && seen.revision !== null;
    if (threads.length !== (isThere ? 1 : 0) || corrupt.length > 0)
      throw new Violation(`${threads.length} threads are listed, and ${corrupt.length} damaged ones`);
    await this.#runAlone(process, { kind: "commit", append: "z" });
    await this.#runAlone(process, read);
  }

  /** The steps that can be taken now. `isQuiet`: no call is under way. */
  steps(): { readonly steps: Step[]; readonly isQuiet: boolean } {
    const steps: Step[] = [];
    const add = (name: () => string, take: () => void, isDeletion = false) =>
      steps.push({ name, take, isDeletion });
    for (const pending of [...this.#pending]) {
      add(
        () => this.#nameOf(pending),
        () => this.#settle(pending),
      );
      if (pending.process && !pending.reply) this.#addFaults(steps, pending);
    }
    const { jumps = [] } = this.#scope;
    const jump = jumps[this.#jumped];
    const isDone = ({ isBusy, isDead }: Process) => isDead || !isBusy;
    const { jumpsAfter = [] } = this.#scope;
    const isJumpDue = jumpsAfter.every((index) => this.#processes.slice(index, index + 1).every(isDone));
    const mustArrive = ({ order, sentAt, reply }: Pending, until: number) =>
      !reply && isOfRoots(order) && sentAt + ROOT_LATE_MS < until;
    if (jump !== undefined && isJumpDue && !this.#pending.some((one) => mustArrive(one, this.now + jump))) {
      add(
        () => `${jump / 86_400_000} days pass`,
        () => {
          this.now += jump;
          this.#jumped += 1;
        },
      );
    }
    if (!this.#hasJustDeleted && this.#deletions < (this.#scope.mostDeletions ?? 1)) {
      for (const numbers of this.#deletable()) {
        const take = () => {
          this.rows.delete(numbers);
          this.#deletions += 1;
        };
        add(() => `the backend deletes ${numbers.map((number) => this.#words.number(number))}`, take, true);
      }
    }
    return { steps, isQuiet: this.#processes.every(isDone) };
  }

  /** Called after a step, when nothing moves any more. */
  afterStep(): void {
    if (this.failure) throw this.failure;
    this.#startCalls();
  }

  take(step: Step): void {
    step.take();
    this.#hasJustDeleted = step.isDeletion;
  }

  /** Equal for two executions whose futures are the same. */
  key(): string {
    const rows = this.rows.all().map((row) => this.#words.row(row));
    const processes = this.#processes.map(({ learned, isDead, calls }) => [!isDead && learned, calls.length]);
    const pending = this.#pending.map((one) => this.#nameOf(one)).sort();
    const events = this.events.map((event) => this.#words.named(JSON.stringify(event)));
    const own = [this.now, this.#jumped, this.#faults, this.#deletions, this.#hasJustDeleted];
    return JSON.stringify([rows, processes, pending, events, own]);
  }

  #begin(calls: readonly Call[]): Process {
    const index = this.#processes.length;
    const skew = this.#scope.skews?.[index] ?? 0;
    const surroundings: Surroundings = {
      wall: () => this.now + skew,
      monotonic: () => this.now,
      send: (order) => this.#send(process, order),
      stream: this.#stream,
    };
    const driver = this.#drivers.driverOf(index, surroundings);
    const process: Process = { index, driver, calls, learned: "", sent: 0, isBusy: false, isDead: false };
    this.#processes.push(process);
    return process;
  }

  #send(process: Process, order: Order): Promise<unknown> {
    if (process.isDead) return new Promise(() => undefined);
    this.#requests += 1;
    if (this.#requests > MOST_REQUESTS * (1 + this.#scope.processes.length))
      this.failure ??= new Violation("the calls never end");
    if (order.verb === "insert") {
      process.sent += 1;
      this.#words.nameRow(order.row, process.index, process.sent);
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ order, sentAt: this.now, process, resolve, reject });
    });
  }

  /** The newest revision from before the exploration. */
  get #known(): string | undefined {
    const results = this.events.slice(0, this.#eventsBefore).map(({ result }) => result);
    const last = results.findLast((result) => result?.kind === "committed");
    return last?.kind === "committed" ? (last.revision ?? undefined) : undefined;
  }

  #startCalls(): void {
    for (const process of this.#processes) {
      const [call, ...calls] = process.calls;
      if (!call || process.isBusy || process.isDead || (call.after ?? 0) > this.#jumped) continue;
      process.calls = calls;
      void this.#run(process, call);
    }
  }

  /** Makes a call, and repeats it while the connection is lost. */
  async #run(process: Process, call: Call): Promise<void> {
    const known = this.#known;
    const event: Event = {
      ...{ call, expected: call.kind === "commit" && call.expectsKnown ? known : undefined },
      ...{ begin: this.#moment++, beginWall: this.now },
      ...{ end: Number.POSITIVE_INFINITY, endWall: Number.POSITIVE_INFINITY },
    };
    this.events.push(event);
    process.isBusy = true;
    const operation = `o${++this.#operations}`;
    const present = call.kind === "delete" ? this.#textRows() : [];
    for (let isNew = true; !process.isDead; isNew = false) {
      try {
        const result = await makeCall(event, {
          ...{ driver: process.driver, threadId: this.#stream, operationId: operation },
          ...{ isNewOperation: isNew, now: this.now },
        });
        if (process.isDead) return;
        Object.assign(event, { end: this.#moment++, endWall: this.now, result });
        if (result.kind === "deleted") this.#checkBlank(present);
      } catch (error) {
        if (error instanceof ConnectionLost || (StoreError.is(error, "UNAVAILABLE") && error.retryable))
          continue;
        // It can happen only to a caller that repeats a call days later.
        if (!StoreError.is(error, "UNAVAILABLE") && !process.isDead)
          this.failure ??= new Violation(`a ${call.kind} failed with ${error}`);
      }
      process.isBusy = false;
      return;
    }
  }

  /** The rows with messages. */
  #textRows(): number[] {
    return this.rows
      .all()
      .filter(({ texts }) => texts.some((text) => text.length > 1))
      .map(({ number }) => number);
  }

  #checkBlank(present: readonly number[]): void {
    const left = this.#textRows().filter((number) => present.includes(number));
    if (left.length > 0) this.failure ??= new Violation(`rows ${left} have texts after a deletion`);
  }

  #addFaults(steps: Step[], pending: Pending): void {
    const { faults = [], mostFaults = 0, jumps = [] } = this.#scope;
    if (this.#faults >= mostFaults) return;
    const { order, process } = pending;
    if (!process) return;
    const isWrite = order.verb === "insert" || order.verb === "amend";
    const add = (kind: FaultKind, take: () => void, words = (): string => kind) => {
      if (!faults.includes(kind)) return;
      steps.push({
        isDeletion: false,
        name: () => `${words()}: ${this.#nameOf(pending)}`,
        take: () => {
          this.#faults += 1;
          take();
        },
      });
    };
    add("lost request", () => this.#settle(pending, "lost request"));
    if (isWrite) add("lost reply", () => this.#settle(pending, "lost reply"));
    if (this.#jumped < jumps.length) {
      add("slow reply", () => {
        pending.reply = { value: this.rows.apply(order) };
      });
    }
    if (isWrite) {
      add("doubled", () => {
        this.#pending.push({ ...pending, process: undefined });
        this.#settle(pending);
      });
      add(
        "crash",
        () => this.#crash(process, pending),
        () => "crash, and it is under way",
      );
    }
    add("crash", () => this.#crash(process));
    if (order.verb === "amend") {
      for (const only of subsetsOf(this.rows.touchedBy(order.amendments), this.#scope.mostFree)) {
        add(
          "torn",
          () => {
            this.rows.apply(order, only);
            this.#crash(process);
          },
          () => `crash, after it reached ${only.map((number) => this.#words.number(number))}`,
        );
      }
    }
  }

  #crash(process: Process, underWay?: Pending): void {
    process.isDead = true;
    for (const pending of [...this.#pending]) if (pending.process === process) this.#remove(pending);
    if (underWay) this.#pending.push({ ...underWay, process: undefined });
  }

  /** A request takes effect, unless it is lost, and its reply arrives, unless that is lost. */
  #settle(pending: Pending, fault?: "lost request" | "lost reply"): void {
    const { order, process, reply } = pending;
    this.#remove(pending);
    const value = reply ? reply.value : fault === "lost request" ? undefined : this.rows.apply(order);
    if (!process) return;
    process.learned = hashOf(
      `${process.learned} ${order.verb}: ${fault ?? this.#words.ofReply(value)} ${this.now}`,
    );
    if (fault) pending.reject(new ConnectionLost());
    else pending.resolve(value);
  }

  #nameOf({ order, process, reply }: Pending): string {
    const who = process ? `process ${process.index}` : "a request under way";
    return `${who}: ${reply ? "reply to " : ""}${this.#words.ofOrder(order)}`;
  }

  #remove(pending: Pending): void {
    this.#pending.splice(this.#pending.indexOf(pending), 1);
  }

  #deletable(): readonly number[][] {
    const numbers = this.rows.expired(this.now).map(({ number }) => number);
    return subsetsOf(numbers, this.#scope.mostFree).filter(({ length }) => length > 0);
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
      for (const pending of [...this.#pending]) this.#settle(pending);
    }
  }
}

/** Resolves when no code is running any more: a tick that a microtask requests comes after all microtasks. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

function isOfRoots(order: Order): boolean {
  if (order.verb === "insert") return order.row.number < FIRST_ROW;
  return order.verb === "amend" && order.amendments.some(({ from }) => from < FIRST_ROW);
}
