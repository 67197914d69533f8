import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import type { Backend } from "../backend.ts";
import type { FaultyConnection, Harness } from "../harness.ts";
import { ObservedClient } from "../observed/client.ts";
import {
  now,
  type Observation,
  ObservationLog,
  type ObservedThread,
  readObservations,
} from "../observed/observation.ts";
import { Random } from "../observed/random.ts";
import { jobs } from "../processes/jobs.ts";
import { runInProcess } from "../processes/run-in-process.ts";
import type { ProxyMode } from "../proxy/tcp-proxy.ts";

/** The number of clients of a process, which share a driver. */
const CLIENTS = 2;
const PROCESSES = 4;

export interface ObservedRun {
  /** The file with all observations, in its own folder. */
  readonly log: string;
  readonly observations: readonly Observation[];
  readonly threads: readonly ObservedThread[];
}

/**
 * Runs many clients on a few threads and returns all observations. If the backend can be used by other processes, the clients
 * are in such processes, which are killed and replaced. If it has a network, half of the clients use the proxy, which breaks
 * connections. If its server can be crashed, it is. The seed determines the calls of each client and the times of the faults.
 */
export async function observeRun(backend: Backend, seed: string, seconds: number): Promise<ObservedRun> {
  const log = join(await mkdtemp(join(tmpdir(), "scrollback-observed-")), "log.jsonl");
  const threads = threadsOf(backend);
  const task = { threads, seed, seconds, pauseMs: 12, log };
  const { childProcess } = backend.harness;
  await (childProcess ? inProcesses(backend, childProcess, task) : inThisProcess(backend, task));
  await lookAtEnd(backend, task);
  return { log, threads, observations: readObservations(log) };
}

type Task = Omit<Parameters<(typeof jobs)["act"]>[1], "clients">;

function threadsOf(backend: Backend): ObservedThread[] {
  const { threadId } = backend.store();
  return [
    { threadId: `${threadId} plain` },
    { threadId: `${threadId} exact`, maxMessages: 10, trimming: "exact" },
    { threadId: `${threadId} turns`, maxMessages: 7, trimming: "turns" },
    ...(backend.driver.capabilities.expiry ? [{ threadId: `${threadId} short`, ttlMs: 150 }] : []),
  ];
}

async function inThisProcess(backend: Backend, task: Task): Promise<void> {
  const stores = Array.from({ length: PROCESSES }, () => backend.otherStores());
  await Promise.all(
    stores.map((one, index) => jobs.act(one, { ...task, clients: namesOf(index, 0) }, () => {})),
  );
}

async function inProcesses(
  backend: Backend,
  direct: NonNullable<Harness["childProcess"]>,
  task: Task,
): Promise<void> {
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
  await Promise.all([first.result, breakThings(faults, new Random(`${task.seed}/faults`), until), ...others]);
}

const namesOf = (index: number, incarnation: number) =>
  Array.from({ length: CLIENTS }, (_, client) => `${index}-${incarnation}-${client}`);

async function breakThings(
  faults: FaultyConnection | undefined,
  random: Random,
  until: number,
): Promise<void> {
  if (!faults) return;
  const crashes = faults.crash ? [1 / 3, 2 / 3].map((share) => now() + (until - now()) * share) : [];
  while (now() < until) {
    await sleep(random.next() * 150);
    faults.proxy.set(modeOf(random));
    await sleep(random.next() * 250);
    faults.proxy.set({ kind: "pass" });
    if (now() > (crashes[0] ?? Number.POSITIVE_INFINITY)) {
      crashes.shift();
      await faults.crash?.();
    }
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

/** Reads every thread at the end, when every acknowledged commit must have its position. */
async function lookAtEnd(backend: Backend, task: Task): Promise<void> {
  using log = new ObservationLog(task.log);
  const reader = new ObservedClient(createStores(backend.otherDriver()), "end", { ...task, seed: "" }, log);
  for (const thread of task.threads) await reader.look(thread);
}
