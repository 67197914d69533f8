import { afterAll, beforeAll, describe, test } from "vitest";
import type { DeclareTest, DocumentDatabaseHarness } from "./harness.ts";
import { declareListing } from "./listing.ts";
import { declareVerbs } from "./verbs.ts";

/** The options of {@link runDocumentDatabase}. */
export interface DocumentDatabaseOptions {
  /** The name in the report. */
  readonly name: string;
  createHarness(): Promise<DocumentDatabaseHarness>;
}

/** Some tests write more than ten megabytes. */
const TEST_TIMEOUT_MS = 120_000;
/** A harness may have to start its server first. */
const HARNESS_TIMEOUT_MS = 180_000;

/**
 * Declares the tests of a database of documents, beside those of `runConformance` on the driver over it: that its verbs fulfil their
 * contract. Call it at the top level of a Vitest file.
 *
 * @example
 * runDocumentDatabase({ name: "My backend", createHarness });
 */
export function runDocumentDatabase({ name, createHarness }: DocumentDatabaseOptions): void {
  describe(`${name}'s documents`, { timeout: TEST_TIMEOUT_MS }, () => {
    let harness: DocumentDatabaseHarness | undefined;
    beforeAll(async () => {
      harness = await createHarness();
    }, HARNESS_TIMEOUT_MS);
    afterAll(() => harness?.close(), HARNESS_TIMEOUT_MS);
    const declare: DeclareTest = (title, run) => {
      test(title, async () => {
        if (!harness) throw new Error("createHarness failed");
        const database = harness.connect();
        try {
          await run(database, harness);
        } finally {
          await database.close();
        }
      });
    };
    declareVerbs(declare);
    declareListing(declare);
  });
}
