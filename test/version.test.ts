import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readChangesets } from "@changesets/read";
import type { NewChangeset } from "@changesets/types";
import { expect, test } from "vitest";
import { packagesInOrder, problemsOf as releaseProblems } from "../scripts/release.ts";
import { problemsOf, withSection } from "../scripts/version.ts";

const root = join(import.meta.dirname, "..");
const names = packagesInOrder().map(({ name }) => name);
const changeset = (summary: string, type: "major" | "minor" | "patch", name = "@scrollback/chats") =>
  ({ id: "tall-trams-wait", summary, releases: [{ name, type }] }) satisfies NewChangeset;

test("every changeset has a text and names packages of this repository", async () => {
  expect(problemsOf(await readChangesets(root), names)).toEqual([]);
});

test("a changeset without a text, without a package, or of an unknown package is reported", () => {
  const found = problemsOf(
    [
      changeset(" ", "minor"),
      changeset("A", "patch", "@scrollback/chat"),
      { ...changeset("B", "patch"), releases: [] },
    ],
    names,
  );
  expect(found.map((problem) => problem.replace(/^\S+ /, ""))).toEqual([
    "has no text",
    "names @scrollback/chat, which is not a package",
    "names no package",
  ]);
});

test("a section has what was unreleased, then the changesets by kind", () => {
  const first = withSection("# Changelog\n\nAll.\n\n## [Unreleased]\n\nFirst.\n", "0.1.0", "2027-01-02", [
    changeset("Fixes A.", "patch"),
    changeset("Adds B.\nIt does C.", "minor"),
  ]);
  expect(first).toBe(
    "# Changelog\n\nAll.\n\n## [0.1.0] - 2027-01-02\n\nFirst.\n\n### Added and changed\n\n- Adds B.\n  It does C.\n\n### Fixed\n\n- Fixes A.\n",
  );
  const second = withSection(first, "1.0.0", "2027-02-03", [changeset("Removes D.", "major")]);
  expect(second).toBe(
    first.replace("## [0.1.0]", "## [1.0.0] - 2027-02-03\n\n### Breaking\n\n- Removes D.\n\n## [0.1.0]"),
  );
  const [one] = packagesInOrder();
  expect(releaseProblems(one ? [{ ...one, version: "1.0.0" }] : [], second, "v1.0.0", false)).toEqual([]);
});

test("the section of the real changelog keeps its text", async () => {
  const changelog = await readFile(join(root, "CHANGELOG.md"), "utf8");
  const after = withSection(changelog, "9.9.9", "2027-01-02", []);
  expect(after).toBe(changelog.replace("## [Unreleased]", "## [9.9.9] - 2027-01-02"));
});
