import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import GithubSlugger from "github-slugger";
import { expect, test } from "vitest";
import { root } from "../places.ts";

const pages = globSync(["*.md", "docs/**/*.md", "{packages/*,conformance-tests,benchmarks}/README.md"], {
  cwd: root,
}).sort();
/** A page without its code blocks, in which a line that begins with `#` is not a heading. */
const proseOf = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(/^( *)(```|~~~).*?^\1\2/gms, "");

/** GitHub's anchors for the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const slugger = new GithubSlugger();
  const headings = [...proseOf(page).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = ""]) =>
    heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").trim(),
  );
  return new Set(headings.map((heading) => slugger.slug(heading)));
}

test.each(pages)("the anchors in %s are headings on GitHub", (page) => {
  const invalid = [...proseOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)].flatMap(
    ([link, path = "", anchor = ""]) => {
      const target = path === "" ? page : relative(root, join(root, dirname(page), path));
      if (!target.endsWith(".md")) return [];
      return existsSync(join(root, target)) && anchorsOf(target).has(anchor) ? [] : [link];
    },
  );
  expect(invalid).toEqual([]);
});
