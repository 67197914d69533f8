import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { TokenBudgetReducer } from "../src/index.ts";
import { history, idsOf } from "./messages.ts";
import { refusal, rejection } from "./rejection.ts";

/** Each message counts as one token. */
const countTokens = (messages: readonly ChatMessage[]) => messages.length;
const fitted = async (letters: string, maxTokens: number) =>
  idsOf(await new TokenBudgetReducer({ maxTokens, countTokens }).reduce(history(letters)));

test.each([
  ["u a u a u a", 4, "u2 a3 u4 a5", "the newest that fit"],
  ["u a u a u a", 5, "u2 a3 u4 a5", "begin at a user's message"],
  ["u a u a u a", 99, "u0 a1 u2 a3 u4 a5", "all, where all fit"],
  ["", 1, "", "none of none"],
  ["s u a u a", 3, "s0 u3 a4", "a leading system message is kept, within the budget"],
  ["s u a u a", 5, "s0 u1 a2 u3 a4", "and not doubled"],
  ["s", 1, "s0", "also where it is alone"],
  ["a u a", 9, "u1 a2", "begin at a user's message, also where all fit"],
  ["u s u a", 3, "u2 a3", "a later system message is one like others"],
  ["u c:x r:x a u", 4, "u4", "no exchange is cut in two"],
  ["u c:x R:x a", 4, "u0 c1 R2 a3", "a user's message with a result is no start"],
  ["u q:x Y:x r:x a u", 5, "u5", "nor one with an approval"],
  ["u c:x u r:x a u", 5, "u5", "nor one inside an exchange"],
])("%s, %i tokens: %s (%s)", async (letters, maxTokens, expected) => {
  expect(await fitted(letters, maxTokens)).toBe(expected);
});

describe("without any user message", () => {
  test.each([
    ["a a a", 2, "a1 a2", "the newest that fit"],
    ["s a a a", 2, "s0 a3", "with the system message"],
    ["c:x r:x a a", 3, "a2 a3", "no exchange is cut in two"],
    ["r:x a", 2, "a1", "not beginning at a tool result"],
    ["r:x p:y a", 3, "p1 a2", "but at one whose call stands in the same message"],
    ["c:x r:x", 2, "c0 r1", "an exchange is kept whole"],
    ["s r:x", 9, "s0", "nothing, where there are only results"],
  ])("%s, %i tokens: %s (%s)", async (letters, maxTokens, expected) => {
    expect(await fitted(letters, maxTokens)).toBe(expected);
  });
});

test.each([
  ["u a u a a", 2, "the newest turn"],
  ["s u", 1, "the newest turn with the system message"],
  ["c:x r:x", 1, "the newest exchange"],
])("fails with TOO_LARGE over the budget: %s, %i tokens (%s)", async (letters, maxTokens) => {
  const { message } = await refusal(() => fitted(letters, maxTokens), "TOO_LARGE");
  expect(message).toContain("maxTokens");
});

test("fails with TOO_LARGE if the system message alone is over the budget", async () => {
  const reducer = new TokenBudgetReducer({ maxTokens: 5, countTokens: () => 6 });
  expect((await refusal(() => reducer.reduce(history("s")), "TOO_LARGE")).message).toContain("maxTokens");
});

test("countTokens can be async, and receives the messages that would be kept", async () => {
  const asked: string[] = [];
  const reducer = new TokenBudgetReducer({
    maxTokens: 10,
    countTokens: async (messages) => {
      asked.push(idsOf(messages));
      return messages.length * 4;
    },
  });
  expect(idsOf(await reducer.reduce(history("s u u u")))).toBe("s0 u3");
  expect(asked).toEqual(["s0 u3", "s0 u2 u3"]);
});

test("countTokens is called O(log n) times", async () => {
  for (const turns of [1, 10, 1_000, 10_000]) {
    const letters = Array.from({ length: turns }, () => "u a").join(" ");
    for (const maxTokens of [2, turns, 2 * turns, 3 * turns].filter((tokens) => tokens >= 2)) {
      let calls = 0;
      const reducer = new TokenBudgetReducer({
        maxTokens,
        countTokens: (messages) => {
          calls++;
          return messages.length;
        },
      });
      const kept = await reducer.reduce(history(letters));
      expect(kept).toHaveLength(Math.min(2 * turns, maxTokens - (maxTokens % 2)));
      expect(calls).toBeLessThanOrEqual(Math.ceil(Math.log2(turns)) + 1);
    }
  }
});

test("countTokens is not called for an empty list", async () => {
  const countTokens = vi.fn(() => 1);
  const reducer = new TokenBudgetReducer({ maxTokens: 5, countTokens });
  expect(await reducer.reduce([])).toEqual([]);
  expect(await reducer.reduce(history("r:x"))).toEqual([]);
  expect(countTokens).not.toHaveBeenCalled();
});

test.each([undefined, null, Number.NaN, -1, "12", {}])("a count of %j is rejected", async (count) => {
  const reducer = new TokenBudgetReducer({ maxTokens: 5, countTokens: () => count as number });
  expect((await refusal(() => reducer.reduce(history("u")))).message).toContain(
    "result of countTokens() must be a non-negative number",
  );
});

test("an error of countTokens rejects the reduction", async () => {
  const failure = new Error("no tokenizer");
  const reducer = new TokenBudgetReducer({ maxTokens: 5, countTokens: () => Promise.reject(failure) });
  expect(await rejection(reducer.reduce(history("u")))).toBe(failure);
});
