/**
 * The contract of a session service as tests for Vitest, for any implementation and any backend.
 *
 * @packageDocumentation
 */

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, test } from "vitest";
import { appending } from "./appending.ts";
import type { ContractTest, SessionContractOptions, SessionHarness, Trial } from "./contract.ts";
import { creating } from "./creating.ts";
import { getting } from "./getting.ts";
import { listing } from "./listing.ts";
import { scoping } from "./scoping.ts";
import { sharing } from "./sharing.ts";
import { updating } from "./updating.ts";

export type { ContractService } from "./contract.ts";

/** Every promise of a session service, as a test for any implementation. */
export const sessionContract: readonly ContractTest[] = [
  ...creating,
  ...getting,
  ...appending,
  ...updating,
  ...scoping,
  ...listing,
  ...sharing,
];

/** The context of one contract test. */
export function trialOf(harness: SessionHarness): Trial {
  return {
    sessions: harness.connect(),
    appName: `app-${randomUUID()}`,
    userId: "ada",
    connect: (options) => harness.connect(options),
  };
}

/**
 * Declares the complete contract for one session service. Call it at the top level of a Vitest file.
 *
 * @example
 * runSessionContract({ name: "Redis", createHarness });
 */
export function runSessionContract({ name, createHarness }: SessionContractOptions): void {
  describe(`sessions on ${name}`, { timeout: 60_000 }, () => {
    let harness: SessionHarness;
    beforeEach(async () => {
      harness = await createHarness();
    }, 180_000);
    afterEach(() => harness.close(), 60_000);
    for (const { title, run } of sessionContract) test(title, () => run(trialOf(harness)));
  });
}
