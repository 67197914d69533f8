import { randomUUID } from "node:crypto";
import { appending } from "./appending.ts";
import type { ContractTest, SessionHarness, Trial } from "./contract.ts";
import { creating } from "./creating.ts";
import { getting } from "./getting.ts";
import { listing } from "./listing.ts";
import { scoping } from "./scoping.ts";
import { sharing } from "./sharing.ts";
import { updating } from "./updating.ts";

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
