import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SaxesParser } from "saxes";
import { afterAll, expect, test } from "vitest";
import { backendNames } from "../benchmarks/scale/connect.ts";
import { countOperations, lengthOperations, loadFigures } from "../benchmarks/scale/figures.ts";
import { page } from "../benchmarks/scale/page.ts";

const run = promisify(execFile);
/** The files that the script writes, here instead of in docs. */
const folder = mkdtempSync(join(tmpdir(), "scrollback-scale-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a hundredth of the run works on every backend, and writes the page, the figures and well-formed pictures", async () => {
  const script = join(import.meta.dirname, "../benchmarks/scale/scale.ts");
  await run("node", ["--expose-gc", script, "--quick", "--to", folder], { cwd: folder });
  const all = loadFigures(join(folder, "scale/figures.jsonl"));
  expect(all.map(({ name }) => name)).toEqual([...backendNames]);
  for (const { name, byLength, byCount, paging } of all) {
    expect(byLength.map(({ operation }) => operation)).toEqual(lengthOperations);
    expect(byCount.map(({ operation }) => operation)).toEqual(countOperations);
    for (const { points } of [...byLength, ...byCount]) {
      expect(points.map(({ size }) => size)).toEqual([10, 100, 1_000]);
      for (const { medianMs, percentile95Ms, calls } of points) {
        expect(medianMs).toBeGreaterThan(0);
        expect(percentile95Ms).toBeGreaterThanOrEqual(medianMs);
        expect(calls).toBeGreaterThan(0);
      }
    }
    expect(paging).toMatchObject({ messages: 1_000, pageSize: 10, pages: 100 });
    expect([paging.samples[0]?.page, paging.samples.at(-1)?.page]).toEqual([10, 100]);
    // Throws if it is not well-formed.
    new SaxesParser().write(await readFile(join(folder, `scale/${name}.svg`), "utf8")).close();
  }
  expect(await readFile(join(folder, "scale.md"), "utf8")).toBe(page(all));
}, 300_000);
