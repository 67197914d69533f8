/**
 * Copies the repository's pages to the staging folder of VitePress and corrects their links: a link to another page leads to
 * that page of the site, a link to any other file or folder leads to the repository.
 */
import { cpSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository, root, staged } from "./places.ts";

/** The pages of the site that are not in `docs`, with their paths in the site. */
const fromElsewhere: Readonly<Record<string, string>> = {
  "PROTOCOL.md": "reference/protocol.md",
  "CHANGELOG.md": "reference/changelog.md",
  "SECURITY.md": "reference/security.md",
  "CONTRIBUTING.md": "explanation/contributing.md",
};

/** Each page of the site: its path in the repository, and its path in the site. */
export function sitePages(): Map<string, string> {
  const docs = globSync("docs/**/*.md", {
    cwd: root,
    exclude: ["docs/generated/{faults,matrix}*.md"],
  }).sort();
  return new Map([
    ...docs.map((page) => [page, page.slice("docs/".length)] as const),
    ...Object.entries(fromElsewhere),
  ]);
}

/** The target, in the site, of a link in the page `from`. Calls `problem` for a broken link. */
function linkInSite(
  from: string,
  link: string,
  pages: ReadonlyMap<string, string>,
  problem: (text: string) => void,
): string {
  if (/^(https?:|mailto:|#)/.test(link)) return link;
  const [path = "", anchor] = link.split("#");
  const target = join(dirname(from), path).replace(/\/$/, "");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  const page = pages.get(target);
  if (page !== undefined) {
    const place = relative(dirname(pages.get(from) ?? from), page);
    return `${place.startsWith(".") ? place : `./${place}`}${hash}`;
  }
  const stat = statSync(join(root, target), { throwIfNoEntry: false });
  if (!stat) {
    problem(`${from}: the link ${link} leads nowhere`);
    return link;
  }
  return `${repository}/${stat.isDirectory() ? "tree" : "blob"}/main/${target}${hash}`;
}

/** Stages all pages and their pictures. Fails for a broken link. */
export function stagePages(): void {
  const pages = sitePages();
  const problems: string[] = [];
  for (const [page, place] of pages) {
    const text = readFileSync(join(root, page), "utf8").replaceAll(
      /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
      (whole, picture: string, label: string, link: string) => {
        if (picture) return whole;
        const inner = label.replaceAll(/`?docs\/(?:[\w-]+\/)*([\w-]+)(?:\.md)?`?/g, "$1");
        return `[${inner}](${linkInSite(page, link, pages, (text) => problems.push(text))})`;
      },
    );
    mkdirSync(dirname(join(staged, place)), { recursive: true });
    // The titles of tests have the words of many pages, and would be found before these.
    const settings = page === "docs/generated/tests.md" ? "---\nsearch: false\n---\n\n" : "";
    writeFileSync(join(staged, place), settings + text);
  }
  for (const picture of globSync("docs/**/*.{svg,png,gif}", { cwd: root })) {
    cpSync(join(root, picture), join(staged, picture.slice("docs/".length)));
  }
  // Only the configuration refers to this picture, so VitePress expects it in the public files.
  cpSync(join(root, "site/icon.svg"), join(staged, "public/icon.svg"));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}
