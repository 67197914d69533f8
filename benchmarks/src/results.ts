import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";

/** The backends, in the order of the page. */
export const backendKeys = [
  "redis",
  "mongodb",
  "dynamodb",
  "postgres",
  "sqlite-full",
  "sqlite-normal",
  "libsql",
  "durable-object",
  "d1",
] as const;
export type BackendKey = (typeof backendKeys)[number];

/** The rows of a backend's table, in its order. Those of many writers are commits per second, the others milliseconds. */
export const rowNames = [
  "append 1",
  "append 20",
  "newest 20",
  "all of 1,000",
  "list 100 threads",
  "8 factories, 8 threads",
  "8 writers of one factory, one thread",
  "8 factories, one thread",
  "LangGraph turn",
  "chat turn",
  "chat with a photo",
] as const;
export type RowName = (typeof rowNames)[number];

/** The circumstances of a measurement. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly cores: number;
  /** The higher of the load averages at its start and at its end. */
  readonly load: number;
}

/** The median time of a call in milliseconds, or commits per second, of each contestant. */
export interface Row {
  readonly name: RowName;
  readonly raw?: number;
  readonly ours: number;
  readonly other?: number;
  /** Requests of ours for each call: how often it waits for the server. Absent without a server. */
  readonly requests?: number;
  /** Commits of ours that failed. Absent if none did. */
  readonly failed?: number;
  readonly machine: Machine;
}

export interface BackendResults {
  readonly key: BackendKey;
  readonly title: string;
  /** Products, clients and libraries with their versions, server first. */
  readonly versions: readonly string[];
  /** What the raw client does. */
  readonly baseline: string;
  /** The name of the other library. */
  readonly other?: string;
  /** What a reader must know about figures of an earlier state. */
  readonly note?: string;
  readonly rows: readonly Row[];
}

/** Scrollback's time in milliseconds by size: by the messages of a thread, or by the number of threads. */
export interface ScaleRow {
  readonly operation: "append 1" | "newest 20" | "list 100 threads";
  readonly points: readonly { readonly size: number; readonly ms: number }[];
}

export interface ScaleResults {
  readonly key: BackendKey;
  readonly title: string;
  readonly machine: Machine;
  readonly note?: string;
  readonly rows: readonly ScaleRow[];
}

/** The median milliseconds of a process from its first import to its first stored message. */
export interface ColdStartRow {
  readonly runtime: "Node" | "Bun" | "workerd";
  readonly name: "Redis" | "PostgreSQL" | "SQLite" | "memory";
  /** Of the bare client, or of an empty Worker. */
  readonly raw?: number;
  readonly ours: number;
  /** Of ours: what our own modules take to load, behind those of the client; in workerd with the first message. */
  readonly imports: number;
}

export interface ColdStart {
  readonly machine: Machine;
  readonly rows: readonly ColdStartRow[];
}

export interface Results {
  readonly backends: readonly BackendResults[];
  readonly scale: readonly ScaleResults[];
  readonly coldStart?: ColdStart;
}

const RESULTS = new URL("../results.json", import.meta.url);

export function loadResults(): Results {
  return JSON.parse(readFileSync(RESULTS, "utf8"));
}

export function saveColdStart(coldStart: ColdStart): void {
  write({ ...loadResults(), coldStart });
}

function write(results: Results): void {
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** Replaces the results of a backend in the file. */
export function saveResults(part: "backends" | "scale", fresh: BackendResults | ScaleResults): void {
  const all = loadResults();
  const merged = [...all[part].filter(({ key }) => key !== fresh.key), fresh].toSorted(
    (one, other) => backendKeys.indexOf(one.key) - backendKeys.indexOf(other.key),
  );
  write({ ...all, [part]: merged });
}

/** Observes the machine; the returned function reports its state since then. */
export function watchMachine(): () => Machine {
  const date = new Date().toISOString().slice(0, 10);
  const before = loadavg()[0] ?? Number.NaN;
  return () => ({
    date,
    node: process.versions.node,
    cores: availableParallelism(),
    load: rounded(Math.max(before, loadavg()[0] ?? Number.NaN)),
  });
}

/** Rounded to four digits, more than a figure's precision. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
