import type { Driver } from "@scrollback/store-core";
import { describe } from "vitest";
import { clauses } from "../../src/clauses/index.ts";
import type { Harness } from "../../src/harness.ts";
import { declareClause } from "../../src/suite.ts";
import { memoryHarness } from "../memory-harness.ts";

/** A backend that is broken on purpose. */
export interface Mutant {
  readonly name: string;
  /** The clause that the suite must fail it by. */
  readonly breaks: string;
  /** What a failure must say, where it is a figure that an author of an adapter has to find the cause of. */
  readonly says?: RegExp;
  /** What is broken stands between a sound driver of the memory harness and its users … */
  driver?(driver: Driver): Driver;
  /** … or in a harness of its own. */
  createHarness?(): Promise<Harness>;
}

/** Declares, for each mutant, the tests of the clause that it breaks. */
export function declareMutants(mutants: readonly Mutant[]): void {
  for (const { name, breaks, says: _, driver = (sound: Driver) => sound, ...own } of mutants) {
    const clause = clauses[breaks];
    if (!clause) throw new Error(`${name}: there is no clause ${breaks}`);
    const createHarness = async () => {
      const harness = await memoryHarness();
      return { ...harness, driver: driver(harness.driver) };
    };
    describe(name, () => declareClause(breaks, clause, { name, createHarness, ...own }));
  }
}
