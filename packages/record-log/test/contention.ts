import { setImmediate as later } from "node:timers/promises";
import type { Clock } from "@scrollback/store-core/internal";
import { type LogRow, MemoryRecordLog, RecordLogDriver } from "../src/index.ts";

/** The clocks of all processes of a run, in virtual time: waiting takes no real time. */
export class VirtualTime {
  now = 1_700_000_000_000;
  readonly #events: { readonly time: number; readonly run: () => void }[] = [];
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number of at least 0 and below 1. Each run gets the same numbers. */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  wait(ms: number): Promise<void> {
    const time = this.now + ms;
    return new Promise((resolve) => {
      let index = this.#events.length;
      while (index > 0 && (this.#events[index - 1]?.time ?? 0) < time) index--;
      this.#events.splice(index, 0, { time, run: resolve });
    });
  }

  readonly clock: Clock = {
    wall: () => Math.floor(this.now),
    monotonic: () => this.now,
    sleep: (ms) => this.wait(this.random() * ms),
  };

  /** Runs until `end`, or until no event is left. */
  async runUntil(end: number): Promise<void> {
    await later();
    for (let next = this.#events.pop(); next && next.time < end; next = this.#events.pop()) {
      this.now = next.time;
      next.run();
      await later();
    }
  }
}

/** The properties of a server that matter for concurrent writers. */
export interface ServerModel {
  /** The total network time of a request and its reply; each varies by 50 %. */
  readonly travelMs: number;
  /** The time of a processor per request, and the number of processors. */
  readonly serviceMs: number;
  readonly processors: number;
  /** Whether a refused insert returns the row that has the key. */
  readonly returnsWinner: boolean;
  /** How often all processors do nothing for a while, and for how long. Absent: never. */
  readonly stalls?: { readonly everyMs: number; readonly ms: number };
}

/** A log behind a network and a server. Counts its requests. */
class DistantLog extends MemoryRecordLog {
  requests = 0;
  readonly #time: VirtualTime;
  readonly #model: ServerModel;
  readonly #freeAt: number[];
  #nextStall: number;

  constructor(time: VirtualTime, model: ServerModel) {
    super();
    this.#time = time;
    this.#model = model;
    this.#freeAt = Array(model.processors).fill(0);
    this.#nextStall = time.now + (model.stalls?.everyMs ?? Number.POSITIVE_INFINITY);
  }

  override async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const inserted = await this.pass(() => super.insert(stream, row));
    return this.#model.returnsWinner || inserted === true ? inserted : false;
  }

  override read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    return this.pass(() => super.read(stream, below, limit));
  }

  override amend(...amend: Parameters<MemoryRecordLog["amend"]>): Promise<void> {
    return this.pass(() => super.amend(...amend));
  }

  /** Sends a request, which takes effect when the server has processed it. */
  async pass<T>(effect: () => Promise<T>): Promise<T> {
    const time = this.#time;
    const { travelMs, serviceMs, stalls } = this.#model;
    const travel = () => time.wait((travelMs / 2) * (0.5 + time.random()));
    this.requests += 1;
    await travel();
    if (stalls && time.now >= this.#nextStall) {
      this.#freeAt.fill(time.now + stalls.ms);
      this.#nextStall = time.now + stalls.everyMs;
    }
    const free = this.#freeAt.indexOf(Math.min(...this.#freeAt));
    const done = Math.max(time.now, this.#freeAt[free] ?? 0) + serviceMs;
    this.#freeAt[free] = done;
    if (done > time.now) await time.wait(done - time.now);
    const result = await effect();
    await travel();
    return result;
  }
}

/** The results of writers that wrote to one thread without a pause. */
export interface Contention {
  readonly commitsPerSecond: number;
  readonly requestsPerCommit: number;
  readonly longestMs: number;
  /** The number of commits of the slowest writer. */
  readonly fewest: number;
}

/** Makes drivers write to one thread for `ms` of virtual time, each as soon as its last commit is complete. */
export async function contend(
  seed: number,
  writers: number,
  model: ServerModel,
  ms: number,
): Promise<Contention> {
  const time = new VirtualTime(seed);
  const log = new DistantLog(time, model);
  const waits: number[] = [];
  const counts: number[] = Array(writers).fill(0);
  const end = time.now + ms;
  const write = async (writer: number) => {
    const driver = new RecordLogDriver(log, { clock: time.clock });
    for (let count = 0; time.now < end; count++) {
      const began = time.now;
      const outcome = await driver.commit({
        ...{
          threadId: "t",
          operationId: `${writer}.${count}`,
          digest: "d",
          newIncarnation: `${writer}.${count}`,
        },
        ...{ expectedRevision: undefined, drop: 0, append: ['1u0 "hello"'], metadata: undefined },
        ...{ maxMessages: 1_000, trimming: "turns", ttlMs: undefined, createdAt: 1, updatedAt: 1 },
        signal: undefined,
      });
      if (outcome.outcome !== "committed") throw new Error(`a commit was ${outcome.outcome}`);
      waits.push(time.now - began);
      counts[writer] = (counts[writer] ?? 0) + 1;
    }
  };
  const running = Array.from({ length: writers }, (_, writer) => write(writer));
  await Promise.race([Promise.all(running), time.runUntil(end)]);
  return {
    commitsPerSecond: (1_000 * waits.length) / ms,
    requestsPerCommit: log.requests / waits.length,
    longestMs: Math.max(...waits),
    fewest: Math.min(...counts),
  };
}
