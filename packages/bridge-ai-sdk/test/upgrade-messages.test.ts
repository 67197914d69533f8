import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import type { UIMessage } from "ai";
import { convertToModelMessages } from "ai";
import { expect, test } from "vitest";
import { uiMessages, uiMessageTraits, upgradeUIMessages } from "../src/index.ts";

const call = { state: "call", step: 0, toolCallId: "c1", toolName: "weather", args: { city: "Rome" } };
const result = { ...call, state: "result", result: { sun: true } };
const tool = { type: "tool-weather", toolCallId: "c1", input: { city: "Rome" } };
const attachment = { name: "map.png", contentType: "image/png", url: "data:image/png;base64,aGk=" };

test.each([
  [{ role: "user", content: "Hello" }, { parts: [{ type: "text", text: "Hello" }] }],
  [{ role: "user", content: "" }, { parts: [] }],
  [
    { role: "user", content: "Look", experimental_attachments: [attachment] },
    {
      parts: [
        { type: "text", text: "Look" },
        { type: "file", mediaType: "image/png", filename: "map.png", url: attachment.url },
      ],
    },
  ],
  [
    {
      role: "user",
      content: "Look",
      parts: [{ type: "text", text: "Look" }],
      experimental_attachments: [{ url: "data:text/plain,hi" }, { url: "https://example.com/a" }],
    },
    {
      parts: [
        { type: "text", text: "Look" },
        { type: "file", mediaType: "text/plain", url: "data:text/plain,hi" },
        { type: "file", mediaType: "application/octet-stream", url: "https://example.com/a" },
      ],
    },
  ],
  [
    { role: "assistant", content: "Sunny", reasoning: "I ask", toolInvocations: [result] },
    {
      parts: [
        { type: "reasoning", text: "I ask" },
        { ...tool, state: "output-available", output: { sun: true } },
        { type: "text", text: "Sunny" },
      ],
    },
  ],
  [
    { role: "assistant", content: "", toolInvocations: [call] },
    { parts: [{ ...tool, state: "input-available" }] },
  ],
  [
    { role: "assistant", content: "", toolInvocations: [{ ...call, state: "partial-call" }] },
    { parts: [{ ...tool, state: "input-streaming" }] },
  ],
  [
    {
      role: "assistant",
      content: "Sunny",
      createdAt: "2025-01-01T00:00:00.000Z",
      annotations: [{ cost: 1 }],
      toolInvocations: [result],
      parts: [
        { type: "step-start" },
        { type: "reasoning", reasoning: "I ask", details: [{ type: "text", text: "I ask" }] },
        { type: "tool-invocation", toolInvocation: result },
        { type: "source", source: { sourceType: "url", id: "s", url: "https://example.com", title: "T" } },
        { type: "file", mimeType: "image/png", data: "aGk=" },
        { type: "text", text: "Sunny" },
      ],
    },
    {
      metadata: { createdAt: "2025-01-01T00:00:00.000Z", annotations: [{ cost: 1 }] },
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "I ask" },
        { ...tool, state: "output-available", output: { sun: true } },
        { type: "source-url", sourceId: "s", url: "https://example.com", title: "T" },
        { type: "file", mediaType: "image/png", url: "data:image/png;base64,aGk=" },
        { type: "text", text: "Sunny" },
      ],
    },
  ],
])("a message of AI SDK 4 is converted, and refused where it is not: %#", async (older, made) => {
  const message = { id: "m", ...older };
  const upgraded = upgradeUIMessages([message]);
  expect(upgraded).toEqual([{ id: "m", role: older.role, ...made }]);
  expect(upgradeUIMessages(upgraded)).toEqual(upgraded);
  await convertToModelMessages(upgraded);
  const refused = {
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("it is a message of AI SDK 4; convert it with upgradeUIMessages"),
  };
  const stores = createMemoryStores();
  const write = stores
    .withTraits(uiMessageTraits)
    .open("t")
    .addMessages([message as unknown as UIMessage]);
  await expect(write).rejects.toMatchObject(refused);
  const mine = new ChatStore<UIMessage>({ stores, ...uiMessages() }).of("ada");
  await mine.create({ id: "c" });
  await expect(mine.append("c", [message as unknown as UIMessage])).rejects.toMatchObject(refused);
});

