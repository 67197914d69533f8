import type { Driver } from "@scrollback/store-core/driver";
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

/** Clauses whose tests mostly wait: for an expiry, for the end of an outage, for a deadline. */
const WAITING = ["C11", "C13", "C14", "C20", "C21"];

/**
 * Calls `declare` for each clause or mutant in a group. Those whose tests mostly wait run side by side, each with a harness of its
 * own; the others run one after another, because their limits of time are for a process with nothing else to do.
 */
export function declareGroups<T>(
  groups: readonly T[],
  clauseOf: (group: T) => string,
  declare: (group: T, options: { concurrent: boolean }) => void,
): void {
  // Adjacent groups of concurrent tests run side by side.
  for (const concurrent of [true, false])
    for (const group of groups)
      if (WAITING.includes(clauseOf(group)) === concurrent) declare(group, { concurrent });
}

/** Declares, for each mutant, the tests of the clause that it breaks. */
export function declareMutants(mutants: readonly Mutant[]): void {
  declareGroups(
    mutants,
    ({ breaks }) => breaks,
    ({ name, breaks, says: _, driver = (sound: Driver) => sound, ...own }, group) => {
      const clause = clauses[breaks];
      if (!clause) throw new Error(`${name}: there is no clause ${breaks}`);
      const createHarness = async () => {
        const harness = await memoryHarness();
        return { ...harness, driver: driver(harness.driver) };
      };
      describe(name, group, () => declareClause(breaks, clause, { name, createHarness, ...own }));
    },
  );
}
