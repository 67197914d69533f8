import type { Driver } from "@scrollback/store-core";
import { describe } from "vitest";
import { clauses } from "../../src/clauses/index.ts";
import type { Harness } from "../../src/harness.ts";
import { declareClause } from "../../src/suite.ts";
import { memoryHarness } from "../memory-harness.ts";

/** A backend that is broken on purpose. */
export interface Mutant {
  readonly name: string;
  /** The clause that must fail. */
  readonly breaks: string;
  /** A text that the failure must contain, if it shows a figure whose cause an adapter's author must find. */
  readonly says?: RegExp;
  /** Wraps a sound driver of the memory harness with the fault … */
  driver?(driver: Driver): Driver;
  /** … or replaces the harness. */
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
