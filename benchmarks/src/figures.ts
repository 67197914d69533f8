import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { type BackendKey, backendKeys, type ContestantName } from "./backend.ts";
import { median, percentile } from "./statistics.ts";

/** How long the calls of one contestant took, in milliseconds. */
export interface Timing {
  readonly medianMs: number;
  readonly percentile95Ms: number;
  readonly percentile99Ms: number;
  readonly longestMs: number;
  /** On how many measured calls that stands. */
  readonly calls: number;
}

export type PerContestant<T> = Readonly<Partial<Record<ContestantName, T>>>;

/** One operation on threads of one length. */
export interface CallRow {
  readonly operation: string;
  readonly kind: "commit" | "read";
  readonly length: number;
  /** Round trips are a call's, and absent where there is no network. */
  readonly results: PerContestant<Timing & { readonly roundTrips?: number }>;
}

/** Many connections that append without a pause. */
export interface LoadRow {
  readonly connections: number;
  /** Whether all write to one thread, or each to one of its own. */
  readonly threads: "one" | "many";
  /** How many messages a commit has. */
  readonly batch: number;
  readonly results: PerContestant<Load>;
}

export interface Load extends Timing {
  /** Commits per second that succeeded. */
  readonly perSecond: number;
  /** How many commits failed. */
  readonly failures: number;
  /** Processor time a commit, of the process that writes and of the server, in microseconds. */
  readonly clientCpuMicros: number;
  readonly serverCpuMicros?: number;
}

/** The first commit on a new connection, with connecting. */
export interface ColdRow {
  readonly thread: "new" | "known";
  readonly results: PerContestant<Timing>;
}

/** Commits of one message with OpenTelemetry switched off, with its API alone, and with an SDK that exports. */
export type TracingMode = "off" | "api" | "sdk";
export type Tracing = Readonly<Record<TracingMode, Timing & { readonly clientCpuMicros: number }>>;

/** The machine, and what else it had to do. */
export interface Machine {
  readonly cores: number;
  readonly node: string;
  /** The date of its start. */
  readonly date: string;
  /** The load average of a minute at its start and at its end. */
  readonly load: readonly number[];
}

/** All that was measured on one backend. */
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

/** What a codec costs. */
export interface CodecRow {
  readonly name: string;
  readonly appends: Timing;
  readonly reads: Timing;
  /** What a message's text has on average. */
  readonly bytes: number;
}

/** One operation on the chats of an owner. */
export interface ChatRow {
  readonly operation: "list 30" | "store a turn";
  /** How many chats the owner has. */
  readonly chats: number;
  /** Processor time and requests are a call's. The raw client has tables that were written by hand. */
  readonly results: PerContestant<Timing & { readonly cpuMicros: number; readonly requests?: number }>;
}

/** What a streamed answer takes of the processors. */
export interface DeltaFigures {
  /** How many deltas the two answers have that were measured. */
  readonly short: number;
  readonly long: number;
  /** The AI SDK alone, and with chats that are stored. */
  readonly plain: DeltaCost;
  readonly handler: DeltaCost;
}

export interface DeltaCost {
  /** On how many long answers that stands. */
  readonly answers: number;
  readonly shortCpuMicros: number;
  readonly longCpuMicros: number;
  /** Of one delta more. */
  readonly deltaCpuMicros: number;
}

/** Tabs that each add a message to one chat at once. */
export interface TabsRow {
  readonly name: string;
  readonly tabs: number;
  readonly rounds: number;
  /** How many of the messages the chat has then, in the worst round and in the best. */
  readonly fewestKept: number;
  readonly mostKept: number;
  /** Until all of them had been answered. */
  readonly medianMs: number;
}

/** What chats cost. */
export interface ChatFigures {
  readonly machine: Machine;
  readonly versions: readonly string[];
  readonly rows: readonly ChatRow[];
  readonly deltas: DeltaFigures;
  readonly tabs: readonly TabsRow[];
}

/** A framework whose turns are measured. */
export type FrameworkName = "LangGraph" | "OpenAI Agents SDK";

/** Where the state of its agents is kept. */
export type FrameworkBackend = "memory" | "SQLite" | "PostgreSQL";

/** A turn of an agent on one class that keeps its state. */
export interface FrameworkRow extends Timing {
  readonly framework: FrameworkName;
  readonly backend: FrameworkBackend;
  /** The class. */
  readonly name: string;
  readonly isOurs: boolean;
  readonly cpuMicros: number;
  /** Of our stores, in a turn that is not its thread's first. */
  readonly commits?: number;
  readonly reads?: number;
  /** To the server. Absent where there is none. */
  readonly roundTrips?: number;
  /** What a turn leaves at rest, on average of a thread. Absent in memory. */
  readonly bytes?: number;
}

/** What turns of other frameworks cost. */
export interface FrameworkFigures {
  readonly machine: Machine;
  readonly versions: readonly string[];
  /** How many turns the threads have. */
  readonly turns: number;
  readonly rows: readonly FrameworkRow[];
}

/** What the last full run came to. The pages are made from it. */
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

/** With five digits, which are more than a figure is worth. */
export function rounded(value: number): number {
  return Number(value.toPrecision(5));
}

/** Starts to look at the machine. The function that it gives tells what it was like until then. */
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

/** The results in a file; undefined where there is none. */
export function loadResults(path: string): Results | undefined {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Saves what was measured in place of what is there of the same, and gives all there is. */
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
