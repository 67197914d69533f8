import { afterEach, expect, test, vi } from "vitest";
import { type ChatMessage, type Part, StoreError } from "../src/index.ts";
import { pairedHistory, reportUnpaired } from "../src/internal.ts";
import { chatHistoryTraits } from "../src/message/history.ts";

const call = (id: string): Part => ({ type: "tool-call", toolCallId: id, toolName: "t", input: {} });
const result = (id: string): Part => ({ type: "tool-result", toolCallId: id, toolName: "t", output: 1 });
const reasoning: Part = { type: "reasoning", text: "hm" };
const text = (words: string): Part => ({ type: "text", text: words });
const user = (content = "q"): ChatMessage => ({ role: "user", content });
const says = (...content: Part[]): ChatMessage => ({ role: "assistant", content });
const tool = (...content: Part[]): ChatMessage => ({ role: "tool", content });

/** By name: a history, the history for a model, and what was left out. */
const cases: Record<string, [given: ChatMessage[], kept: ChatMessage[], left: string[]]> = {
  "a result without its call": [[tool(result("a"), result("b")), user()], [user()], ["result a", "result b"]],
  "a result without its call beside one with it": [
    [says(call("a")), tool(result("a"), result("b")), says(text("ok"))],
    [says(call("a")), tool(result("a")), says(text("ok"))],
    ["result b"],
  ],
  "a call without its result before a user's message": [
    [user(), says(text("see"), call("a"), call("b")), tool(result("b")), user()],
    [user(), says(text("see"), call("b")), tool(result("b")), user()],
    ["call a"],
  ],
  "a call alone in its message, with its reasoning": [
    [user(), says(reasoning, call("a")), user()],
    [user(), user()],
    ["call a"],
  ],
  "a call whose reasoning is a message": [
    [user(), says(reasoning), says(call("a")), user(), says(text("x"))],
    [user(), user(), says(text("x"))],
    ["call a"],
  ],
  "reasoning that also belongs to another call stays": [
    [user(), says(reasoning), says(call("a")), says(call("b")), tool(result("b")), user()],
    [user(), says(reasoning), says(call("b")), tool(result("b")), user()],
    ["call a"],
  ],
  "reasoning between parts": [
    [user(), says(reasoning, call("a"), reasoning, call("b")), tool(result("b")), user()],
    [user(), says(reasoning, call("b")), tool(result("b")), user()],
    ["call a"],
  ],
  "an id that is used again: only the newest call has the result": [
    [user(), says(call("a")), user(), says(call("a")), tool(result("a"))],
    [user(), user(), says(call("a")), tool(result("a"))],
    ["call a"],
  ],
  "a result that comes after the next question": [
    [user(), says(call("a")), user(), tool(result("a"))],
    [user(), user()],
    ["result a", "call a"],
  ],
  "a second result of a call": [
    [user(), says(call("a")), tool(result("a")), user(), tool(result("a"))],
    [user(), says(call("a")), tool(result("a")), user()],
    ["result a"],
  ],
  "two calls of one id with one result": [
    [user(), says(call("a"), call("a")), tool(result("a")), user()],
    [user(), user()],
    ["call a"],
  ],
  "an approval goes with its call": [
    [
      user(),
      says(text("may I"), call("a"), { type: "tool-approval-request", approvalId: "x", toolCallId: "a" }),
      user(),
    ],
    [user(), says(text("may I")), user()],
    ["call a"],
  ],
};

test.each(Object.entries(cases))("left out: %s", (_, [given, kept, left]) => {
  const { messages, unpaired } = pairedHistory(given);
  expect(messages).toEqual(kept);
  expect(unpaired.map(({ kind, toolCallId }) => `${kind} ${toolCallId}`)).toEqual(left);
  expect(pairedHistory(messages).unpaired).toEqual([]);
});

test.each<[string, ChatMessage[]]>([
  [
    "parallel calls in messages of their own, with a text between the results",
    [...[user(), says(call("a")), says(call("b")), tool(result("a")), says(text("x")), tool(result("b"))]],
  ],
  ["a call that is open at the end", [user(), says(reasoning, call("a"))]],
  [
    "two calls of one id with two results",
    [says(call("a"), call("a")), tool(result("a"), result("a")), user()],
  ],
  ["a call that the provider ran", [user(), says(call("a"), result("a"), text("x")), user()]],
  ["reasoning alone, where nothing is left out", [user(), says(reasoning), user()]],
])("kept as it is: %s", (_, given) => {
  const { messages, unpaired } = pairedHistory(given);
  expect(unpaired).toEqual([]);
  expect(messages.every((message, index) => message === given[index])).toBe(true);
  expect(messages).toHaveLength(given.length);
});

test("late and second results are kept where a framework allows them", () => {
  const { hasResultAtOnce, ...traits } = chatHistoryTraits;
  const given = [user(), says(call("a")), user(), tool(result("a")), tool(result("a"))];
  expect(pairedHistory(given, traits)).toEqual({ messages: given, unpaired: [] });
});

afterEach(() => void vi.restoreAllMocks());

test("reportUnpaired: once a thread and scope, to onError or as a warning", () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const left = [{ kind: "call" as const, toolCallId: "a" }];
  const [one, other] = [{}, {}];
  reportUnpaired({ scope: one, threadId: "t", onError }, []);
  for (let round = 0; round < 2; round++) {
    reportUnpaired({ scope: one, threadId: "t", onError }, left);
    reportUnpaired({ scope: one, threadId: "u", onError }, left);
    reportUnpaired({ scope: other, threadId: "t" }, left);
  }
  expect(errors.map((error) => StoreError.is(error, "INVALID_STATE"))).toEqual([true, true]);
  expect(String(errors[0])).toContain("the call a (thread t)");
  expect(warn).toHaveBeenCalledTimes(1);
});
