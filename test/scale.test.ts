import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SaxesParser } from "saxes";
import { afterAll, describe, expect, test } from "vitest";
import { backendNames } from "../benchmarks/scale/connect.ts";
import {
  type Costs,
  countOperations,
  type Figures,
  lengthOperations,
  loadFigures,
  type OperationName,
  saveFigures,
} from "../benchmarks/scale/figures.ts";
import { fitLine, timeAt } from "../benchmarks/scale/fit.ts";
import { page } from "../benchmarks/scale/page.ts";
import { growthOf } from "../benchmarks/scale/paging.ts";
import { picture } from "../benchmarks/scale/picture.ts";

const root = join(import.meta.dirname, "..");
/** The files that the script writes, here instead of in docs. */
const folder = mkdtempSync(join(tmpdir(), "scrollback-scale-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Parses a document. Throws if it is not well-formed. */
function parse(xml: string): { tags: Tag[]; texts: string[] } {
  const parser = new SaxesParser();
  const [tags, texts]: [Tag[], string[]] = [[], []];
  parser.on("opentag", ({ name, attributes }) => tags.push({ name, attributes }));
  parser.on("text", (text) => texts.push(text));
  parser.write(xml).close();
  return { tags, texts };
}

const costsOf = (operations: readonly OperationName[], msOf: (size: number) => number): Costs =>
  operations.map((operation) => ({
    operation,
    points: [10, 1_000, 100_000].map((size) => ({
      size,
      medianMs: msOf(size),
      percentile95Ms: 2 * msOf(size),
      calls: 7,
    })),
  }));

const figures: Figures = {
  name: "redis",
  title: 'Redis & "friends" <8>',
  versions: ["Redis 8"],
  machine: { cores: 2, node: "24", load: [1, 2] },
  areCopies: false,
  largest: 100_000,
  byLength: costsOf(lengthOperations, () => 0.25),
  byCount: costsOf(countOperations, (size) => size / 1_000),
  paging: {
    messages: 100_000,
    pageSize: 100,
    pages: 1_000,
    samples: [
      { page: 10, heapBytes: 30 * 1024 ** 2, rssBytes: 120 * 1024 ** 2 },
      { page: 500, heapBytes: 90 * 1024 ** 2, rssBytes: 100 * 1024 ** 2 },
      { page: 1_000, heapBytes: 31 * 1024 ** 2, rssBytes: 118 * 1024 ** 2 },
    ],
    firstTenthMs: 1,
    lastTenthMs: 2,
  },
};

describe("the fit", () => {
  const sizes = [10, 100, 1_000, 10_000, 100_000];
  const pointsOf = (msOf: (size: number) => number) => sizes.map((size) => ({ size, medianMs: msOf(size) }));

  test("is 0 for a constant cost, 1 for a proportional one, and between 0 and 1 otherwise", () => {
    expect(fitLine(pointsOf(() => 0.3)).slope).toBeCloseTo(0, 12);
    expect(fitLine(pointsOf((size) => 0.002 * size)).slope).toBeCloseTo(1, 12);
    expect(fitLine(pointsOf((size) => 7 * Math.sqrt(size))).slope).toBeCloseTo(0.5, 12);
    expect(fitLine(pointsOf((size) => 9 / size)).slope).toBeCloseTo(-1, 12);
  });

  test("returns the times at their sizes", () => {
    const line = fitLine(pointsOf((size) => 7 * size ** 0.25));
    for (const size of sizes) expect(timeAt(line, size)).toBeCloseTo(7 * size ** 0.25, 9);
  });

  test("is that of least squares, not of the end points", () => {
    // By hand: x 0, 1, 2, 3 and y 0, 3, 0, 1 have the slope 0 through the mean 1. The end points alone would have the slope 1/3.
    const points = [0, 3, 0, 1].map((y, x) => ({ size: Math.exp(x), medianMs: Math.exp(y) }));
    const line = fitLine(points);
    expect(line.slope).toBeCloseTo(0, 12);
    expect(line.factor).toBeCloseTo(Math.E, 12);
  });

  test("is refused for values without a line", () => {
    expect(() => fitLine([])).toThrow(RangeError);
    expect(() => fitLine([{ size: 10, medianMs: 1 }])).toThrow(RangeError);
    expect(() => fitLine(pointsOf(() => 0))).toThrow(RangeError);
    expect(() => fitLine([{ size: 0, medianMs: 1 }, ...pointsOf(() => 1)])).toThrow(RangeError);
  });
});

describe("the pictures", () => {
  /** The distances of a series' marks from the top, in the order of the sizes. */
  const heightsOf = (tags: readonly Tag[], series: number) =>
    tags
      .filter(
        ({ attributes }) =>
          attributes.ecmeta_ssr_type === "chart" && attributes.ecmeta_series_index === String(series),
      )
      .map(({ attributes }) => Number(/,([\d.]+)\)$/.exec(attributes.transform ?? "")?.[1]));

  test("a picture is well-formed and shows each size, the slopes and the growth", () => {
    const { tags, texts } = parse(picture(figures));
    const [drawing] = tags;
    expect(drawing?.attributes).toMatchObject({ xmlns: "http://www.w3.org/2000/svg", role: "img" });
    expect(texts.find((text) => text.startsWith(`${figures.title}: cost and memory by size.`))).toBeDefined();
    expect(texts.filter((text) => text.endsWith(": slope 0.000"))).toHaveLength(4);
    expect(texts.filter((text) => text.endsWith(": slope +1.000"))).toHaveLength(3);
    expect(texts).toEqual(
      expect.arrayContaining(["messages in the thread", "threads", "milliseconds, median"]),
    );
    expect(texts).toEqual(expect.arrayContaining(["resident memory: −2.0 MiB", "heap: +1.0 MiB"]));
  });

  test("constant values are drawn flat, and larger ones higher", () => {
    const { tags } = parse(picture(figures));
    // A line follows the marks of each operation: first the operations by length, then those by count.
    const [flat, rising] = [heightsOf(tags, 0), heightsOf(tags, 2 * lengthOperations.length)];
    expect(flat).toHaveLength(3);
    expect(new Set(flat).size).toBe(1);
    expect(rising).toEqual(rising.toSorted((one, other) => other - one));
    expect(new Set(rising).size).toBe(3);
  });

  test("any text is escaped", () => {
    const title = `</text> & <script> "x" 'y' ]]> &amp; 東京 👩‍🚀`;
    const { tags, texts } = parse(picture({ ...figures, title }));
    expect(texts.some((text) => text.startsWith(title))).toBe(true);
    expect(tags.some(({ name }) => name === "script")).toBe(false);
  });
});

describe("the figures", () => {
  test("growth is from the first sample to the last, independent of those between", () => {
    expect(growthOf(figures.paging)).toEqual({ heapBytes: 1024 ** 2, rssBytes: -2 * 1024 ** 2 });
  });

  test("a backend's figures replace its last ones, and those of others are kept", () => {
    const path = join(folder, "figures.jsonl");
    expect(loadFigures(path)).toEqual([]);
    saveFigures(path, { ...figures, name: "dynamodb" });
    saveFigures(path, { ...figures, title: "old" });
    const all = saveFigures(path, figures);
    expect(all).toEqual([figures, { ...figures, name: "dynamodb" }]);
    expect(loadFigures(path)).toEqual(all);
  });

  test("the page shows each figure", () => {
    const text = page([figures]);
    expect(text).toContain("![Cost by length and by count of threads, and memory while paging");
    expect(text).toMatch(/\| 100,000 threads( +\| +(?:-|100 \(200\))){4} \|/);
    expect(text).toMatch(/( \| +\+1\.000){3} \| +\+1\.0 MiB \| +−2\.0 MiB \|/);
  });

  test("docs/generated/scale.md and its pictures are what the script generates from the figures", async () => {
    const all = loadFigures(join(root, "docs/generated/scale/figures.jsonl"));
    expect(all.map(({ name }) => name)).toEqual([...backendNames]);
    expect(all.map(({ largest }) => largest)).toEqual(backendNames.map(() => 100_000));
    expect(await readFile(join(root, "docs/generated/scale.md"), "utf8")).toBe(page(all));
    for (const one of all) {
      expect(await readFile(join(root, `docs/generated/scale/${one.name}.svg`), "utf8")).toBe(picture(one));
    }
  });
});
