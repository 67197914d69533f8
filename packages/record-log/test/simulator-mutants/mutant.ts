import type { SourceChange } from "../../../../conformance-tests/test/fixtures/source-mutants/mutate.ts";
import type { ProfileName } from "../../src/simulator/profiles.ts";

/**
 * What detects a mutant: a random run, the scene in scenes.ts with the rule's name, or the exploration of a scope in
 * ../explorer/scopes.ts.
 */
export type Catcher =
  | readonly [profile: ProfileName, seed: number]
  | "its scene"
  | { readonly scope: string };

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
      file: `record-log/src/${file}.ts`,
      inside,
      from,
      to,
    })),
  };
}
