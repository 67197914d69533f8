import { setTimeout as sleep } from "node:timers/promises";
import { type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { batchesOf } from "../checks/history.ts";
import { DEADLINE_MS } from "../checks/times.ts";
import { batchText } from "../processes/jobs.ts";

const BATCH = 3;
const RETRY_PAUSE_MS = 20;
/** The maximum pause of a writer between two commits. */
const LONGEST_PAUSE_MS = 4;
/** The minimum number of batches of each writer before the fault, and after it. */
const STEADY = 3;

interface Writer {
  readonly name: string;
  readonly store: MessageStore;
  /** Whether it does not retry failed batches, so that their outcome stays unknown. */
  readonly givesUp: boolean;
}

/** The measurements of a load. */
export interface LoadFigure {
  /** Batches acknowledged. */
  readonly commits: number;
  /** Calls that failed after all of the stores' own retries. */
  readonly failed: number;
  readonly longestCallMs: number;
  /** The time from the end of the fault until every writer had written again. */
  readonly backAfterMs: number;
  /** Acknowledged batches that are missing at the end. */
  readonly lost: number;
}

export interface LoadOptions {
  /** The clients that the fault affects: a writer and a reader on each. */
  readonly clients: readonly Driver[];
  /** A client that the fault does not affect. */
  readonly sound: Driver;
  /** Whether the backend with this setup may lose acknowledged commits, for example when a replica takes over. Default no. */
  readonly mayLose?: boolean;
  /** Whether failed calls must have `retryable: true`. Default yes. */
  readonly retryable?: boolean;
}

interface Batch {
  readonly start: number;
  /** The time of its acknowledgement; Infinity if it was given up. */
  end: number;
}

/**
 * Runs writers and readers on one thread, before, during and after a fault. At the end it checks every promise that the fault may
 * have broken: each acknowledged batch is in the thread once, each other batch is there whole or not at all, and the order agrees
 * with the calls. Every read returned one revision, and extended the same reader's previous read.
 */
export async function underLoad(fault: () => Promise<void>, options: LoadOptions): Promise<LoadFigure> {
  const load = new Load(options);
  const running = load.run();
  let striking: Promise<void> | undefined;
  try {
    await Promise.race([load.untilSteady(), running]);
    striking = fault();
    await Promise.race([striking, running]);
    const over = performance.now();
    await Promise.race([load.untilSteady(), running]);
    load.backAfterMs = performance.now() - over;
  } finally {
    load.stop();
    // The fault must not affect the next test.
    await striking?.catch(() => undefined);
    await running;
  }
  return await load.check();
}

class Load {
  readonly #threadId = crypto.randomUUID();
  readonly #writers: readonly Writer[];
  readonly #readers: readonly MessageStore[];
  readonly #sound: StoreFactory;
  readonly #mayLose: boolean;
  readonly #retryable: boolean;
  readonly #batches = new Map<string, Batch>();
  readonly #acknowledged: string[] = [];
  #isOver = false;
  #failed = 0;
  #longestCallMs = 0;
  #longestFailureMs = 0;
  backAfterMs = 0;

  constructor({ clients, sound, mayLose = false, retryable = true }: LoadOptions) {
    const stores = clients.map((client) => createStores(client).open(this.#threadId));
    this.#writers = stores.map((store, index) => ({ name: `w${index}`, store, givesUp: index === 0 }));
    this.#readers = stores;
    this.#sound = createStores(sound);
    this.#mayLose = mayLose;
    this.#retryable = retryable;
  }

  stop(): void {
    this.#isOver = true;
  }

  async run(): Promise<void> {
    await Promise.all([
      ...this.#writers.map((writer) => this.#write(writer)),
      ...this.#readers.map((reader) => this.#read(reader)),
    ]);
  }

  /** Resolves when some more batches of every writer have been acknowledged. */
  async untilSteady(): Promise<void> {
    const counts = () =>
      this.#writers.map(
        ({ name }) => this.#acknowledged.filter((batch) => batch.startsWith(`${name}/`)).length,
      );
    const before = counts();
    const isSteady = () => counts().every((count, index) => count >= (before[index] ?? 0) + STEADY);
    await vi.waitFor(() => expect(isSteady()).toBe(true), { timeout: 40_000, interval: 5 });
  }

  async #write({ name, store, givesUp }: Writer): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const id = `${name}/${number}`;
      const messages = Array.from({ length: BATCH }, (_, index) => ({
        role: "user" as const,
        content: batchText(name, number, index),
      }));
      const batch: Batch = { start: performance.now(), end: Number.POSITIVE_INFINITY };
      this.#batches.set(id, batch);
      do {
        if (await this.#call(() => store.addMessages(messages, { operationId: id }))) {
          batch.end = performance.now();
          this.#acknowledged.push(id);
        } else await sleep(RETRY_PAUSE_MS);
      } while (batch.end === Number.POSITIVE_INFINITY && !givesUp && !this.#isOver);
      await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
  }

  async #read(store: MessageStore): Promise<void> {
    let before: readonly string[] = [];
    while (!this.#isOver) {
      const known = this.#acknowledged.length;
      let texts: string[] | undefined;
      const isDone = await this.#call(async () => {
        texts = (await store.listMessages()).map(({ content }) => String(content));
      });
      if (isDone && texts) {
        const batches = batchesOf(texts, BATCH);
        if (!this.#mayLose) {
          expect(batches.slice(0, before.length), "a reading extends the one before").toEqual(before);
          const seen = new Set(batches);
          const missing = this.#acknowledged.slice(0, known).filter((batch) => !seen.has(batch));
          expect(missing, "acknowledged before the reading began, and not in it").toEqual([]);
        }
        before = batches;
      }
      await sleep(isDone ? 2 : RETRY_PAUSE_MS);
    }
  }

  /** Whether a call succeeded. It may fail only with a temporary outage, within the time limit. */
  async #call(call: () => Promise<unknown>): Promise<boolean> {
    const start = performance.now();
    try {
      await call();
      return true;
    } catch (error) {
      if (!StoreError.is(error, "UNAVAILABLE")) throw error;
      expect(error.retryable, `retryable: ${error.message}`).toBe(this.#retryable);
      this.#failed += 1;
      this.#longestFailureMs = Math.max(this.#longestFailureMs, performance.now() - start);
      return false;
    } finally {
      this.#longestCallMs = Math.max(this.#longestCallMs, performance.now() - start);
    }
  }

  async check(): Promise<LoadFigure> {
    const texts = (await this.#sound.open(this.#threadId).listMessages()).map(({ content }) =>
      String(content),
    );
    const final = batchesOf(texts, BATCH);
    const seen = new Set(final);
    const lost = this.#acknowledged.filter((batch) => !seen.has(batch)).length;
    if (!this.#mayLose) expect(lost, "acknowledged and not there").toBe(0);
    expect(this.#longestFailureMs, "milliseconds of the longest call that failed").toBeLessThan(DEADLINE_MS);
    // One that succeeds may also have waited for the other writers.
    expect(this.#longestCallMs, "milliseconds of the longest call").toBeLessThan(2 * DEADLINE_MS);
    this.#checkOrder(final);
    return {
      commits: this.#acknowledged.length,
      failed: this.#failed,
      longestCallMs: this.#longestCallMs,
      backAfterMs: this.backAfterMs,
      lost,
    };
  }

  /** A batch whose call began after another's was acknowledged comes after it. */
  #checkOrder(final: readonly string[]): void {
    let earliestEnd = Number.POSITIVE_INFINITY;
    for (const id of final.toReversed()) {
      const batch = this.#batches.get(id);
      if (!batch) throw new Error(`no writer wrote ${id}`);
      expect(batch.start, `the start of ${id}, before the end of every later batch`).toBeLessThanOrEqual(
        earliestEnd,
      );
      earliestEnd = Math.min(earliestEnd, batch.end);
    }
  }
}

/** A figure in the form of the table. */
export function formatLoad({ commits, failed, longestCallMs, backAfterMs, lost }: LoadFigure): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    `${commits} commits`,
    ...(failed > 0 ? [`${failed} calls failed`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    `longest call ${seconds(longestCallMs)}`,
    `back in ${seconds(backAfterMs)}`,
  ].join(", ");
}
