/**
 * Makes the section of the next release in CHANGELOG.md out of the changesets in `.changeset`, and sets the version of all
 * packages: `node scripts/version.ts`. A version that has no dated section yet, such as the first one, is kept. Commit the
 * result, and tag it; `scripts/release.ts` publishes.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readChangesets } from "@changesets/read";
import type { NewChangeset } from "@changesets/types";
import { packagesInOrder } from "./release.ts";

const root = join(import.meta.dirname, "..");

/** The problems of changesets: names of no package, and empty texts. */
export function problemsOf(changesets: readonly NewChangeset[], names: readonly string[]): string[] {
  return changesets.flatMap(({ id, releases, summary }) => [
    ...(summary.trim() === "" ? [`.changeset/${id}.md has no text`] : []),
    ...(releases.length === 0 ? [`.changeset/${id}.md names no package`] : []),
    ...releases.flatMap(({ name }) =>
      names.includes(name) ? [] : [`.changeset/${id}.md names ${name}, which is not a package`],
    ),
  ]);
}

/** The changelog with a section for a version, which begins with what stands under "Unreleased", if there is such a heading. */
export function withSection(
  changelog: string,
  version: string,
  date: string,
  changesets: readonly NewChangeset[],
): string {
  const groups = [
    ["major", "Breaking"],
    ["minor", "Added and changed"],
    ["patch", "Fixed"],
  ] as const;
  const typeOf = ({ releases }: NewChangeset) =>
    groups.find(([type]) => releases.some((release) => release.type === type))?.[0];
  const text = groups.flatMap(([type, title]) => {
    const items = changesets.filter((one) => typeOf(one) === type);
    const lines = items.map(({ summary }) => `- ${summary.trim().replaceAll("\n", "\n  ")}`);
    return lines.length === 0 ? [] : [`### ${title}\n\n${lines.join("\n")}`];
  });
  const [top = "", ...sections] = changelog.trimEnd().split(/\n(?=## )/);
  const [first, ...released] = sections;
  const unreleased = first?.startsWith("## [Unreleased]\n") === true ? first.split("\n").slice(1) : undefined;
  const body = [unreleased?.join("\n").trim() ?? "", ...text].filter((part) => part !== "").join("\n\n");
  const older = unreleased ? released : sections;
  return `${[top.trimEnd(), `## [${version}] - ${date}\n\n${body.trim()}`, ...older.map((one) => one.trimEnd())].join("\n\n")}\n`;
}

async function main(): Promise<void> {
  const changesets = await readChangesets(root);
  const problems = problemsOf(
    changesets,
    packagesInOrder().map(({ name }) => name),
  );
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const versionNow = () => packagesInOrder()[0]?.version ?? "";
  if (changelog.includes(`\n## [${versionNow()}] - `)) {
    execFileSync(join(root, "node_modules/.bin/changeset"), ["version"], { cwd: root, stdio: "inherit" });
    execFileSync("npm", ["install", "--package-lock-only"], { cwd: root, stdio: "inherit" });
  } else for (const { id } of changesets) rmSync(join(root, ".changeset", `${id}.md`));
  const [date = ""] = new Date().toISOString().split("T");
  writeFileSync(join(root, "CHANGELOG.md"), withSection(changelog, versionNow(), date, changesets));
}

if (import.meta.main) await main();
