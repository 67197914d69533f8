import { describe, expect, test } from "vitest";
import { history, trimmingExamples } from "../src/trimming-examples.ts";
import { trimmed } from "../src/trimming-oracle.ts";

describe("the oracle agrees with the hand-worked examples", () => {
  test.each(trimmingExamples.map((example) => [example.what, example] as const))("%s", (_, example) => {
    const messages = [
      ...history(example.before),
      ...history(example.added, history(example.before).length + 1),
    ];
    for (const trimming of ["turns", "exact"] as const) {
      const kept = trimmed(messages, example.maxMessages, trimming);
      expect(kept.map((message) => messages.indexOf(message) + 1)).toEqual(example[trimming]);
    }
  });
});
