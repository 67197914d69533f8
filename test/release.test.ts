import { expect, test } from "vitest";
import { packagesInOrder, problemsOf } from "../scripts/release.ts";

test("packages follow their dependencies", () => {
  const names = packagesInOrder().map(({ name }) => name);
  expect(names[0]).toBe("@scrollback/store-core");
  expect(new Set(names).size).toBe(names.length);
  expect(names).not.toContain("@scrollback/simulator");
  for (const { name, needs } of packagesInOrder()) {
    for (const needed of needs)
      expect(names.indexOf(needed), `${needed} before ${name}`).toBeLessThan(names.indexOf(name));
  }
});

const one = { name: "@scrollback/one", version: "1.2.0", folder: "one", needs: [] };

test.each([
  [
    "other versions",
    [one, { ...one, version: "1.3.0" }],
    "## [1.2.0] - 2026-11-22",
    "v1.2.0",
    ["different versions"],
  ],
  ["no section", [one], "## [1.1.0] - 2026-11-01", "v1.2.0", ["no section"]],
  ["a section without a date", [one], "## [1.2.0]", "v1.2.0", ["no section"]],
  [
    "a section of another version that looks alike",
    [one],
    "## [1x2.0] - 2026-11-22",
    "v1.2.0",
    ["no section"],
  ],
  ["only unreleased changes", [one], "## [Unreleased]", "v1.2.0", ["no section"]],
  ["another tag", [one], "## [1.2.0] - 2026-11-22", "v1.2.1", ["the tag is v1.2.1"]],
  ["no problem", [one], "## [1.2.0] - 2026-11-22", "v1.2.0", []],
] as const)("a release with %s is reported", (_, packages, changelog, tag, expected) => {
  const problems = problemsOf(packages, changelog, tag, false);
  expect(problems).toHaveLength(expected.length);
  expected.forEach((text, index) => {
    expect(problems[index]).toContain(text);
  });
});

test("a dry run accepts unreleased changes", () => {
  expect(problemsOf([one], "## [Unreleased]", undefined, true)).toEqual([]);
});
