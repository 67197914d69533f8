import { expect, test } from "vitest";
import { exploreStreams } from "./explore.ts";

test("20,000 orders of the steps of runs, listeners, deletions and deaths", async () => {
  expect(await exploreStreams(501, 20_000)).toBeUndefined();
}, 600_000);
