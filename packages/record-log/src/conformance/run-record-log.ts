import { afterAll, beforeAll, describe, test } from "vitest";
import { declareDeaths } from "./deaths.ts";
import { declareExpiries } from "./expiries.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";
import { declareListing } from "./listing.ts";
import { declareRequests } from "./requests.ts";
import { declareVerbs } from "./verbs.ts";

/** The options of {@link runRecordLog}. */
export interface RecordLogOptions {
  /** The name in the report. */
  readonly name: string;
  createLog(): Promise<RecordLogHarness>;
}

/** Some tests write more than ten megabytes. */
const TEST_TIMEOUT_MS = 120_000;
/** A harness may have to start its server first. */
const HARNESS_TIMEOUT_MS = 180_000;

/**
 * Declares the tests of a record log, beside those of `runConformance` on the driver over it: that its verbs fulfil their
 * contract, that a client may die between any two requests, and that a writer that was delayed for weeks does not lose or hide a
 * message. Call it at the top level of a Vitest file.
 *
 * @example
 * runRecordLog({ name: "My backend", createLog });
 */
export function runRecordLog({ name, createLog }: RecordLogOptions): void {
  describe(`${name}'s record log`, { timeout: TEST_TIMEOUT_MS }, () => {
    let harness: RecordLogHarness | undefined;
    beforeAll(async () => {
      harness = await createLog();
    }, HARNESS_TIMEOUT_MS);
    afterAll(() => harness?.close(), HARNESS_TIMEOUT_MS);
    const declare: DeclareLogTest = (title, run) => {
      test(title, async ({ skip }) => {
        if (!harness) throw new Error("createLog failed");
        await run(harness, skip);
      });
    };
    declareVerbs(declare);
    declareExpiries(declare);
    declareListing(declare);
    declareRequests(declare);
    declareDeaths(declare);
  });
}
