import { AsyncLocalStorage } from "node:async_hooks";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import type {
  CommitRequest,
  DeleteRequest,
  Driver,
  EntryIndex,
  EntryPage,
  StoredEntry,
} from "@scrollback/store-core/driver";
import { KeptDriver } from "../../../../conformance-tests/test/fixtures/kept-driver.ts";

/** A request that was sent and not answered. */
export interface Request {
  readonly process: number;
  /** For traces. */
  readonly name: string;
  readonly isWrite: boolean;
  /** {@link Network.applied} when it was sent. */
  readonly sentAt: number;
  /** It was sent before, and its reply was lost. The database then remembers it only for a time. */
  readonly isRepeated: boolean;
  readonly isInsert: boolean;
  /** Takes effect at once. */
  apply(): Promise<unknown>;
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

interface Timer {
  readonly process: number;
  readonly at: number;
  readonly run: () => void;
}

/** What a process is told about a request, and what happens to the request. */
export interface Loss {
  /** Whether the request takes effect now, or may do so at any time later. */
  readonly when: "now" | "later";
  /** Whether the store repeats it, or the caller is told that the outcome is unknown. */
  readonly outcome: "repeat" | "giveUp";
}

const LOST = new Error("the connection was lost");
/** Above the time for which a store repeats a request, and for which a driver remembers one. */
const GIVEN_UP_MS = 15_000;

export const DAY = 86_400_000;
/** When each run begins. */
export const START = 1_700_000_000_000;

/** A database in memory, on a virtual clock, and the requests of several processes to it, each of which waits to be delivered. */
export class Network {
  now = START;
  readonly base = new KeptDriver({ clock: { wall: () => this.now } });
  requests: Request[] = [];
  /** The requests that may arrive later. */
  late: Request[] = [];
  timers: Timer[] = [];
  /** The replies that each process got. */
  readonly histories: string[] = [];
  /** The number of writes that took effect. */
  applied = 0;
  /** What was deleted, by requests that were sent after so many writes. */
  readonly deletions: { readonly threadId: string; readonly sentAt: number }[] = [];
  readonly trace: string[] = [];
  readonly #skews: number[] = [];
  readonly #delays: number[] = [];
  readonly #ids: number[] = [];
  readonly #dead = new Set<number>();
  /** The process whose code is running. */
  #running = 0;

  /** Adds a process whose clock is wrong by `skew` milliseconds. Returns its number. */
  begin(skew = 0): number {
    this.#skews.push(skew);
    this.#delays.push(0);
    this.#ids.push(0);
    return this.histories.push("") - 1;
  }

  isAlive(process: number): boolean {
    return !this.#dead.has(process);
  }

