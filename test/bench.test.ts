import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backendSection, pagesOf, scaleTable } from "../benchmarks/src/page.ts";
import { type BackendResults, backendKeys, loadResults, type Row } from "../benchmarks/src/results.ts";
import { judge } from "../benchmarks/src/targets.ts";

const machine = { date: "2026-01-01", node: "24", cores: 2, load: 2 };
const row = (fields: Partial<Row>): Row => ({ name: "append 1", raw: 1, ours: 1.2, machine, ...fields });
const results: BackendResults = {
  key: "mongodb",
  title: "MongoDB",
  versions: ["MongoDB 8"],
  baseline: "insertOne",
  other: "LangChain.js",
  rows: [
    row({ other: 2.4, requests: 1 }),
    row({ name: "append 20", ours: 1.3 }),
    row({ name: "8 factories, 8 threads", raw: 4_000, ours: 3_000, failed: 7 }),
    row({ name: "LangGraph turn", ours: 3, machine: { ...machine, date: "2026-01-02", load: 9 } }),
  ],
};

test("a target is the most time, or the least commits; a figure equal to it meets it", () => {
  expect(judge("mongodb", row({ ours: 1.25 }))).toEqual({ target: 1.25, met: true });
  expect(judge("mongodb", row({ ours: 1.26 }))).toMatchObject({ met: false });
  const writers = row({ name: "8 factories, 8 threads", raw: 10, ours: 8 });
  expect(judge("mongodb", writers)).toEqual({ target: 0.8, met: true });
  expect(judge("mongodb", { ...writers, ours: 7 })).toMatchObject({ met: false });
  expect(judge("mongodb", row({ ours: Number.NaN }))).toMatchObject({ met: false });
  expect(judge("redis", row({ name: "all of 1,000" }))).toBeUndefined();
});

describe("the page", () => {
  const cellsOf = (text: string, name: string) =>
    text
      .split("\n")
      .find((line) => line.startsWith(`| ${name} `))
      ?.split("|")
      .slice(2, -1)
      .map((cell) => cell.trim());

  test("shows each figure and ratio, and which targets are missed", () => {
    const text = backendSection(results);
    expect(cellsOf(text, "ms, or commits/s")).toEqual([
      ...["raw", "ours", "ours / raw", "target", "LangChain.js", "ours / it", "requests"],
    ]);
    expect(cellsOf(text, "append 1")).toEqual(["1.00", "1.20", "1.20", "1.25", "2.40", "0.500", "1.00"]);
    expect(cellsOf(text, "append 20")?.slice(2)).toEqual(["1.30", "1.25, missed", "-", "-", "-"]);
    expect(cellsOf(text, "8 factories, 8 threads")?.slice(0, 4)).toEqual([
      ...["4,000", "3,000", "0.750", "0.8, missed"],
    ]);
    expect(text).toContain("8 factories, 8 threads: 7 commits of ours failed");
  });

  test("says when and how each row was measured, and whether the machine was busy", () => {
    const text = backendSection({ ...results, note: "An earlier layout." });
    expect(text).toContain("**An earlier layout.**");
    expect(text).toContain(
      "append 1; append 20; 8 factories, 8 threads: measured 2026-01-01, Node 24, 2 cores",
    );
    expect(text).toMatch(/LangGraph turn: measured 2026-01-02, .*: the machine was busy with other work/);
  });

  test("shows times by size, and a dash for what was not measured", () => {
    const rows = [
      { operation: "append 1" as const, points: [{ size: 10, ms: 0.5 }] },
      { operation: "list 100 threads" as const, points: [{ size: 100_000, ms: 7 }] },
    ];
    const text = scaleTable([{ key: "redis", title: "Redis", machine, rows }]);
    expect(
      text
        .split("\n")
        .slice(-2)
        .map((line) => line.split("|").map((cell) => cell.trim())),
    ).toEqual([
      ["", "Redis", "append 1", "messages", "0.500", "-", "2026-01-01", ""],
      ["", "Redis", "list 100 threads", "threads", "-", "7.00", "2026-01-01", ""],
    ]);
  });

  test("and the comparison are what the script generates from benchmarks/results.json", async () => {
    const last = loadResults();
    for (const measured of [last.backends, last.scale]) {
      const keys = measured.map(({ key }) => key);
      // Some have not been measured yet.
      expect(keys.length).toBeGreaterThanOrEqual(6);
      expect(keys).toEqual(backendKeys.filter((key) => keys.includes(key)));
    }
    for (const [path, text] of pagesOf(last)) {
      const page = await readFile(join(import.meta.dirname, "..", path), "utf8");
      expect(page, `${path}: run npm run bench -- --render`).toBe(text);
    }
  });
});
