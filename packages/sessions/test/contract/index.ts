/**
 * The contract of a session service as tests for Vitest, for any implementation and any backend.
 *
 * @packageDocumentation
 */

import { afterEach, beforeEach, describe, test } from "vitest";
import type { SessionContractOptions, SessionHarness } from "./contract.ts";
import { sessionContract, trialOf } from "./session-contract.ts";

export type { ContractService } from "./contract.ts";

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
