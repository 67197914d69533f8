import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** The sizes of a page on a desk, and on a phone. */
export const WIDE = { width: 1_280, height: 800 };
export const NARROW = { width: 390, height: 844 };

/** The problems that axe finds in the current state of a page, light and dark, at each size: one line per element. */
export async function accessibilityProblems(
  page: Page,
  state: string,
  sizes = [WIDE, NARROW],
): Promise<string[]> {
  const found: string[] = [];
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const problem of await problemsOf(page))
        found.push(`${state}, ${size.width}, ${colorScheme}, ${problem}`);
    }
  }
  await page.setViewportSize(WIDE);
  return found;
}

async function problemsOf(page: Page): Promise<string[]> {
  // A string, because `axe` exists in the page, not in this process.
  const { violations, passes } = await page.evaluate<axe.AxeResults>(`${axe.source}; axe.run()`);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary }) => [impact, id, target, failureSummary].join(", ")),
  );
}
