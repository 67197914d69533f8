import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** The problems that axe finds in the current state of a page, one line per element. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  // A string, because `axe` exists in the page, not in this process.
  const { violations, passes } = await page.evaluate<axe.AxeResults>(`${axe.source}; axe.run()`);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary }) => [impact, id, target, failureSummary].join(", ")),
  );
}
