import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { type BackendKey, backendKeys, type ContestantName } from "./backend.ts";
import { median, percentile } from "./statistics.ts";

/** The times of one contestant's calls, in milliseconds. */
export interface Timing {
  readonly medianMs: number;
  readonly percentile95Ms: number;
  readonly percentile99Ms: number;
  readonly longestMs: number;
  /** The number of measured calls. */
  readonly calls: number;
}

export type PerContestant<T> = Readonly<Partial<Record<ContestantName, T>>>;

/** One operation on threads of one length. */
export interface CallRow {
  readonly operation: string;
  readonly kind: "commit" | "read";
  readonly length: number;
  /** Round trips are per call, and absent without a network. */
  readonly results: PerContestant<Timing & { readonly roundTrips?: number }>;
}

/** Many writers that append without a pause. */
export interface LoadRow {
  /** The number of writers. */
  readonly connections: number;
  /** Whether all write to one thread, or each to a separate one. */
  readonly threads: "one" | "many";
  /**
   * Whether all share one client with a pool of connections (one factory of stores), as in one process, or each has a separate
   * client, as in separate processes.
   */
  readonly clients: "one" | "many";
  /** The number of messages of a commit. */
  readonly batch: number;
  readonly results: PerContestant<Load>;
}

export interface Load extends Timing {
  /** Successful commits per second. */
  readonly perSecond: number;
  /** The number of failed commits. */
  readonly failures: number;
  /** Processor time per commit, of the writing process and of the server, in microseconds. */
  readonly clientCpuMicros: number;
  readonly serverCpuMicros?: number;
}

/** The first commit on a new connection, including connecting. */
export interface ColdRow {
  readonly thread: "new" | "known";
  readonly results: PerContestant<Timing>;
}

/** Commits of one message with OpenTelemetry switched off, with its API alone, and with an SDK that exports. */
export type TracingMode = "off" | "api" | "sdk";
export type Tracing = Readonly<Record<TracingMode, Timing & { readonly clientCpuMicros: number }>>;

/** The machine and its load. */
export interface Machine {
  readonly cores: number;
  readonly node: string;
  /** The date of the start. */
  readonly date: string;
  /** The one-minute load average at the start and at the end. */
  readonly load: readonly number[];
}

/** All measurements of one backend. */
export interface Figures {
  readonly key: BackendKey;
  readonly title: string;
  readonly versions: readonly string[];
  readonly baseline: string;
  readonly machine: Machine;
  readonly calls: readonly CallRow[];
  readonly load: readonly LoadRow[];
  readonly cold: readonly ColdRow[];
  readonly tracing: Tracing;
}

/** The cost of a codec. */
export interface CodecRow {
  readonly name: string;
  readonly appends: Timing;
  readonly reads: Timing;
  /** The average size of a message's text. */
  readonly bytes: number;
}

/** One operation on the chats of an owner. */
export interface ChatRow {
  readonly operation: "list 30" | "store a turn";
  /** The number of chats of the owner. */
  readonly chats: number;
  /** Processor time and requests are per call. The raw client uses hand-written tables. */
  readonly results: PerContestant<Timing & { readonly cpuMicros: number; readonly requests?: number }>;
}

/** The processor time of a streamed answer. */
export interface DeltaFigures {
  /** The numbers of deltas of the two measured answers. */
  readonly short: number;
  readonly long: number;
  /** The AI SDK alone, and with stored chats. */
  readonly plain: DeltaCost;
  readonly handler: DeltaCost;
}

export interface DeltaCost {
  /** The number of measured long answers. */
  readonly answers: number;
  readonly shortCpuMicros: number;
  readonly longCpuMicros: number;
  /** Of one additional delta. */
  readonly deltaCpuMicros: number;
}

/** Tabs that each add a message to one chat at once. */
export interface TabsRow {
  readonly name: string;
  readonly tabs: number;
  readonly rounds: number;
  /** The number of these messages that the chat has at the end, in the worst round and in the best. */
  readonly fewestKept: number;
  readonly mostKept: number;
  /** The time until all tabs have a response. */
  readonly medianMs: number;
}

/** The costs of chats. */
export interface ChatFigures {
  readonly machine: Machine;
  readonly versions: readonly string[];
  readonly rows: readonly ChatRow[];
  readonly deltas: DeltaFigures;
  readonly tabs: readonly TabsRow[];
}

/** A framework whose turns are measured. */
export type FrameworkName = "LangGraph" | "OpenAI Agents SDK";

/** The backend that stores the state of its agents. */
export type FrameworkBackend = "memory" | "SQLite" | "MongoDB" | "PostgreSQL";

/** A turn of an agent, with one class that stores its state. */
export interface FrameworkRow extends Timing {
  readonly framework: FrameworkName;
  readonly backend: FrameworkBackend;
  /** The name of the class. */
  readonly name: string;
  readonly isOurs: boolean;
  readonly cpuMicros: number;
  /** Of Scrollback's stores, in a turn that is not the first of its thread. */
  readonly commits?: number;
  readonly reads?: number;
  /** Round trips to the server. Absent without a server. */
  readonly roundTrips?: number;
  /** The bytes that a turn adds at rest, averaged over a thread. Absent in memory. */
  readonly bytes?: number;
}

/** The costs of other frameworks' turns. */
export interface FrameworkFigures {
  readonly machine: Machine;
  readonly versions: readonly string[];
  /** The number of turns of the threads. */
  readonly turns: number;
  readonly rows: readonly FrameworkRow[];
}

/** The results of the last full run. The pages are generated from it. */
export interface Results {
  readonly backends: readonly Figures[];
  readonly codecs: { readonly machine: Machine; readonly rows: readonly CodecRow[] };
  readonly chats: ChatFigures;
  readonly frameworks: FrameworkFigures;
}

export function timingOf(times: readonly number[]): Timing {
  return {
    medianMs: rounded(median(times)),
    percentile95Ms: rounded(percentile(times, 95)),
    percentile99Ms: rounded(percentile(times, 99)),
    longestMs: rounded(percentile(times, 100)),
    calls: times.length,
  };
}

/** Rounded to five digits, more than a figure's precision. */
export function rounded(value: number): number {
  return Number(value.toPrecision(5));
}

/** Starts to observe the machine. The returned function reports its state since then. */
export function watchMachine(): () => Machine {
  const date = new Date().toISOString().slice(0, 10);
  const before = loadavg()[0] ?? Number.NaN;
  return () => ({
    cores: availableParallelism(),
    node: process.versions.node,
    date,
    load: [before, loadavg()[0] ?? Number.NaN].map(rounded),
  });
}

/** The results in a file; undefined if the file does not exist. */
export function loadResults(path: string): Results | undefined {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Replaces the figures of the measured parts in the file, and returns all results. */
export function saveResults(path: string, measured: Partial<Results>): Partial<Results> {
  const before: Partial<Results> = loadResults(path) ?? {};
  const fresh = measured.backends ?? [];
  const kept = (before.backends ?? []).filter(({ key }) => !fresh.some((one) => one.key === key));
  const backends = [...kept, ...fresh].sort(
    (one, other) => backendKeys.indexOf(one.key) - backendKeys.indexOf(other.key),
  );
  const all = { ...before, ...measured, backends };
  writeFileSync(path, `${JSON.stringify(all, undefined, 1)}\n`);
  return all;
}
