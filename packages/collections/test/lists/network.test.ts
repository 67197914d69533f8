import { expect, test } from "vitest";
import { withoutChance } from "./network.ts";

test("only the simulated work is without pauses: a loop beside it lets it run", async () => {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    // The limit ends what would never let this test fail.
    if (!isOver && turns < 10_000) setTimeout(turn);
  };
  setTimeout(turn);
  await withoutChance(
    () => "",
    async () => {
      const began = performance.now();
      while (turns < 3 && performance.now() - began < 10_000) await new Promise(setImmediate);
      await new Promise<void>((resolve) => setTimeout(resolve, 60_000));
    },
  );
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(turns).toBeLessThan(10_000);
});
