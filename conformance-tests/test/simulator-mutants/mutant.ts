import type { ProfileName } from "../../src/simulator/index.ts";
import type { SourceChange } from "./mutate.ts";

/** A rule of the record log, switched off. */
export interface Mutant {
  readonly rule: string;
  readonly changes: readonly SourceChange[];
  readonly profile: ProfileName;
  /** A run of the profile that notices it. Absent: none does. */
  readonly seed: number | undefined;
}

type Change = readonly [file: string, inside: string, from: string, to: string];

export function off(
  rule: string,
  where: ProfileName | readonly [ProfileName, seed: number],
  ...changes: readonly Change[]
): Mutant {
  const [profile, seed] = typeof where === "string" ? [where, undefined] : where;
  return {
    rule,
    profile,
    seed,
    changes: changes.map(([file, inside, from, to]) => ({ file: `${file}.ts`, inside, from, to })),
  };
}
