import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { type ClientTask, ObservedClient } from "../observed/client.ts";
import { ObservationLog } from "../observed/observation.ts";

// Run by tests over a second client, and by the worker in another process: this module must not import Vitest.

/** Receives what a job reports during its work, e.g. an acknowledged commit. */
export type Progress = (done: string) => void;

/** The text of message `index` of batch `batch` that `writer` adds. */
export const batchText = (writer: string, batch: number, index: number) => `${writer}/${batch}/${index}`;

/**
 * Adds batches of messages, one after the other with short pauses. Reports each acknowledged batch as `writer/batch`. With
 * `insist` a batch that failed in an outage is sent again with its operation id; otherwise the job fails.
 * @returns the number of acknowledged batches.
 */
async function append(
  stores: StoreFactory,
  job: { threadId: string; writer: string; batches: number; batchSize: number; insist?: boolean },
  progress: Progress,
): Promise<number> {
  const store = stores.open(job.threadId);
  for (let batch = 0; batch < job.batches; batch++) {
    const messages = Array.from({ length: job.batchSize }, (_, index) => ({
      role: "user" as const,
      content: batchText(job.writer, batch, index),
    }));
    const operationId = randomUUID();
    for (let isAdded = false; !isAdded; ) {
      try {
        await store.addMessages(messages, { operationId });
        isAdded = true;
      } catch (error) {
        if (!job.insist || !StoreError.is(error, "UNAVAILABLE") || !error.retryable) throw error;
      }
    }
    progress(`${job.writer}/${batch}`);
    await sleep(Math.random() * 3);
  }
  return job.batches;
}

/** The time that an observer waits for something new: longer than other processes need to start. */
const QUIET_MS = 15_000;

/**
 * Reads the whole thread repeatedly until it has `messages` messages, or until nothing new appears.
 * @returns the texts of each reading that differs from the previous one.
 */
async function observe(
  stores: StoreFactory,
  job: { threadId: string; messages: number },
): Promise<string[][]> {
  const store = stores.open(job.threadId);
  const readings: string[][] = [];
  let last: string | null | undefined;
  let news = performance.now();
  while ((readings.at(-1)?.length ?? 0) < job.messages && performance.now() < news + QUIET_MS) {
    const { revision, entries } = await store.read();
    if (revision !== last) {
      readings.push(entries.map(({ message }) => String(message.content)));
      news = performance.now();
    }
    last = revision;
    await sleep(1);
  }
  return readings;
}

/** Pops messages until the thread is empty. @returns their texts. */
async function take(stores: StoreFactory, job: { threadId: string }): Promise<string[]> {
  const store = stores.open(job.threadId);
  const taken: string[] = [];
  for (let message = await store.popMessage(); message; message = await store.popMessage()) {
    taken.push(String(message.content));
    if (taken.length > 10_000) throw new Error("the thread never becomes empty");
  }
  return taken;
}

/**
 * Increments a number in the thread's metadata `times` times, by read and compare-and-set, and adds a message each time.
 * @returns the number of attempts in which another writer was faster.
 */
async function count(
  stores: StoreFactory,
  job: { threadId: string; writer: string; times: number },
): Promise<number> {
  const store = stores.open(job.threadId);
  let lost = 0;
  for (let done = 0; done < job.times; ) {
    const { revision, metadata = 0 } = await store.read({ limit: 0 });
    try {
      await store.commit(
        {
          metadata: Number(metadata) + 1,
          append: [{ role: "user", content: `${Number(metadata) + 1} by ${job.writer}` }],
        },
        { expectedRevision: revision },
      );
      done += 1;
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
      lost += 1;
      if (lost > 1_000) throw new Error("a compare-and-set never succeeds");
      await sleep(Math.random() * 5);
    }
  }
  return lost;
}

/**
 * Runs several clients at once, which act as the seed determines, and logs everything they observe. Reports its start.
 * @returns the number of clients.
 */
async function act(
  stores: StoreFactory,
  { clients, log: path, ...task }: ClientTask & { clients: readonly string[]; log: string },
  progress: Progress,
): Promise<number> {
  using log = new ObservationLog(path);
  progress("begun");
  await Promise.all(clients.map((name) => new ObservedClient(stores, name, task, log).run()));
  return clients.length;
}

/** Inserts entries and updates each one, until `times` are made. Reports each acknowledged write as `key/version`. */
async function keep(
  stores: StoreFactory,
  job: { index: string; times: number },
  progress: Progress,
): Promise<number> {
  const index = stores.index(job.index);
  for (let number = 0; number < job.times; number++) {
    const place = { key: `key ${number}`, id: "1" };
    for (const version of [0, 1]) {
      const content = { version, order: number, value: `version ${version}` };
      await (version === 0 ? index.insert(place, content) : index.update(place, content));
      progress(`${place.key}/${version}`);
    }
    await sleep(Math.random() * 3);
  }
  return job.times;
}

/** The jobs that a second client can do, in this process or in another. */
export const jobs = { append, observe, take, count, act, keep };

export type JobName = keyof typeof jobs;
export type JobInput<Name extends JobName> = Parameters<(typeof jobs)[Name]>[1];
export type JobResult<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;
