import { describe, expect, test } from "vitest";
import { type ClauseResult, toMarkdown } from "../src/matrix.ts";

const result = (
  clause: string,
  backend: string,
  outcome: ClauseResult["outcome"],
  server?: ClauseResult["server"],
): ClauseResult => ({
  clause,
  title: `${clause}'s title`,
  test: `${clause} keeps its promise`,
  backend,
  outcome,
  ...(server && { server }),
});

const redis = { product: "Redis", version: "8.0.6" };
const results: ClauseResult[] = [
  result("C2", "Redis", "failed", redis),
  result("C2", "Redis", "passed", redis),
  result("C10", "Redis", { leftOut: "no clock" }, redis),
  result("C10", "Redis", "passed", redis),
  result("C10", "Memory", { leftOut: "no clock" }),
  result("C10", "Memory", { leftOut: "no network" }),
  result("C2", "Memory", "passed"),
  result("C2", "Memory", "passed"),
  result("C2", "Memory", { leftOut: "no network" }),
  result("Model", "Memory", "passed"),
];

describe("the matrix", () => {
  test("as Markdown", () => {
    expect(toMarkdown(results)).toBe(
      [
        "| Clause | Memory | Redis (Redis 8.0.6) |",
        "| --- | --- | --- |",
        "| C2 C2's title | ✓ 2 ¹ | ✗ 1 of 2 |",
        "| C10 C10's title | – ¹ ² | ✓ 1 ² |",
        "| Model Model's title | ✓ 1 | – |",
        "",
        "✓ tests passed, ✗ tests failed, – nothing to test.",
        "<br>¹ Some tests left out: no network.",
        "<br>² Some tests left out: no clock.",
        "",
      ].join("\n"),
    );
  });
});
