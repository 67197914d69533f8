import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type BackendName, backendNames } from "./connect.ts";
import type { Point } from "./fit.ts";
import type { Paging } from "./paging.ts";

/** The operations measured by thread length, in the order of the report. */
export const lengthOperations = ["append", "append, trimming", "newest 20", "opening"] as const;
export type OperationName = (typeof lengthOperations)[number];

/** The operations measured by thread count. */
export const countOperations = ["append", "newest 20", "opening"] as const satisfies OperationName[];

/** The cost of each operation, by size. */
export type Costs = readonly { readonly operation: OperationName; readonly points: readonly Point[] }[];

/** All measurements of one backend. */
export interface Figures {
  readonly name: BackendName;
  readonly title: string;
  readonly versions: readonly string[];
  /** The machine and its load average at the start and at the end of the measurement. */
  readonly machine: { readonly cores: number; readonly node: string; readonly load: readonly number[] };
  /** Whether the threads were made as copies of one. */
  readonly areCopies: boolean;
  /** The largest length and count. */
  readonly largest: number;
  readonly byLength: Costs;
  readonly byCount: Costs;
  readonly paging: Paging;
}

/** The saved figures, in the order of the report. Empty if the file does not exist. */
export function loadFigures(path: string): Figures[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line): Figures => JSON.parse(line));
}

/** Replaces a backend's figures in the file, one line per backend, and returns all figures. */
export function saveFigures(path: string, figures: Figures): Figures[] {
  const others = loadFigures(path).filter(({ name }) => name !== figures.name);
  const all = [...others, figures].sort(
    (one, other) => backendNames.indexOf(one.name) - backendNames.indexOf(other.name),
  );
  writeFileSync(path, all.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return all;
}
