import type { Backend, ContestantName } from "./backend.ts";
import type { Row } from "./run.ts";
import { ratio } from "./statistics.ts";

/** One target held against what was measured. */
export interface Verdict {
  readonly target: string;
  /** The worst figure for it, and where that was. */
  readonly worst: string;
  readonly met: boolean;
}

/** An append to the longest threads may take so many times one to the shortest. */
const GROWTH = 1.2;
interface Figure {
  readonly value: number;
  readonly where: string;
}

/** Every target that applies to a backend. */
export function judge(backend: Backend, rows: readonly Row[]): Verdict[] {
  const commits = rows.filter(({ operation }) => operation.kind === "commit");
  const reads = rows.filter(({ operation }) => operation.kind === "read");
  const batches = commits.filter(({ operation }) => operation.appended > 1);
  const { targets, counted, contestants } = backend;
  const verdicts = [
    atMost("commit / raw", targets.commit, overRaw(commits)),
    atMost("read / raw", targets.read, overRaw(reads)),
    atMost("append at 100,000 / at 10", GROWTH, growth(commits)),
  ];
  if (counted) verdicts.unshift(atMost("round trips a call", 1, roundTrips(rows)));
  if (targets.batchLead !== undefined) {
    verdicts.push(atLeast("batch of 20, LangChain.js / ours", targets.batchLead, lead(batches)));
  }
  if (contestants["LangChain.js"]) {
    verdicts.push(atLeast("any operation, LangChain.js / ours", 1, lead(rows)));
  }
  return verdicts;
}

function roundTrips(rows: readonly Row[]): Figure[] {
  return rows.map((row) => ({ value: row.results.Scrollback?.roundTrips ?? Number.NaN, where: nameOf(row) }));
}

function overRaw(rows: readonly Row[]): Figure[] {
  return rows.map((row) => ({
    value: ratio(timesOf(row, "Scrollback"), timesOf(row, "raw")),
    where: nameOf(row),
  }));
}

function growth(commits: readonly Row[]): Figure[] {
  const shortest = Math.min(...commits.map(({ length }) => length));
  const longest = Math.max(...commits.map(({ length }) => length));
  return commits
    .filter(({ length }) => length === longest)
    .map((row) => {
      const short = commits.find(
        ({ operation, length }) => operation === row.operation && length === shortest,
      );
      return {
        value: ratio(timesOf(row, "Scrollback"), timesOf(short, "Scrollback")),
        where: row.operation.name,
      };
    });
}

function lead(rows: readonly Row[]): Figure[] {
  return rows
    .filter((row) => row.results["LangChain.js"])
    .map((row) => ({
      value: ratio(timesOf(row, "LangChain.js"), timesOf(row, "Scrollback")),
      where: nameOf(row),
    }));
}

function timesOf(row: Row | undefined, name: ContestantName): readonly number[] {
  return row?.results[name]?.times ?? [];
}

function nameOf({ operation, length }: Row): string {
  return `${operation.name} at ${length.toLocaleString("en")}`;
}

function atMost(what: string, limit: number, figures: readonly Figure[]): Verdict {
  const worst = figures.reduce((one, other) => (one.value >= other.value ? one : other));
  return { target: `${what}: at most ${limit}`, worst: textOf(worst), met: worst.value <= limit };
}

function atLeast(what: string, limit: number, figures: readonly Figure[]): Verdict {
  const worst = figures.reduce((one, other) => (one.value <= other.value ? one : other));
  return { target: `${what}: at least ${limit}`, worst: textOf(worst), met: worst.value >= limit };
}

function textOf({ value, where }: Figure): string {
  return `${Number(value.toFixed(2))}, ${where}`;
}
