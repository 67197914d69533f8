import { expect, test } from "vitest";
import type { ChatMessage, Part } from "../src/index.ts";
import { modelHistory } from "../src/internal.ts";

const call = (id: string, fields: object = {}): Part => ({
  ...{ type: "tool-call", toolCallId: id, toolName: "t", input: {}, ...fields },
});
const result = (id: string, output: unknown = 1, toolName = "t"): Part => ({
  ...{ type: "tool-result", toolCallId: id, toolName, output },
});
const text = (words: string, google?: Record<string, unknown>): Part => ({
  ...{ type: "text", text: words, ...(google && { providerOptions: { google } }) },
});
const user = (content: ChatMessage["content"] = "q"): ChatMessage => ({ role: "user", content });
const says = (...content: Part[]): ChatMessage => ({ role: "assistant", content });
const tool = (...content: Part[]): ChatMessage => ({ role: "tool", content });
const sent = (given: ChatMessage[], tools?: Record<string, unknown>) =>
  modelHistory(given, { scope: {}, threadId: "t" }, tools);
/** The ids of the calls and results of a history, in order. */
const idsOf = (messages: readonly ChatMessage[]) =>
  messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap((part) => ("toolCallId" in part ? part.toolCallId : [])),
  );

test("what every provider accepts is kept as the same objects", () => {
  const image: Part = { type: "file", data: new Uint8Array([1]), mediaType: "image/png" };
  const given = [
    { role: "system", content: "s" } as const,
    user([text("hi \u{1F600}"), image]),
    says(text("", { thoughtSignature: "s" }), call("a-1_B"), call("b", { input: "a custom tool's text" })),
    tool(result("a-1_B", { type: "json", value: { deep: [1, { x: "y" }] } }), result("b")),
    says(text("ok")),
  ];
  const made = sent(given);
  expect(made.every((message, index) => message === given[index])).toBe(true);
  expect(made).toHaveLength(given.length);
});

test("empty texts and messages without content are left out", () => {
  const image: Part = { type: "file", data: "AAAA", mediaType: "image/png" };
  const noText = user([text("(a message without text)")]);
  expect(
    sent([
      user(" \n"),
      user([]),
      user([text(" "), image]),
      says(),
      says(text("")),
      says(text(" ", { thoughtSignature: "s" })),
      says(text("", { itemId: "msg_1" }), text("words")),
      says(text(" "), call("a")),
      { role: "assistant", content: "" },
      { role: "system", content: "" },
    ]),
  ).toEqual([noText, noText, user([image]), says(text("words")), says(call("a"))]);
});

test("lone surrogates become U+FFFD, wherever they are", () => {
  const lone = "a\uD800";
  const made = sent([
    user(lone),
    says(text(lone), call("a", { input: { [lone]: [lone] } })),
    tool(result("a", { type: "json", value: { deep: [{ x: lone }] } })),
  ]);
  expect(JSON.stringify(made)).not.toContain("\\ud800");
  expect(made).toEqual([
    user("a\uFFFD"),
    says(text("a\uFFFD"), call("a", { input: { "a\uFFFD": ["a\uFFFD"] } })),
    tool(result("a", { type: "json", value: { deep: [{ x: "a\uFFFD" }] } })),
  ]);
});

test("an id of several calls is kept by the newest; each result has the id of its call", () => {
  const twice = [says(call("0")), tool(result("0", "first")), user()];
  const made = sent([...twice, ...twice, says(call("0")), tool(result("0", "third"))]);
  const ids = idsOf(made);
  expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 2, 2, 4, 4]);
  expect(ids.at(-1)).toBe("0");
  expect(ids.every((id) => /^[\w-]{1,64}$/.test(id))).toBe(true);
  // The next turn sends the same ids for earlier calls, so that a provider's cache of the history holds.
  expect(idsOf(sent([...twice, ...twice])).slice(0, 2)).toEqual(ids.slice(0, 2));
});

