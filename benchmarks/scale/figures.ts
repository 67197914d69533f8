import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type BackendName, backendNames } from "./connect.ts";
import type { Point } from "./fit.ts";
import type { Paging } from "./paging.ts";

/** What is measured by the length of a thread, in the order of the report. */
export const lengthOperations = ["append", "append, trimming", "newest 20", "opening"] as const;
export type OperationName = (typeof lengthOperations)[number];

/** What is measured by the count of threads. */
export const countOperations = ["append", "newest 20", "opening"] as const satisfies OperationName[];

/** What each operation costs, by size. */
export type Costs = readonly { readonly operation: OperationName; readonly points: readonly Point[] }[];

/** All that was measured on one backend. */
export interface Figures {
  readonly name: BackendName;
  readonly title: string;
  readonly versions: readonly string[];
  /** The machine, and what else it had to do: its load average when the measuring began and ended. */
  readonly machine: { readonly cores: number; readonly node: string; readonly load: readonly number[] };
  /** Whether the threads were laid down as copies of one. */
  readonly areCopies: boolean;
  /** The largest length and count. */
  readonly largest: number;
  readonly byLength: Costs;
  readonly byCount: Costs;
  readonly paging: Paging;
}

/** Figures that were saved, in the order of the report. None where there is no file. */
export function loadFigures(path: string): Figures[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line): Figures => JSON.parse(line));
}

/** Saves a backend's figures in place of its last ones, a line a backend, and gives all there are. */
export function saveFigures(path: string, figures: Figures): Figures[] {
  const others = loadFigures(path).filter(({ name }) => name !== figures.name);
  const all = [...others, figures].sort(
    (one, other) => backendNames.indexOf(one.name) - backendNames.indexOf(other.name),
  );
  writeFileSync(path, all.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return all;
}
