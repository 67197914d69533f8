import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { type ClientTask, ObservedClient } from "../observed/client.ts";
import { now, ObservationLog } from "../observed/observation.ts";

// Run by tests over a second client, and by the worker in another process: this module must not import Vitest.

/** Receives what a job reports during its work, e.g. an acknowledged write. */
export type Progress = (done: string) => void;

/** Adds messages with these texts, one after the other. */
async function append(
  stores: StoreFactory,
  { threadId, texts }: { threadId: string; texts: readonly string[] },
): Promise<void> {
  for (const content of texts) await stores.open(threadId).addMessages([{ role: "user", content }]);
}

/**
 * Runs clients at once, which act as the seed determines, for some seconds and at least some actions each, and logs everything they
 * observe: on a busy machine some seconds alone may have too little to prove anything. Reports its start.
 */
async function act(
  stores: StoreFactory,
  {
    clients,
    log: path,
    seconds,
    actions,
    ...task
  }: ClientTask & { clients: readonly string[]; log: string; seconds: number; actions: number },
  progress: Progress,
): Promise<void> {
  using log = new ObservationLog(path);
  progress("begun");
  const until = now() + seconds * 1_000_000;
  await Promise.all(
    clients.map((name) =>
      new ObservedClient(stores, name, task, log).run((made) => made >= actions && now() >= until),
    ),
  );
}

/** Inserts entries and updates each one, until `times` are made. Reports each acknowledged write as `key/version`. */
async function keep(
  stores: StoreFactory,
  job: { index: string; times: number },
  progress: Progress,
): Promise<void> {
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
}

/** The jobs that a second client can do, in this process or in another. */
export const jobs = { append, act, keep };

export type JobName = keyof typeof jobs;
export type JobInput<Name extends JobName> = Parameters<(typeof jobs)[Name]>[1];
