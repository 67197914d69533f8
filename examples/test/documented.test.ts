import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

// The code in docs/how-to/write-an-adapter.md is the code that was tested.

const root = join(import.meta.dirname, "../..");
const textOf = (path: string) => readFile(join(root, path), "utf8");

const page = await textOf("docs/how-to/write-an-adapter.md");

test("the blocks of the page are excerpts of the examples", async () => {
  const blocks = [...page.matchAll(/^```typescript (\S+)\n(.*?)\n```$/gms)];
  expect(blocks.length).toBeGreaterThan(5);
  for (const [, path, code] of blocks) expect(await textOf(`examples/${path}`)).toContain(`${code}\n`);
});

/** The lines of a file, without blank lines and lines that contain only a comment. */
async function codeLines(path: string): Promise<number> {
  const code = (await textOf(path)).replaceAll(/^\s*\/\*\*.*?\*\/$/gms, "").replaceAll(/^\s*\/\/.*$/gm, "");
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

test("the page states the approximate lines of code of each file of the example in SQL", async () => {
  const rows = [...page.matchAll(/^\| `(sql\/src\/[\w-]+\.ts)` \| [^|]+ \| (\d+) \|/gm)];
  const files = (await readdir(join(root, "examples/sql/src"))).map((name) => `sql/src/${name}`);
  expect(rows.map(([, file]) => file).sort()).toEqual(files.sort());
  for (const [, file = "", lines] of rows) {
    const counted = await codeLines(`examples/${file}`);
    expect(Math.abs(Number(lines) - counted) / counted, `${file} has ${counted} lines`).toBeLessThan(0.2);
  }
});
