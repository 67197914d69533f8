import { type AgentInputItem, protocol } from "@openai/agents-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chats, everyday, optional } from "../../../conformance-tests/test/fixtures/chat-messages.ts";
import { expectChecked, expectKept, linesOf } from "../../../conformance-tests/test/fixtures/conversions.ts";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { fromAgentItems, toAgentItems } from "../src/messages.ts";

test("converting to items and back preserves messages, except the reported losses", () => {
  fc.assert(
    fc.property(chats, (given) => {
      const { messages, lost } = toAgentItems(given);
      for (const item of messages) expect(protocol.ModelItem.safeParse(item).error).toBe(undefined);
      const back = fromAgentItems(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages);
    }),
    { numRuns: rounds(250, 1_000) },
  );
});

const text = fc.string({ unit: "binary", maxLength: 6 });
const id = fc.stringMatching(/^[a-z]{1,6}$/);
const status = fc.constantFrom("completed", "completed", "incomplete");
const providerData = fc.constant({ k: 1 });
const inputText = optional({ type: fc.constant("input_text"), text, providerData }, "type", "text");
const inputContent = fc.oneof(
  inputText,
  fc.constantFrom<object>(
    { type: "input_image", image: "https://a.test/b.png", detail: "low" },
    { type: "input_image", image: "data:image/png;base64,AAAA" },
    { type: "input_image", image: { id: "file-1" } },
    { type: "input_image" },
    { type: "input_file", file: { url: "https://a.test/b.pdf" }, filename: "b.pdf" },
    { type: "input_file", file: "data:application/pdf;base64,AAAA", filename: "b.pdf" },
    { type: "input_file", file: { id: "file-2" } },
  ),
);
const userContent = fc.oneof(
  inputContent,
  fc.constantFrom<object>(
    { type: "audio", audio: "AAAA", format: "wav" },
    { type: "audio", audio: "AAAA", transcript: "hi" },
  ),
);
const outputContent = fc.oneof(
  optional({ type: fc.constant("output_text"), text, providerData }, "type", "text"),
  fc.constantFrom<object>({ type: "refusal", refusal: "no" }, { type: "image", image: "AAAA" }),
);
const messageId = fc.option(
  fc.uuid().map((one) => `msg_${one}`),
  { nil: undefined },
);
const item = fc.oneof(
  fc
    .tuple(messageId, fc.oneof(text, fc.array(userContent, { minLength: 1, maxLength: 3 })))
    .map(([own, content]) => ({
      ...{ type: "message", role: "user", content, ...(own && { id: own }) },
    })),
  fc.tuple(messageId, text).map(([own, content]) => ({ role: "system", content, ...(own && { id: own }) })),
  fc
    .tuple(messageId, status, fc.array(outputContent, { minLength: 1, maxLength: 3 }))
    .map(([own, ended, content]) => ({
      type: "message",
      role: "assistant",
      status: ended,
      content,
      ...(own && { id: own }),
    })),
  optional(
    {
      type: fc.constant("reasoning"),
      id,
      content: fc.array(inputText, { minLength: 1, maxLength: 2 }),
      providerData,
    },
    "type",
    "content",
  ),
  fc.constant({ type: "reasoning", content: [], rawContent: [{ type: "reasoning_text", text: "raw" }] }),
  optional(
    {
      ...{ type: fc.constant("function_call"), callId: id, name: id, status, id, namespace: id },
      arguments: fc.constantFrom('{"a":1}', "[1]", '"x"', "not json", "", "12345678901234567890"),
    },
    "type",
    "callId",
    "name",
    "arguments",
  ),
  optional(
    {
      ...{ type: fc.constant("function_call_result"), callId: id, name: id, status, id },
      output: fc.oneof(
        text,
        fc.record({ type: fc.constant("text"), text }),
        fc.array(inputContent, { maxLength: 2 }),
        fc.constantFrom<object>(
          { type: "image", image: { data: "AAAA", mediaType: "image/png" } },
          { type: "image" },
        ),
      ),
    },
    "type",
    "callId",
    "name",
    "status",
    "output",
  ),
  fc.constantFrom(
    { type: "hosted_tool_call", name: "web_search_call", id: "ws_1" },
    { type: "compaction", encrypted_content: "x" },
    { type: "computer_call_result", callId: "c", output: { type: "computer_screenshot", data: "AAAA" } },
    { type: "unknown" },
    { type: "later_than_this_version" },
  ),
) as fc.Arbitrary<unknown> as fc.Arbitrary<AgentInputItem>;

test("converting from items and back preserves them, except the reported losses", () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 5 }), (given) => {
      const { messages, lost } = fromAgentItems(given);
      const back = toAgentItems(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages, canonicalItems);
    }),
    { numRuns: rounds(250, 1_000) },
  );
});

/** Makes equal: the forms of one content; reasoning in one item or several; a call without a status and a completed call. */
function canonicalItems(items: readonly Record<string, unknown>[]): unknown {
  const made: Record<string, unknown>[] = [];
  for (const given of items) {
    const one: Record<string, unknown> = { ...given, type: given.type ?? "message" };
    if (typeof one.content === "string" && one.role === "user")
      one.content = [{ type: "input_text", text: one.content }];
    if (typeof one.output === "string") one.output = { type: "text", text: one.output };
    if (typeof one.arguments === "string") one.arguments = JSON.parse(one.arguments);
    if (one.type === "function_call") one.status ??= "completed";
    // Raw values are read back as content.
    if (one.type === "reasoning" && one.rawContent) {
      one.content = one.rawContent;
      delete one.rawContent;
    }
    const last = made.at(-1);
    const { type, content, ...own } = Object.fromEntries(
      Object.entries(one).filter(([, value]) => value !== undefined),
    );
    if (type === "reasoning" && last?.type === "reasoning" && Object.keys(own).length === 0) {
      if (!Array.isArray(content)) last.content = content;
      else if (Array.isArray(last.content))
        last.content = [...(last.content as unknown[]), ...(content as unknown[])];
    } else made.push(one);
  }
  return made;
}

test("a typical conversation loses only what is documented", () => {
  expect(linesOf(toAgentItems(everyday).lost)).toEqual([
    ...["1 authorName dropped", "1 createdAt dropped", "1 metadata dropped"],
    ...["1 content[0].providerOptions dropped", "1 content[2].mediaType changed", "1 id dropped"],
    ...["3 content[0].output changed", "3 content[1].output changed", "3 id dropped"],
  ]);
});

test("values that are not items fail with INVALID_ARGUMENT, and unknown content is reported", () => {
  for (const convert of [toAgentItems, fromAgentItems]) expectChecked(convert);
});
