import type { ProfileName } from "../../src/simulator/index.ts";
import type { SourceChange } from "./mutate.ts";

/** The run that notices a mutant: one that is drawn at random, or the one of scenes.ts that has the rule's name. */
export type Catcher = readonly [profile: ProfileName, seed: number] | "its scene";

/** A rule of the record log, switched off. */
export interface Mutant {
  readonly rule: string;
  readonly changes: readonly SourceChange[];
  readonly catcher: Catcher;
}

type Change = readonly [file: string, inside: string, from: string, to: string];

export function off(rule: string, catcher: Catcher, ...changes: readonly Change[]): Mutant {
  return {
    rule,
    catcher,
    changes: changes.map(([file, inside, from, to]) => ({ file: `${file}.ts`, inside, from, to })),
  };
}
