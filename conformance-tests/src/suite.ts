import { afterAll, beforeAll, describe, test } from "vitest";
import { Backend, checkHarness } from "./backend.ts";
import type { Clause } from "./clause.ts";
import { clauses } from "./clauses/index.ts";
import type { ConformanceOptions, Harness, ServerInfo } from "./harness.ts";

declare module "vitest" {
  interface TaskMeta {
    /** Set on every test of the suite: the reporter's data. The server is known after a harness was created. */
    conformance?: {
      readonly clause: string;
      readonly title: string;
      readonly backend: string;
      readonly server?: ServerInfo;
    };
  }
}

/** The slowest tests wait for the end of an outage of some seconds. */
const TEST_TIMEOUT_MS = 60_000;
/** A harness may have to start its server first. */
const HARNESS_TIMEOUT_MS = 180_000;

/**
 * Declares the whole suite for one backend: a group for each clause, each with its own harness. Call it at the top level of a
 * Vitest file.
 *
 * @example
 * runConformance({ name: "Redis", createHarness });
 */
export function runConformance(options: ConformanceOptions): void {
  describe(options.name, () => {
    // Adjacent groups of concurrent tests run side by side.
    for (const concurrent of [false, true])
      for (const [id, clause] of Object.entries(clauses)) declareGroup(id, clause, concurrent, options);
  });
}

/** Declares the tests of one clause. */
export function declareClause(id: string, clause: Clause, options: ConformanceOptions): void {
  for (const concurrent of [false, true]) declareGroup(id, clause, concurrent, options);
}

/** Declares the tests of one clause that are concurrent, or those that are not, with a separate harness. */
function declareGroup(
  id: string,
  clause: Clause,
  concurrent: boolean,
  { name, createHarness }: ConformanceOptions,
): void {
  const tests: [title: string, run: (backend: Backend) => Promise<void>][] = [];
  clause.declare((title, run, options) => {
    if ((options?.concurrent ?? clause.concurrent ?? false) === concurrent) tests.push([title, run]);
  });
  if (tests.length === 0) return;
  const options = { timeout: clause.timeoutMs ?? TEST_TIMEOUT_MS, concurrent };
  describe(`${id} ${clause.title}`, options, () => {
    let harness: Harness | undefined;
    beforeAll(async () => {
      harness = await createHarness();
      checkHarness(harness);
    }, HARNESS_TIMEOUT_MS);
    afterAll(() => harness?.close(), HARNESS_TIMEOUT_MS);
    const conformance = { clause: id, title: clause.title, backend: name };
    for (const [title, run] of tests) {
      test(`${id} ${title}`, { meta: { conformance } }, async ({ task, skip }) => {
        if (!harness) throw new Error("createHarness failed");
        task.meta.conformance = { ...conformance, server: harness.server };
        await using backend = new Backend(harness, { skip, createHarness });
        await run(backend);
      });
    }
  });
}