test("two calls of one message with one id keep their own results", () => {
  const made = sent([says(call("0"), call("0")), tool(result("0", "first"), result("0", "second"))]);
  const [first, second, ...results] = idsOf(made);
  expect(first).not.toBe(second);
  expect(results).toEqual([first, second]);
});

test.each(["functions.get:0", "", "ä", "x".repeat(65)])("the id and the name %j are replaced", (odd) => {
  const made = sent([says(call(odd, { toolName: odd })), tool(result(odd, 1, odd)), says(text("ok"))]);
  const [id = "", resultId] = idsOf(made);
  expect(id).toMatch(/^[\w-]{1,64}$/);
  expect(resultId).toBe(id);
  for (const { content } of made.slice(0, 2)) expect(Object(content)[0].toolName).toMatch(/^[\w-]{1,64}$/);
});

test("the names of current tools are kept, and the id of a call that runs now", () => {
  const odd = "functions.get:0";
  const approval: Part = { type: "tool-approval-request", approvalId: "1", toolCallId: odd };
  const given = [says(call(odd, { toolName: "a.b" }), approval)];
  expect(sent(given, { "a.b": {} })).toEqual(given);
});

test("the input of a call is an object, unless the call succeeded with another one", () => {
  const failed = { type: "error-text", value: "not JSON" };
  const given = (input: unknown, output: unknown) => [says(call("a", { input })), tool(result("a", output))];
  const inputOf = (messages: ChatMessage[]) => Object(messages[0]?.content)[0].input;
  expect(inputOf(sent(given("{bad", failed)))).toEqual({ input: "{bad" });
  expect(inputOf(sent(given(null, failed)))).toEqual({});
  expect(inputOf(sent(given(null, 1)))).toEqual({});
  expect(inputOf(sent(given([1], { type: "execution-denied" })))).toEqual({ input: [1] });
  expect(inputOf(sent(given("text", 1)))).toBe("text");
});

test("a call without a result is not changed, because it runs with what was approved", () => {
  const odd = { input: null, toolName: "t" };
  const given = [says(call("a", odd), call("b", { input: { x: "lone \uD800" } }))];
  expect(sent(given)).toEqual(given);
});

test("a renamed call has no item id, and what a provider ran keeps its ids", () => {
  const item = { providerOptions: { openai: { itemId: "fc_1", phase: "x" } } };
  const [first] = sent([
    says(call("0", item)),
    tool(result("0")),
    says(call("0", { providerOptions: { openai: { itemId: "fc_2" } } })),
    tool(result("0")),
  ]);
  expect(Object(first?.content)[0].providerOptions).toEqual({ openai: { phase: "x" } });
  const run = says(call("srv.1", { providerExecuted: true }), result("srv.1"));
  expect(sent([run, user(), run])).toEqual([run, user(), run]);
});

test("item ids of an earlier message, and ids and signatures that are no texts, are left out", () => {
  const part = (openai: object): Part => ({ ...text("words"), providerOptions: { openai } }) as Part;
  const [one, two, three] = sent([
    says(part({ itemId: "msg_1" }), part({ itemId: "msg_1" })),
    says(part({ itemId: "msg_1", phase: "x" }), part({ itemId: "msg_2" })),
    says(part({ itemId: 5 }), part({ signature: null, kept: 1 })),
  ]);
  const optionsOf = (message?: ChatMessage) =>
    Array.from(
      Object(message?.content) as { providerOptions: object }[],
      ({ providerOptions }) => providerOptions,
    );
  expect(optionsOf(one)).toEqual([{ openai: { itemId: "msg_1" } }, { openai: { itemId: "msg_1" } }]);
  expect(optionsOf(two)).toEqual([{ openai: { phase: "x" } }, { openai: { itemId: "msg_2" } }]);
  expect(optionsOf(three)).toEqual([{ openai: {} }, { openai: { kept: 1 } }]);
});