const partOf = (toolInvocation: object) => ({ type: "tool-invocation", toolInvocation });
const text = (value: string) => ({ type: "text", text: value });
const called = { ...tool, state: "input-available" };
const finished = { ...tool, state: "output-available", output: { sun: true } };

test.each([
  ["content beside no parts", { content: "Sunny", parts: [] }, [text("Sunny")]],
  ["content that the parts have", { content: "Sunny", parts: [text("Sunny")] }, [text("Sunny")]],
  ["content of the last step", { content: "b", parts: [text("a"), text("b")] }, [text("a"), text("b")]],
  ["content of all steps", { content: "ab", parts: [text("a"), text("b")] }, [text("a"), text("b")]],
  ["content that the parts lack", { content: "b", parts: [text("a")] }, [text("a"), text("b")]],
  ["content beside a call", { content: "Sunny", parts: [partOf(call)] }, [called, text("Sunny")]],
  ["content beside a part of today", { content: "Sunny", parts: [called] }, [called, text("Sunny")]],
  [
    "a call that the parts lack",
    { content: "a", parts: [text("a")], toolInvocations: [result] },
    [text("a"), finished],
  ],
  ["a result that the parts lack", { parts: [partOf(call)], toolInvocations: [result] }, [finished]],
  ["a call that the parts have", { parts: [partOf(result)], toolInvocations: [call] }, [finished]],
  [
    "reasoning that the parts lack",
    { content: "a", reasoning: "hm", parts: [text("a")] },
    [{ type: "reasoning", text: "hm" }, text("a")],
  ],
])("nothing that stands beside parts is lost: %s", (_, older, parts) => {
  const message = { id: "m", role: "assistant", createdAt: "2025-01-01", other: 1, ...older };
  const made = { id: "m", role: "assistant", other: 1, metadata: { createdAt: "2025-01-01" }, parts };
  expect(upgradeUIMessages([message])).toEqual([made]);
  expect(upgradeUIMessages([made])).toEqual([made]);
});

test("messages of AI SDK 5 and later stay as they are", () => {
  const messages = [
    { id: "u", role: "user", parts: [{ type: "file", mediaType: "image/png", url: attachment.url }] },
    {
      id: "a",
      role: "assistant",
      metadata: { model: "m" },
      parts: [
        { type: "reasoning", text: "hm", state: "done" },
        { ...tool, state: "output-available", output: 1 },
        {
          type: "dynamic-tool",
          toolName: "x",
          toolCallId: "c2",
          state: "output-error",
          input: 1,
          errorText: "no",
        },
        { type: "data-chart", data: { points: [] } },
        { type: "source-url", sourceId: "s", url: "https://example.com" },
        { type: "text", text: "Sunny", state: "done" },
      ],
    },
  ];
  expect(upgradeUIMessages(messages)).toEqual(messages);
});

test.each([
  [{}, "messages must be an array"],
  [
    [{ id: "d", role: "data", content: "", data: 1 }],
    `messages[0]: the role "data" of AI SDK 4 has no counterpart`,
  ],
  [
    [{ id: "f", role: "assistant", content: "", function_call: {} }],
    "messages[0].function_call is of AI SDK 3",
  ],
  [
    [{ id: "a", role: "assistant", content: "", toolInvocations: [{}] }],
    "messages[0].parts[0] must be a tool",
  ],
  [
    [{ id: "m", role: "user", content: [{ type: "text", text: "x" }] }],
    "convert them with fromModelMessages",
  ],
  [[null], "messages[0]: must be an object"],
])("what has no counterpart is named: %#", (messages, problem) => {
  expect(() => upgradeUIMessages(messages)).toThrow(problem);
});
