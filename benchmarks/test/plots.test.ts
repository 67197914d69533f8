import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pictures } from "../src/costs-page.ts";
import { type Figures, loadResults } from "../src/figures.ts";
import { draw } from "../src/plots.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const results = loadResults(`${root}benchmarks/results.json`);
assert.ok(results);
const names = Object.keys(pictures) as (keyof typeof pictures)[];

test("docs/costs has the pictures that are drawn from the results", () => {
  for (const name of names) {
    assert.equal(readFileSync(`${root}docs/costs/${name}.svg`, "utf8"), draw[name](results.backends), name);
  }
});

test("a picture says what it shows, names each backend, and brings its own paper", () => {
  for (const name of names) {
    const svg = draw[name](results.backends);
    assert.ok(svg.includes(`<title>${pictures[name]}</title>`));
    assert.ok(svg.includes('role="img"') && svg.includes('fill="#ffffff"'));
    for (const { title } of results.backends) assert.ok(svg.includes(title.split(" ")[0] ?? ""), title);
  }
});

test("other figures make another picture", () => {
  const slower = results.backends.map(
    (figures): Figures => ({
      ...figures,
      calls: figures.calls.map((row) => {
        const ours = row.results.Scrollback;
        return ours
          ? { ...row, results: { ...row.results, Scrollback: { ...ours, medianMs: 3 * ours.medianMs } } }
          : row;
      }),
    }),
  );
  assert.notEqual(draw.commits(slower), draw.commits(results.backends));
  assert.notEqual(draw.length(slower), draw.length(results.backends));
});
