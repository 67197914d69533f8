import { expect, test } from "vitest";
import { runMutated } from "../../../../test/mutants/run-mutated.ts";
import { mutantsOf } from "../../../../test/mutants/table.ts";
import { exploreStreams } from "./explore.ts";

/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

test(
  "20,000 orders of the steps of runs, listeners, deletions and deaths",
  async () => {
    expect(await exploreStreams(501, 20_000)).toBeUndefined();
  },
  TIMEOUT_MS,
);

test.each(mutantsOf("streams"))(
  "streams without the rule that $name are detected",
  async ({ changes, breaks: orders }) => {
    const found = await runMutated<string>(new URL("worker.ts", import.meta.url), changes, {
      STREAM_ORDERS: orders,
    });
    expect(found).toMatch(/^seed/);
  },
  TIMEOUT_MS,
);
