import type { ChatMessage } from "@scrollback/store-core";
import { convertToModelMessages, type ModelMessage, safeValidateUIMessages } from "ai";
import { expect, test } from "vitest";
import { toUIMessages } from "../src/index.ts";

const meta = { p: { k: "v" } };
const conversation: ModelMessage[] = [
  { role: "system", content: "Be short." },
  { role: "user", content: [{ type: "text", text: "Which tram?", providerOptions: meta }] },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", providerOptions: meta },
      { type: "text", text: "Let me see." },
      {
        type: "tool-call",
        toolCallId: "1",
        toolName: "find",
        input: { to: "harbour" },
        providerOptions: meta,
      },
      { type: "tool-call", toolCallId: "2", toolName: "find", input: { to: "zoo" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "1",
        toolName: "find",
        output: { type: "json", value: { line: 8 } },
      },
      {
        type: "tool-result",
        toolCallId: "2",
        toolName: "find",
        output: { type: "error-text", value: "closed" },
      },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "Line 8." }] },
  { role: "user", content: [{ type: "text", text: "Thanks" }] },
];

test("model messages and back: an answer with its tools is one message", async () => {
  const { messages, lost } = toUIMessages(conversation);
  expect(messages.map(({ role, parts }) => [role, parts.length])).toEqual([
    ["system", 1],
    ["user", 1],
    ["assistant", 7],
    ["user", 1],
  ]);
  expect(lost).toEqual([]);
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
  const back = await convertToModelMessages(messages);
  // The SDK copies the options of a call to its result.
  const expected = structuredClone(conversation);
  Object.assign((expected[3] as { content: object[] }).content[0] ?? {}, { providerOptions: meta });
  expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(expected)));
});

test("approvals: waiting, answered, denied", async () => {
  const request = (id: string): ModelMessage => ({
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: id, toolName: "rm", input: {} },
      { type: "tool-approval-request", approvalId: `approval-${id}`, toolCallId: id },
    ],
  });
  const response = (id: string, approved: boolean, ...results: unknown[]) =>
    ({
      role: "tool",
      content: [
        { type: "tool-approval-response", approvalId: `approval-${id}`, approved, reason: "so" },
        ...results,
      ],
    }) as ModelMessage;
  const denied = {
    type: "tool-result",
    toolCallId: "c",
    toolName: "rm",
    output: { type: "execution-denied", reason: "so" },
  };
  const user: ModelMessage = { role: "user", content: "next" };
  const { messages, lost } = toUIMessages([
    ...[
      request("a"),
      user,
      request("b"),
      response("b", true),
      user,
      request("c"),
      response("c", false, denied),
    ],
  ]);
  expect(lost).toEqual([]);
  expect(messages.filter(({ role }) => role === "assistant").map(({ parts }) => parts[1])).toMatchObject([
    { state: "approval-requested", approval: { id: "approval-a" } },
    { state: "approval-responded", approval: { id: "approval-b", approved: true, reason: "so" } },
    { state: "output-denied", approval: { id: "approval-c", approved: false, reason: "so" } },
  ]);
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
});

test("Scrollback's messages: their ids and metadata, errors, files as URLs", () => {
  const messages: ChatMessage[] = [
    {
      id: "own",
      role: "user",
      metadata: { at: 1 },
      content: [
        { type: "file", mediaType: "text/plain", data: new Uint8Array([104, 105]), filename: "a.txt" },
        { type: "file", mediaType: "image/png", data: "https://a/b.png" },
        { type: "file", mediaType: "image/png", data: "AAAA" },
        { type: "file", mediaType: "text/plain", data: { type: "text", text: "hi" } },
        { type: "file", mediaType: "text/plain", data: { type: "reference", reference: { openai: "f1" } } },
        { type: "image", image: new URL("https://a/c.png") },
      ],
    },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "1", toolName: "find", input: 1 }],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "1", toolName: "find", output: "no", isError: true }],
    },
  ];
  const { messages: made, lost } = toUIMessages(messages, { idOf: (index) => `m${index}` });
  expect(lost).toEqual([]);
  expect(made.map(({ id }) => id)).toEqual(["own", "m1"]);
  expect(made[0]?.metadata).toEqual({ at: 1 });
  expect(made[0]?.parts).toEqual([
    { type: "file", mediaType: "text/plain", filename: "a.txt", url: "data:text/plain;base64,aGk=" },
    { type: "file", mediaType: "image/png", url: "https://a/b.png" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
    { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,aGk=" },
    { type: "file", mediaType: "text/plain", url: "", providerReference: { openai: "f1" } },
    { type: "file", mediaType: "image", url: "https://a/c.png" },
  ]);
  expect(made[1]?.parts[1]).toMatchObject({ state: "output-error", errorText: "no" });
});

test("parts without a counterpart are reported", () => {
  const { lost } = toUIMessages([
    { role: "user", content: "q", providerOptions: meta },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "none", toolName: "x", output: { type: "text", value: "" } },
      ],
    },
    { role: "assistant", content: [{ type: "chart", points: [1] } as never] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "x", input: {} }] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "1", toolName: "x", output: { type: "content", value: [] } },
      ],
    },
  ]);
  expect(lost).toEqual([
    { index: 0, path: "providerOptions", effect: "dropped" },
    { index: 1, path: "", effect: "dropped" },
    { index: 2, path: "", effect: "dropped" },
    { index: 4, path: "content[0].output", effect: "changed" },
  ]);
});

test("a result after another message is shown at its call, and reported; a second one is not shown", () => {
  const call = (id: string): ChatMessage => ({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: id, toolName: "find", input: {} }],
  });
  const result = (value: string): ChatMessage => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "1", toolName: "find", output: { type: "text", value } }],
  });
  const { messages, lost } = toUIMessages([
    ...[
      call("1"),
      { role: "user", content: "Well?" } as const,
      result("8"),
      result("9"),
      call("1"),
      call("2"),
    ],
    result("10"),
  ]);
  expect(lost).toEqual([
    { index: 2, path: "content[0]", effect: "changed" },
    { index: 3, path: "", effect: "dropped" },
    { index: 6, path: "content[0]", effect: "changed" },
  ]);
  expect(messages[0]?.parts[1]).toMatchObject({ state: "output-available", output: "8" });
  expect(messages[2]?.parts[1]).toMatchObject({ state: "output-available", output: "10" });
});

test("a result of a call that waits for an approval, or was denied, is not shown as given", async () => {
  const approvals: ChatMessage[] = [
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "1", toolName: "rm", input: {} },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "1" },
      ],
    },
  ];
  const response: ChatMessage = {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "a", approved: false, reason: "no" }],
  };
  const result = (output: object): ChatMessage => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "1", toolName: "rm", output }],
  });
  for (const [chat, lost, state] of [
    [
      [result({ type: "text", value: "gone" })],
      [{ index: 1, path: "", effect: "dropped" }],
      "approval-requested",
    ],
    [
      [response, result({ type: "text", value: "gone" })],
      [{ index: 2, path: "", effect: "dropped" }],
      "approval-responded",
    ],
    [
      [response, result({ type: "error-text", value: "denied" })],
      [{ index: 2, path: "content[0].output", effect: "changed" }],
      "output-denied",
    ],
    [[response, result({ type: "execution-denied", reason: "no" })], [], "output-denied"],
  ] as const) {
    const made = toUIMessages([...approvals, ...chat]);
    expect(made.lost).toEqual(lost);
    expect(made.messages[0]?.parts[1]).toMatchObject({ state });
    expect(await safeValidateUIMessages({ messages: made.messages })).toMatchObject({ success: true });
  }
});
