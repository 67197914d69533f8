import {
  type Amendment,
  type CommitRequest,
  type LogRow,
  type RecordLog,
  RecordLogDriver,
  StoreError,
} from "@scrollback/store-core";
import type { Call, Event, Result } from "./history.ts";
import { type Order, Rows } from "./log.ts";
import type { FaultKind, Scope } from "./scope.ts";

const START = 1_800_000_000_000;
const STREAM = "thread";
const RECORD = "1u0000000000000";
/** More than any call needs. */
const MOST_REQUESTS = 60;

class ConnectionLost extends Error {}

/** A broken promise. */
export class Violation extends Error {}

interface Pending {
  readonly order: Order;
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
  readonly #processes: Process[] = [];
  readonly #pending: Pending[] = [];
  readonly #names: Map<string, string>;
  readonly #prefix: string;
  readonly #eventsBefore: number;
  readonly #described = new WeakMap<LogRow, string>();
  #jumped = 0;
  #faults = 0;
  #moment = 0;
  #operations = 0;
  #requests = 0;
  #deletions = 0;
  #hasJustDeleted = false;
  failure: unknown;

  constructor(scope: Scope, from?: World) {
    this.#scope = scope;
    this.rows = new Rows(from?.rows.all());
    this.now = from?.now ?? START;
    this.#names = new Map(from?.#names);
    this.#prefix = from ? "" : "before ";
    this.#moment = from?.#moment ?? 0;
    this.#operations = from?.#operations ?? 0;
    this.events.push(...(from?.events ?? []));
    this.#eventsBefore = this.events.length;
  }

  /** Runs the part before the exploration. */
  static async prepare(scope: Scope): Promise<World> {
    const world = new World(scope);
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
    if (jump !== undefined && isJumpDue) {
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
        add(() => `the backend deletes ${numbers.map((number) => this.#short(number))}`, take, true);
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
    const rows = this.rows.all().map((row) => this.#describe(row));
    const processes = this.#processes.map(({ learned, isDead, calls }) => [
      isDead ? "" : learned,
      isDead,
      calls.length,
    ]);
    const pending = this.#pending.map((one) => this.#nameOf(one)).sort();
    const events = this.events.map(({ begin, end, beginWall, endWall, result }) => [
      ...[begin, end, beginWall, endWall, result],
    ]);
    const own = [this.now, this.#jumped, this.#faults, this.#deletions, this.#hasJustDeleted];
    return JSON.stringify([
      rows,
      processes,
      pending,
      events.map((one) => this.#named(JSON.stringify(one))),
      own,
    ]);
  }

  #begin(calls: readonly Call[]): Process {
    const index = this.#processes.length;
    const skew = this.#scope.skews?.[index] ?? 0;
    const clock = {
      wall: () => this.now + skew,
      monotonic: () => this.now,
      sleep: async () => undefined,
    };
    const send = <T>(order: Order): Promise<T> => this.#send(process, order) as Promise<T>;
    const log: RecordLog = {
      capabilities: {
        ...{ backend: "explored", sharing: "network", maxRowBytes: 65_536 },
        roundTrips: { commit: 1, read: 1 },
      },
      insert: (_, row) => send({ verb: "insert", row }),
      read: (_, below, limit) => send({ verb: "read", below, limit }),
      amend: (_, amendments) => send({ verb: "amend", amendments }),
      streams: () => send({ verb: "streams" }),
      close: async () => undefined,
      classifyError: () => undefined,
    };
    const driver = new RecordLogDriver(log, { clock });
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
      const { t } = JSON.parse(order.row.head) as { t: string };
      // The name of its process's first, second … row, so that two executions can be compared.
      this.#names.set(t, `${this.#prefix}${process.index}#${process.sent}`);
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ order, process, resolve, reject });
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
        const result = await this.#make(process, event, operation, isNew);
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

