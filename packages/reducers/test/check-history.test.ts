import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { openaiTraits } from "@scrollback/store-core/openai";
import { describe, expect, test } from "vitest";
import { checkHistory } from "../src/index.ts";
import { history } from "./messages.ts";
import { refusal } from "./rejection.ts";

const found = (letters: string, options?: { forRequest?: boolean }) =>
  checkHistory(history(letters), options).map(({ index, code }) => `${index} ${code}`);

test.each([
  "",
  "s",
  "u",
  "s u",
  "u a u a",
  "s u a u",
  "u u a a u",
  "u c:x r:x a",
  "u c:x",
  "u c:x,y r:y r:x a",
  "u c:x,y r:x,y a u",
  "u c:x R:x a",
  "u c:x r:x c:x r:x a",
  "u p:x a",
  "u q:x y:x r:x a",
  "u q:x Y:x r:x a",
  "u q:x r:x Y:x a",
  "u c:x Q:x y:x r:x a",
  "u q:x,z y:x r:x y:z r:z a",
])("a valid history has no problem: %j", (letters) => {
  expect(found(letters)).toEqual([]);
});

test.each([
  ["a u", ["0 starts-with"]],
  ["s a u", ["1 starts-with"]],
  ["R:x u", ["0 starts-with", "0 orphan-tool-result"]],
  ["Y:x u", ["0 starts-with"]],
  ["u s a", ["1 late-system"]],
  ["s s u", ["1 late-system"]],
  ["a s u", ["0 starts-with", "1 late-system"]],
  ["u r:x a", ["1 orphan-tool-result"]],
  ["u a r:x", ["2 orphan-tool-result"]],
  ["u c:x r:y", ["2 orphan-tool-result"]],
  ["u c:x u r:x", ["1 unanswered-tool-call", "3 orphan-tool-result"]],
  ["u c:x a r:x", ["1 unanswered-tool-call", "3 orphan-tool-result"]],
  ["u c:x r:x a r:x", ["4 orphan-tool-result"]],
  ["u t a", ["1 orphan-tool-result"]],
  ["u a y:x", ["2 orphan-tool-result"]],
  ["u c:x,y r:x a", ["1 unanswered-tool-call"]],
  ["u c:x,y a", ["1 unanswered-tool-call", "1 unanswered-tool-call"]],
  ["u c:x c:y r:y", ["1 unanswered-tool-call"]],
  ["u c:x r:x r:x", ["3 duplicate-tool-result"]],
  ["u c:x r:x,x a", ["2 duplicate-tool-result"]],
  ["u c:x s r:x a", ["2 late-system"]],
])("every problem of %j, with its index and code", (letters, problems) => {
  expect(found(letters)).toEqual(problems);
});

describe("forRequest", () => {
  test.each(["", "s", "u", "s u", "u c:x r:x", "u c:x R:x", "u q:x y:x r:x"])(
    "%j can be sent to a model",
    (letters) => {
      expect(found(letters, { forRequest: true })).toEqual([]);
    },
  );

  test.each([
    ["u a", ["1 ends-with"]],
    ["u a s", ["2 late-system", "2 ends-with"]],
    ["u c:x", ["1 unanswered-tool-call", "1 ends-with"]],
    ["u c:x,y r:x", ["1 unanswered-tool-call"]],
    ["u q:x y:x", ["1 unanswered-tool-call"]],
  ])("%j cannot be sent to a model, even if it is a valid history", (letters, problems) => {
    expect(found(letters, { forRequest: true })).toEqual(problems);
  });

  test("is false by default", () => {
    expect(found("u c:x")).toEqual([]);
    expect(found("u c:x", { forRequest: false })).toEqual([]);
  });
});

test("a problem is described in one sentence, without the text of messages", () => {
  const secret = { role: "assistant", content: "hunter2" } as const;
  const all = [
    ...checkHistory([secret, { role: "system", content: "hunter2" }, ...history("c:hunter2 a r:hunter2")]),
    ...checkHistory([secret], { forRequest: true }),
    ...checkHistory(history("u c:hunter2 r:hunter2 r:hunter2")),
  ];
  expect(new Set(all.map(({ code }) => code)).size).toBe(6);
  for (const { message } of all) {
    expect(message).toMatch(/^[a-z].{20,}/);
    expect(message).not.toContain("hunter2");
  }
});

test.each([
  [undefined, undefined, "messages must be an array"],
  ["u a", undefined, "messages must be an array"],
  [[{ role: "user", content: "" }, { role: "bot" }], undefined, "messages[1]: role"],
  [[undefined], undefined, "messages[0]: must be an object"],
  [[], { forRequest: 1 }, "forRequest must be true or false"],
  [[], { forModel: true }, `unknown option "forModel"`],
])("invalid input is refused by name: %j %j", async (messages, options, problem) => {
  const call = () => checkHistory(messages as ChatMessage[], options as { forRequest?: boolean });
  expect(call).toThrow(StoreError);
  expect((await refusal(call)).message).toContain(problem);
});

test("the calls of code, and parallel calls in messages of their own, are no problem with their traits", () => {
  const call = (id: string, fields: object = {}) => ({
    type: "function_call" as const,
    call_id: id,
    name: "t",
    arguments: "{}",
    ...fields,
  });
  const output = (id: string) => ({ type: "function_call_output" as const, call_id: id, output: "4" });
  const caller = { type: "program", caller_id: "p" };
  const problems = checkHistory<object>(
    [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Which tram?" },
      { type: "reasoning", id: "rs_1", summary: [] },
      call("1"),
      { role: "assistant", content: "I look.", phase: "commentary" },
      call("2"),
      output("2"),
      output("1"),
      { type: "program", call_id: "p", code: "" },
      call("3", { caller }),
      output("3"),
      call("4", { caller }),
      output("4"),
      { type: "program_output", call_id: "p" },
    ],
    { traits: openaiTraits, forRequest: true },
  );
  expect(problems).toEqual([]);
});

test("messages of another SDK need its traits, and traits need their methods", () => {
  const messages = [{ role: "tool" as const, tool_call_id: "1", content: "4" }];
  expect(() => checkHistory(messages)).toThrow("messages[0]: tool_call_id");
  expect(checkHistory(messages, { traits: openaiTraits }).map(({ code }) => code)).toEqual([
    "starts-with",
    "orphan-tool-result",
  ]);
  const wrong = { role: () => "user" } as unknown as typeof openaiTraits;
  expect(() => checkHistory(messages, { traits: wrong })).toThrow(
    "checkHistory: traits must have the methods",
  );
});
