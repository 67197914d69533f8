import { expect, test } from "vitest";
import { runMutated } from "../../../../test/mutants/run-mutated.ts";
import { mutantsOf } from "../../../../test/mutants/table.ts";
import { sample } from "./explore.ts";
import { scopes } from "./scopes.ts";
import type { BlobsRun } from "./worker.ts";

/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

test.each(Object.entries(scopes))(
  "%s, in 5,000 orders: no message without its content, no content without a message",
  async (_, scope) => {
    expect(await sample(scope, 5_000)).toBeUndefined();
  },
  TIMEOUT_MS,
);

test.each(mutantsOf("blobs"))(
  "blobs without the rule that $name are detected",
  async ({ changes, breaks: scope }) => {
    const run: BlobsRun = { scope, orders: 3_000 };
    const found = await runMutated<string>(new URL("worker.ts", import.meta.url), changes, {
      BLOBS: JSON.stringify(run),
    });
    expect(found).toMatch(/^seed/);
  },
  TIMEOUT_MS,
);