  async #make(
    { driver }: Process,
    { call, expected }: Event,
    operationId: string,
    isNewOperation: boolean,
  ): Promise<Result> {
    const target = { threadId: STREAM, signal: undefined };
    if (call.kind === "read") {
      const view = await driver.read({
        ...{
          ...target,
          limit: Number.POSITIVE_INFINITY,
          before: undefined,
          after: undefined,
          metadata: true,
        },
      });
      return {
        kind: "seen",
        revision: view.revision,
        texts: view.entries.map(({ record }) => (record === "" ? "(missing)" : record.slice(RECORD.length))),
      };
    }
    if (call.kind === "delete") {
      await driver.delete({ ...target, operationId, expectedRevision: undefined });
      return { kind: "deleted" };
    }
    const { append = "", drop = 0, maxMessages, ttlMs } = call;
    const request: CommitRequest = {
      ...{ ...target, operationId, digest: `of ${operationId}`, isNewOperation, newIncarnation: "" },
      ...{ drop, metadata: undefined, maxMessages, trimming: "exact", ttlMs },
      append: [...append].map((letter) => RECORD + letter),
      expectedRevision: expected,
      ...{ createdAt: this.now, updatedAt: this.now },
    };
    const { outcome, revision } = await driver.commit(request);
    return { kind: outcome.endsWith("-conflict") ? "conflict" : "committed", revision };
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
          () => `crash, after it reached ${only.map((number) => this.#short(number))}`,
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
    process.learned = hashOf(`${process.learned} ${order.verb}: ${fault ?? this.#told(value)} ${this.now}`);
    if (fault) pending.reject(new ConnectionLost());
    else pending.resolve(value);
  }

  #remove(pending: Pending): void {
    this.#pending.splice(this.#pending.indexOf(pending), 1);
  }

  #deletable(): number[][] {
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

  #told(value: unknown): string {
    if (Array.isArray(value)) return value.map((part) => this.#told(part)).join();
    return isRow(value) ? this.#describe(value) : JSON.stringify(value);
  }

  #nameOf({ order, process, reply }: Pending): string {
    const who = process ? `process ${process.index}` : "a request under way";
    return `${who}: ${reply ? "reply to " : ""}${this.#words(order)}`;
  }

  #words(order: Order): string {
    if (order.verb === "insert") return `insert ${this.#describe(order.row)}`;
    if (order.verb === "read") return `read ${order.limit} below ${this.#short(order.below)}`;
    return order.verb === "amend" ? `amend ${order.amendments.map((one) => this.#change(one))}` : order.verb;
  }

  #change({ from, to, blank, expiresAt, extend }: Amendment): string {
    const rows = to === from + 1 ? this.#short(from) : `${this.#short(from)}-${this.#short(to - 1)}`;
    const until = expiresAt && ` expires ${this.#time(expiresAt)}`;
    const later =
      extend && ` at least ${this.#time(extend.atLeast)} to ${this.#time(extend.to ?? undefined)}`;
    return `${rows}${blank ? ` blank ${JSON.stringify(blank)}` : ""}${until ?? ""}${later ?? ""}`;
  }

  #describe(row: LogRow): string {
    const known = this.#described.get(row);
    if (known !== undefined) return known;
    const { number, head, texts, expiresAt } = row;
    const shown = texts.map((text) => text.slice(RECORD.length) || "-").join("");
    const words = this.#named(`${this.#short(number)} [${shown}] until ${this.#time(expiresAt)} ${head}`);
    this.#described.set(row, words);
    return words;
  }

  #short(number: number): string {
    return number < 2 ** 40 ? `root ${number}` : number > 2 ** 53 ? "end" : `${number - START * 2_048}`;
  }

  #time(time: number | undefined): string {
    return time === undefined ? "never" : `day ${Math.round((time - START) / 864) / 100_000}`;
  }

  #named(text: string): string {
    return text.replace(/[\w-]{16}/g, (token) => this.#names.get(token) ?? token);
  }
}

function isRow(value: unknown): value is LogRow {
  return typeof value === "object" && value !== null && "head" in value;
}

/** Resolves when no code is running any more: a tick that a microtask requests comes after all microtasks. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

const subsets = new Map<string, readonly number[][]>();

/** Every subset of few elements; of more, those that begin or end anywhere, and those without one element, or with only one. */
function subsetsOf(all: readonly number[], mostFree = 6): readonly number[][] {
  const key = `${mostFree} ${all}`;
  const known = subsets.get(key);
  if (known) return known;
  const around = (one: number, index: number) => [
    ...[all.slice(0, index), all.slice(index)],
    ...[[one], all.filter((other) => other !== one)],
  ];
  const made =
    all.length <= mostFree
      ? Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_, index) => bits & (1 << index)))
      : [all.slice(), ...all.flatMap(around)];
  const distinct = [...new Map(made.map((subset) => [subset.join(), subset])).values()];
  subsets.set(key, distinct);
  return distinct;
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