  /** The clock of a process. A pause ends at once. */
  clockOf(process: number) {
    return {
      wall: () => this.now + (this.#skews[process] ?? 0),
      monotonic: () => this.now + (this.#delays[process] ?? 0),
      sleep: async () => undefined,
      timer: (ms: number, run: () => void) => {
        const timer = { process, at: this.now + ms, run };
        this.timers.push(timer);
        return () => {
          this.timers = this.timers.filter((one) => one !== timer);
        };
      },
    };
  }

  /** A name that is used once: of the process that is running and the number of its names, so that each run makes the same. */
  newName(): string {
    const count = (this.#ids[this.#running] ?? 0) + 1;
    this.#ids[this.#running] = count;
    return `p${this.#running}n${count}`;
  }

  /** Runs code of a process until it waits. */
  async run(process: number, work: () => void): Promise<void> {
    this.#running = process;
    work();
    await settled();
  }

  /** Lets a request take effect, and its process go on. */
  async deliver(request: Request): Promise<void> {
    this.#take(request);
    const outcome = await this.#apply(request);
    this.#reply(request, outcome.text);
    await this.run(request.process, () => outcome.settle(request));
  }

  /** Loses a request or its reply. */
  async lose(request: Request, { when, outcome }: Loss): Promise<void> {
    this.#take(request);
    this.trace.push(`p${request.process} ${request.name}: lost, applied ${when}, ${outcome}`);
    if (when === "now") await this.#apply(request);
    else if (request.isWrite)
      this.late.push(outcome === "repeat" ? { ...request, isRepeated: true } : request);
    this.histories[request.process] += `!${when}${outcome};`;
    if (outcome === "giveUp")
      this.#delays[request.process] = (this.#delays[request.process] ?? 0) + GIVEN_UP_MS;
    await this.run(request.process, () => request.reject(LOST));
  }

  /** Ends a process. Its requests may arrive later. */
  crash(process: number): void {
    this.trace.push(`p${process} dies`);
    this.#dead.add(process);
    this.late.push(...this.requests.filter((one) => one.process === process && one.isWrite));
    this.requests = this.requests.filter((one) => one.process !== process);
    this.timers = this.timers.filter((one) => one.process !== process);
  }

  /** Lets a late request take effect. */
  async arrive(request: Request): Promise<void> {
    this.late = this.late.filter((one) => one !== request);
    const { text } = await this.#apply(request);
    this.trace.push(`late: p${request.process} ${request.name} -> ${text}`);
  }

  async fire(timer: Timer): Promise<void> {
    this.timers = this.timers.filter((one) => one !== timer);
    this.now = Math.max(this.now, timer.at);
    this.histories[timer.process] += "t;";
    this.trace.push(`p${timer.process} timer`);
    await this.run(timer.process, timer.run);
  }

  /** Lets time pass. A request that was repeated arrives within seconds, or not at all. */
  async pass(ms: number): Promise<void> {
    this.now += ms;
    if (ms < GIVEN_UP_MS) return;
    this.trace.push(`${ms / 3_600_000} hours pass`);
    this.late = this.late.filter(({ isRepeated }) => !isRepeated);
    for (const request of this.requests.filter(({ isRepeated }) => isRepeated))
      await this.lose(request, { when: "later", outcome: "giveUp" });
    this.late = this.late.filter(({ isRepeated }) => !isRepeated);
  }

  /** Replaces the metadata of a thread, or loses the thread, behind the back of all processes. */
  async replace(threadId: string, metadata?: string, expiresAt?: number): Promise<void> {
    const operationId = crypto.randomUUID();
    this.applied += 1;
    if (metadata === undefined) {
      await this.base.delete({ threadId, operationId, expectedRevision: undefined, signal: undefined });
      return;
    }
    await this.base.commit({
      ...{ threadId, operationId, digest: "", newIncarnation: operationId, expectedRevision: undefined },
      ...{ drop: 0, append: [], metadata, maxMessages: undefined, trimming: "exact" as const },
      ...{ ttlMs: expiresAt === undefined ? undefined : expiresAt - this.now, signal: undefined },
      ...{ createdAt: this.now, updatedAt: this.now },
    });
  }

  /** A driver of one process. */
  driverOf(process: number): Driver {
    const { base } = this;
    const send = <T>(name: string, isWrite: boolean, work: () => Promise<T>, isRepeated = false) =>
      new Promise<T>((resolve, reject) => {
        if (this.#dead.has(process)) return;
        const sent = { process, name, isWrite, isRepeated, sentAt: this.applied };
        const isInsert = name.startsWith("insert");
        this.requests.push({
          ...sent,
          isInsert,
          apply: work,
          resolve: (reply) => resolve(reply as T),
          reject,
        });
      });
    const { index } = base;
    const entries: EntryIndex = {
      insertEntry: (put) =>
        send(`insert ${put.index} ${put.key} ${put.id}`, true, () => index.insertEntry(put)),
      updateEntry: (put) =>
        send(`update ${put.index} ${put.key} ${put.id} ${put.version}`, true, () => index.updateEntry(put)),
      removeEntry: (place) =>
        send(`remove ${place.index} ${place.key} ${place.id}`, true, () => index.removeEntry(place)),
      entriesOf: (request) => send(`entriesOf ${request.index}`, false, () => index.entriesOf(request)),
      listEntries: (request) => send(`list ${request.index}`, false, () => index.listEntries(request)),
      listIndexes: (request) => send("indexes", false, () => index.listIndexes(request)),
    };
    const isSecond = ({ sendBefore }: CommitRequest | DeleteRequest) => sendBefore !== undefined;
    const deletion = async (request: DeleteRequest, sentAt: number) => {
      const outcome = await base.delete(request);
      if (outcome.outcome === "deleted") this.deletions.push({ threadId: request.threadId, sentAt });
      return outcome;
    };
    return {
      capabilities: base.capabilities,
      commit: (request) =>
        send(`commit ${request.threadId}`, true, () => base.commit(request), isSecond(request)),
      read: (request) => send(`read ${request.threadId}`, false, () => base.read(request)),
      delete: (request) => {
        const sentAt = this.applied;
        return send(`delete ${request.threadId}`, true, () => deletion(request, sentAt), isSecond(request));
      },
      list: (request) => send("threads", false, () => base.list(request)),
      index: entries,
      close: async () => undefined,
      classifyError: (error) =>
        error === LOST
          ? { code: "UNAVAILABLE", message: "the connection was lost", retryable: true }
          : undefined,
    };
  }

  #take(request: Request): void {
    this.requests = this.requests.filter((one) => one !== request);
  }

  async #apply(request: Request) {
    if (request.isWrite) this.applied += 1;
    const [reply] = await Promise.allSettled([request.apply()]);
    if (reply.status === "rejected") throw reply.reason;
    const { value } = reply;
    return { text: textOf(value), settle: ({ resolve }: Request) => resolve(value) };
  }

  #reply({ process, name }: Request, text: string): void {
    this.histories[process] += `${text};`;
    this.trace.push(`p${process} ${name} -> ${text}`);
  }
}

/** A reply without the parts that chance made. */
function textOf(reply: unknown): string {
  const { entries, next } = Object(reply) as Partial<EntryPage>;
  const { metadata, outcome } = Object(reply) as { metadata?: string; outcome?: string };
  if (outcome !== undefined) return outcome;
  if (metadata !== undefined) return headText(metadata);
  const list = Array.isArray(reply) ? (reply as StoredEntry[]) : entries;
  if (!list || "revision" in Object(reply))
    return typeof reply === "object" && reply ? "none" : String(reply);
  return `[${list.map(({ key, id, version }) => `${key} ${id} ${version}`)}]${next ? "+" : ""}`;
}

/** A head's incarnation and version, as its record has them. */
function headText(record: string): string {
  const [, incarnation, version] = /"incarnation":"(\w+)","version":(\d+)/.exec(record) ?? [];
  return incarnation === undefined ? "unreadable" : `${incarnation}/${version}`;
}

/** Resolves when no code is running any more: a tick that a microtask requests comes after all microtasks. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

const ID_BYTES = 9;

const withoutTime = new AsyncLocalStorage<true>();

/**
 * Runs `work`, in which entries get ids of `newId`, of 12 characters of base64url, and every pause ends at once. Other work of the process,
 * such as what an earlier test file has left, keeps its own chance and pauses: a loop without pauses would let nothing else run.
 */
export async function withoutChance<T>(newId: () => string, work: () => Promise<T>): Promise<T> {
  const { getRandomValues } = globalThis.crypto;
  const { setTimeout } = globalThis;
  const { setImmediate } = timersPromises;
  const isInside = () => withoutTime.getStore() === true;
  const fill = <T extends Uint8Array>(bytes: T) => {
    if (bytes.length !== ID_BYTES || !isInside()) return getRandomValues.call(globalThis.crypto, bytes);
    bytes.set(Buffer.from(newId(), "base64url"));
    return bytes;
  };
  Object.assign(globalThis.crypto, { getRandomValues: fill });
  Object.assign(globalThis, {
    setTimeout: (...args: Parameters<typeof setTimeout>) =>
      isInside() ? queueMicrotask(() => args[0]()) : setTimeout(...args),
  });
  Object.assign(timersPromises, {
    setImmediate: async () => (isInside() ? undefined : await setImmediate()),
  });
  syncBuiltinESMExports();
  try {
    return await withoutTime.run(true, work);
  } finally {
    Reflect.deleteProperty(globalThis.crypto, "getRandomValues");
    Object.assign(globalThis, { setTimeout });
    Object.assign(timersPromises, { setImmediate });
    syncBuiltinESMExports();
  }
}
