import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

// The code in docs/how-to/write-an-adapter.md is the code that was tested.

const root = join(import.meta.dirname, "../..");
const textOf = (path: string) => readFile(join(root, path), "utf8");

const page = await textOf("docs/how-to/write-an-adapter.md");

test("the blocks of the page are excerpts of the code", async () => {
  const blocks = [...page.matchAll(/^```typescript (\S+)\n(.*?)\n```$/gms)];
  expect(blocks.length).toBeGreaterThan(5);
  for (const [, path = "", code] of blocks) expect(await textOf(path), path).toContain(`${code}\n`);
});

/** The lines of a file, without blank lines and lines that contain only a comment. */
async function codeLines(path: string): Promise<number> {
  const code = (await textOf(path)).replaceAll(/^\s*\/\*\*.*?\*\/$/gms, "").replaceAll(/^\s*\/\/.*$/gm, "");
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

test("the page states the approximate lines of code of each folder", async () => {
  const rows = [...page.matchAll(/^\| \[([\w/]+)\]\(\S+\) \| (\d+) \|/gm)];
  expect(rows).toHaveLength(2);
  for (const [, folder = "", lines] of rows) {
    const files = await Promise.all(globSync(`${folder}/*.ts`, { cwd: root }).map(codeLines));
    const counted = files.reduce((sum, count) => sum + count, 0);
    expect(Math.abs(Number(lines) - counted) / counted, `${folder} has ${counted} lines`).toBeLessThan(0.1);
  }
});
