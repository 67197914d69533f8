import type { ProfileName } from "../../src/simulator/index.ts";
import type { SourceChange } from "../fixtures/source-mutants/mutate.ts";

/** The run that detects a mutant: a random one, or the scene in scenes.ts with the rule's name. */
export type Catcher = readonly [profile: ProfileName, seed: number] | "its scene";

/** A rule of the record log that is switched off. */
export interface Mutant {
  readonly rule: string;
  readonly changes: readonly SourceChange[];
  readonly catcher: Catcher;
}

/** The file is in the folder of the record log. */
type Change = readonly [file: string, inside: string, from: string, to: string];

export function off(rule: string, catcher: Catcher, ...changes: readonly Change[]): Mutant {
  return {
    rule,
    catcher,
    changes: changes.map(([file, inside, from, to]) => ({
      file: `store-core/src/record-log/${file}.ts`,
      inside,
      from,
      to,
    })),
  };
}
