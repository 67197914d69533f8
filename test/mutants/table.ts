import { readFileSync } from "node:fs";

/** A text that a file has once, and its replacement. */
export interface SourceChange {
  /** From the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** See mutants.txt. */
export interface Mutant {
  readonly runs: string;
  readonly breaks: string;
  readonly name: string;
  readonly says?: RegExp;
  readonly changes: readonly SourceChange[];
}

/** All mutants, or those of what runs them. */
export function mutantsOf(...runs: readonly string[]): readonly Mutant[] {
  const blocks = readFileSync(new URL("mutants.txt", import.meta.url), "utf8")
    .split("\n\n")
    .slice(1);
  return blocks.map(parse).filter((mutant) => runs.length === 0 || runs.includes(mutant.runs));
}

/** Backends without a fault, which must pass: one with a network, on parts of the clauses, and a slow one. */
export const soundRuns: readonly Mutant[] = [
  ...["0/4", "1/4", "2/4", "3/4"].map((breaks) => ({ runs: "loopback", breaks, name: breaks, changes: [] })),
  { runs: "slow", breaks: "C5 C7 C11", name: "C5 C7 C11", changes: [] },
];

function parse(block: string): Mutant {
  const [head = "", ...lines] = block
    .replace(/^#.*\n|\n$/gm, "")
    .trimEnd()
    .split("\n");
  const [runs = "", breaks = "", name = ""] = head.split(" | ");
  const says = lines[0]?.startsWith("says ") ? { says: new RegExp(lines.shift()?.slice(5) ?? "") } : {};
  const changes: { file: string; from: string[]; to: string[] }[] = [];
  let file = "";
  for (const line of lines) {
    const last = changes.at(-1);
    if (/^\+( |$)/.test(line)) last?.to.push(line.slice(2));
    else if (!/^-( |$)/.test(line)) file = line;
    else if (last && last.file === file && last.to.length === 0) last.from.push(line.slice(2));
    else changes.push({ file, from: [line.slice(2)], to: [] });
  }
  const joined = changes.map(({ from, to, ...rest }) => ({
    ...rest,
    from: from.join("\n"),
    to: to.join("\n"),
  }));
  return { runs, breaks, name, ...says, changes: joined };
}

/** Makes a change. @throws Error if the source does not have its text exactly once. */
export function mutated(source: string, { file, from, to }: SourceChange): string {
  const count = source.split(from).length - 1;
  if (count !== 1) throw new Error(`${file} has ${count} times, not once: ${from}`);
  return source.replace(from, () => to);
}

/** The name of a mutant in a report. */
export const titleOf = ({ runs, name }: Mutant) => `${runs}: ${name}`;
