import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import type { FaultyConnection, Harness } from "../harness.ts";
import { jobs } from "../processes/jobs.ts";
import { runInProcess } from "../processes/run-in-process.ts";
import type { ProxyMode } from "../proxy/tcp-proxy.ts";
import { ObservedClient } from "./client.ts";
import { explain } from "./explain.ts";
import {
  now,
  type Observation,
  ObservationLog,
  type ObservedThread,
  readObservations,
} from "./observation.ts";
import { Random } from "./random.ts";

/** The number of clients of a process, which share a driver. */
const CLIENTS = 2;
const PROCESSES = 4;

type Task = Omit<Parameters<(typeof jobs)["act"]>[1], "clients" | "log" | "threads">;

/** What clients observed on some threads, in the file `log` of its own folder. */
export interface ObservedRun {
  readonly log: string;
  readonly observations: readonly Observation[];
  readonly problems: readonly string[];
}

/**
 * Runs clients that write to a log, then reads the threads through `sound`, when every acknowledged commit must have its position.
 *
 * @returns the observations, and what no order of commits explains.
 */
export async function observe(
  threads: readonly ObservedThread[],
  sound: Driver,
  run: (log: string) => Promise<unknown>,
): Promise<ObservedRun> {
  const log = join(await mkdtemp(join(tmpdir(), "scrollback-observed-")), "log.jsonl");
  await run(log);
  {
    using end = new ObservationLog(log);
    const reader = new ObservedClient(createStores(sound), "end", { threads, seed: "", pauseMs: 0 }, end);
    for (const thread of threads) await reader.look(thread);
  }
  const observations = readObservations(log);
  const problems = threads.flatMap((thread) =>
    explain(
      observations.filter((observation) => observation.thread === thread.threadId),
      thread,
    ),
  );
  return { log, observations, problems };
}

/** Asserts that a run has no problems, and removes its log, which stays otherwise. */
export async function expectExplained({ log, problems }: ObservedRun, about = ""): Promise<void> {
  expect(problems.slice(0, 5), `unexplained observations; ${about} log ${log}`).toEqual([]);
  await rm(dirname(log), { recursive: true });
}

/** Threads with each setting that changes what a commit does. */
function observedThreads(backend: Backend): ObservedThread[] {
  const { threadId } = backend.store();
  return [
    { threadId: `${threadId} plain` },
    { threadId: `${threadId} exact`, maxMessages: 10, trimming: "exact" },
    { threadId: `${threadId} turns`, maxMessages: 7, trimming: "turns" },
    ...(backend.driver.capabilities.expiry ? [{ threadId: `${threadId} short`, ttlMs: 150 }] : []),
  ];
}

/** Runs many clients of this process. With `faults` they use the proxy, which breaks their connections. */
export async function observeHere(
  backend: Backend,
  task: Task,
  faults?: FaultyConnection,
): Promise<ObservedRun> {
  const threads = observedThreads(backend);
  const stores = Array.from({ length: PROCESSES }, () =>
    faults ? createStores(faults.connect()) : backend.otherStores(),
  );
  // Connecting is not part of the run. With some clients it takes a second of the process's time, so they take turns.
  for (const one of stores) await one.open().read();
  const until = now() + task.seconds * 1_000_000;
  return await observe(threads, backend.otherDriver(), (log) =>
    Promise.all([
      breakThings(faults, new Random(`${task.seed}/faults`), until),
      ...stores.map((one, index) =>
        jobs.act(one, { ...task, threads, log, clients: namesOf(index, 0) }, () => {}),
      ),
    ]),
  );
}

/**
 * Runs many clients in processes that are killed and replaced. If the backend has a network, half of the clients use the proxy, which
 * breaks connections. The seed determines the calls of each client and the times of the faults.
 */
export async function observeProcesses(
  backend: Backend,
  direct: NonNullable<Harness["childProcess"]>,
  given: Task,
): Promise<ObservedRun> {
  const threads = observedThreads(backend);
  return await observe(threads, backend.otherDriver(), async (log) => {
    const task = { ...given, threads, log };
    const { faults } = backend.harness;
    const start = (index: number, incarnation: number, seconds: number) => {
      const childProcess = (index % 2 === 0 ? undefined : faults?.childProcess) ?? direct;
      const job = { ...task, seconds, clients: namesOf(index, incarnation) };
      return runInProcess(childProcess, "act", job);
    };
    // This process runs to the end. Starting it may take seconds, which are not part of the run.
    const first = start(0, 0, task.seconds);
    while (first.progress.length === 0) await Promise.race([sleep(20), first.result]);
    const until = now() + task.seconds * 1_000_000;
    const others = Array.from({ length: PROCESSES - 1 }, async (_, other) => {
      const index = other + 1;
      const random = new Random(`${task.seed}/process ${index}`);
      for (let incarnation = 0; now() < until; incarnation++) {
        const left = (until - now()) / 1_000;
        const job = start(index, incarnation, left / 1_000);
        const lifetime = 700 + random.next() * 6_000;
        if (lifetime >= left) {
          await job.result;
          return;
        }
        await Promise.race([sleep(lifetime), job.result]);
        await job.kill();
      }
    });
    const faulty = faults?.childProcess && faults;
    await Promise.all([
      first.result,
      breakThings(faulty, new Random(`${task.seed}/faults`), until),
      ...others,
    ]);
  });
}

const namesOf = (index: number, incarnation: number) =>
  Array.from({ length: CLIENTS }, (_, client) => `${index}-${incarnation}-${client}`);

async function breakThings(
  faults: FaultyConnection | undefined,
  random: Random,
  until: number,
): Promise<void> {
  while (faults && now() < until) {
    await sleep(random.next() * 150);
    faults.proxy.set(modeOf(random));
    await sleep(random.next() * 250);
    faults.proxy.set({ kind: "pass" });
  }
}

function modeOf(random: Random): ProxyMode {
  const cut = { afterBytes: random.below(60), times: 1 + random.below(2) };
  return random.pick<ProxyMode>(
    { kind: "cut-reply", ...cut },
    { kind: "cut-reply", ...cut, afterBytes: 0 },
    { kind: "cut-request", ...cut },
    { kind: "drop-reply", times: 1 },
    { kind: "down" },
    { kind: "hang" },
    { kind: "delay-reply", ms: random.below(60) },
  );
}
