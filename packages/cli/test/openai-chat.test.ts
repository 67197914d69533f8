import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromOpenAi, toOpenAi } from "../src/formats/openai-chat.ts";

const conversation: ChatMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Which tram?", authorName: "ada" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "tool-call", toolCallId: "c1", toolName: "timetable", input: { to: "harbour" } },
      { type: "tool-call", toolCallId: "c2", toolName: "weather", input: {} },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "timetable",
        output: { type: "text", value: "line 4" },
      },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "c2", toolName: "weather", output: { type: "text", value: "rain" } },
    ],
  },
  { role: "assistant", content: "Line 4." },
  {
    role: "user",
    content: [
      { type: "text", text: "And this?" },
      { type: "file", data: "aGk=", mediaType: "image/png" },
      { type: "file", data: "aGk=", mediaType: "audio/wav" },
      { type: "file", data: "aGk=", mediaType: "application/pdf", filename: "map.pdf" },
    ],
  },
];

test("content that OpenAI's format supports is preserved", () => {
  const { messages, leftOut } = toOpenAi(conversation);
  expect(leftOut.size).toBe(0);
  expect(fromOpenAi(JSON.parse(JSON.stringify(messages)))).toEqual(conversation);
});

test("the format is OpenAI's", () => {
  const { messages } = toOpenAi(conversation);
  expect(messages[1]).toEqual({ role: "user", content: "Which tram?", name: "ada" });
  expect(messages[2]).toEqual({
    role: "assistant",
    content: "I look.",
    tool_calls: [
      { id: "c1", type: "function", function: { name: "timetable", arguments: `{"to":"harbour"}` } },
      { id: "c2", type: "function", function: { name: "weather", arguments: "{}" } },
    ],
  });
  expect(messages[3]).toEqual({ role: "tool", tool_call_id: "c1", content: "line 4" });
  expect(messages[6]?.content).toEqual([
    { type: "text", text: "And this?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
    { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } },
    { type: "file", file: { filename: "map.pdf", file_data: "data:application/pdf;base64,aGk=" } },
  ]);
});

test("a message with several results becomes several, and bytes become base64", () => {
  const output = { type: "json", value: { at: "10:00" } };
  const call = (toolCallId: string) => ({ type: "tool-call" as const, toolCallId, toolName: "t", input: {} });
  const { messages } = toOpenAi([
    { role: "assistant", content: [call("a"), call("b")] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "a", toolName: "t", output },
        { type: "tool-result", toolCallId: "b", toolName: "t", output: "plain" },
      ],
    },
    { role: "user", content: [{ type: "file", data: new Uint8Array([104, 105]), mediaType: "image/png" }] },
    { role: "user", content: [{ type: "file", data: new URL("https://a.b/c.png"), mediaType: "image/png" }] },
  ]);
  expect(messages.slice(1)).toEqual([
    { role: "tool", tool_call_id: "a", content: `{"at":"10:00"}` },
    { role: "tool", tool_call_id: "b", content: "plain" },
    { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }] },
    { role: "user", content: [{ type: "image_url", image_url: { url: "https://a.b/c.png" } }] },
  ]);
});

test("content that OpenAI's format does not support is counted", () => {
  const { messages, leftOut } = toOpenAi([
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "reasoning", text: "so" },
        { type: "text", text: "Yes." },
      ],
      metadata: { a: 1 },
    },
  ]);
  expect(messages).toEqual([{ role: "assistant", content: "Yes." }]);
  expect(Object.fromEntries(leftOut)).toEqual({ "part of type reasoning": 2, "metadata of a message": 1 });
});

test("tool messages that the import refuses are left out and counted", () => {
  const output = { type: "text", value: "x" };
  const { messages, leftOut } = toOpenAi([
    { role: "tool", content: "no call id" },
    { role: "tool", content: [{ type: "text", text: "no call id" }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "trimmed", toolName: "t", output }] },
    { role: "user", content: [{ type: "tool-call", toolCallId: "u", toolName: "t", input: {} }] },
  ]);
  expect(messages).toEqual([]);
  expect(Object.fromEntries(leftOut)).toEqual({
    "tool message without a call id": 1,
    "part of type text": 1,
    "tool result without its call": 1,
    "part of type tool-call": 1,
  });
});

const ids = { toolCallId: fc.constantFrom("", "a", "b"), toolName: fc.constantFrom("t", "") };
const value = fc.jsonValue({ maxDepth: 1 });
const part = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "reasoning"), text: fc.string() }),
  fc.record({ type: fc.constant("tool-call"), ...ids, input: value }),
  fc.record({ type: fc.constant("tool-result"), ...ids, output: value }),
  fc.record({
    type: fc.constant("file"),
    data: fc.constantFrom("aGk=", "https://a.b/c", new Uint8Array([1]), new URL("https://a.b/c")),
    mediaType: fc.constantFrom("image/png", "audio/wav", "application/pdf", ""),
  }),
  fc.record({ type: fc.constant("custom"), value }),
);
const message = fc.record(
  {
    role: fc.constantFrom("system", "user", "assistant", "tool"),
    content: fc.oneof(fc.string(), fc.array(part, { maxLength: 4 })),
    authorName: fc.oneof(fc.string(), fc.constant(5)),
  },
  { requiredKeys: ["role", "content"] },
);

test("what an export writes, an import reads", () => {
  const property = fc.property(fc.array(message, { maxLength: 5 }), (given) => {
    const { messages } = toOpenAi(given as ChatMessage[]);
    const read = fromOpenAi(JSON.parse(JSON.stringify(messages)));
    expect(read.length).toBe(messages.length);
    expect(read.filter((one) => chatMessageTraits.check(one) !== undefined)).toEqual([]);
  });
  fc.assert(property, { numRuns: 300 });
});

test.each([
  ["none", "messages must be a list"],
  [[{ role: "robot", content: "" }], "messages[0].role must be"],
  [[{ role: "user" }], "messages[0].content must be a string or a list of parts"],
  [[{ role: "user", content: [{ type: "video" }] }], "messages[0].content[0].type must be"],
  [[{ role: "user", content: "a", name: 1 }], "messages[0].name must be a string"],
  [[{ role: "assistant" }], "messages[0].content must be a string if there are no tool_calls"],
  [
    [
      {
        role: "assistant",
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{" } }],
      },
    ],
    "messages[0].tool_calls[0].function.arguments must be JSON in a string",
  ],
  [[{ role: "assistant", content: null, function_call: {} }], "messages[0].function_call is obsolete"],
  [
    [{ role: "tool", tool_call_id: "x", content: "" }],
    "messages[0].tool_call_id must be the id of a tool call that came before",
  ],
])("an invalid message is named: %#", (messages, problem) => {
  expect(() => fromOpenAi(messages)).toThrow(problem);
});
