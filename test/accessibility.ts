import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** What axe finds wrong with a page as it looks now: a line for each element. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  // A string, as the page has `axe` and this process has not.
  const { violations, passes } = await page.evaluate<axe.AxeResults>(`${axe.source}; axe.run()`);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary }) => [impact, id, target, failureSummary].join(", ")),
  );
}
