import type { ModelMessage } from "ai";
import { expect, expectTypeOf, test } from "vitest";
import { type ChatMessage, chatMessageTraits, createMemoryStores, type Part } from "../src/index.ts";
import { kindOf } from "../src/message/chat-message-traits.ts";

test("the AI SDK's messages are ChatMessages, and a list of them is stored unchanged", async () => {
  expectTypeOf<ModelMessage>().toExtend<ChatMessage>();
  const messages: ModelMessage[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: Uint8Array.of(1, 2) }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "now", input: {} }] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "1", toolName: "now", output: { type: "text", value: "noon" } },
      ],
    },
  ];
  const store = createMemoryStores().open();
  await store.addMessages(messages);
  expect(await store.listMessages()).toStrictEqual(messages);
});

test("a part narrows by its type, and other types can be added", () => {
  const textOf = (part: Part) =>
    part.type === "text" ? part.text : part.type === "tool-call" ? part.toolName : "";
  expect(textOf({ type: "text", text: "hi" })).toBe("hi");
});

test("kinds: system, user, tool results, calls and reasoning, both, summaries, any other", () => {
  const result = { type: "tool-result", toolCallId: "1", toolName: "t", output: 1 } as const;
  const kind = (message: ChatMessage) => kindOf(message, chatMessageTraits);
  expect(kind({ role: "system", content: "" })).toBe("s");
  expect(kind({ role: "user", content: "" })).toBe("u");
  expect(kind({ role: "user", content: [result] })).toBe("t");
  expect(kind({ role: "assistant", content: [result] })).toBe("t");
  expect(kind({ role: "tool", content: [] })).toBe("t");
  const call = { type: "tool-call", toolCallId: "1", toolName: "t", input: 1 } as const;
  const reasoning = { type: "reasoning", text: "hm" } as const;
  expect(kind({ role: "assistant", content: [call] })).toBe("c");
  expect(kind({ role: "assistant", content: [reasoning] })).toBe("c");
  expect(kind({ role: "assistant", content: [call, result] })).toBe("b");
  expect(kind({ role: "assistant", content: [reasoning, { type: "text", text: "" }] })).toBe("o");
  expect(kind({ role: "assistant", content: "" })).toBe("o");
  expect(kind({ role: "assistant", content: [] })).toBe("o");
  const metadata = { type: "scrollback.summary" };
  expect(kind({ role: "assistant", content: "", metadata })).toBe("k");
  expect(kind({ role: "user", content: "", metadata })).toBe("u");
});

test("the AI SDK's compaction parts make a summary of a message without calls and results", () => {
  const kind = (content: Part[]) => kindOf({ role: "assistant", content }, chatMessageTraits);
  const text: Part = { type: "text", text: "hi", providerOptions: { openai: { itemId: "msg_1" } } };
  const call: Part = { type: "tool-call", toolCallId: "1", toolName: "t", input: 1 };
  const openai: Part = {
    type: "custom",
    kind: "openai.compaction",
    providerOptions: { openai: { type: "compaction", itemId: "cmp_1" } },
  };
  const anthropic: Part = {
    type: "text",
    text: "So far: …",
    providerOptions: { anthropic: { type: "compaction" } },
  };
  for (const compaction of [openai, anthropic]) {
    expect(kind([compaction])).toBe("k");
    expect(kind([compaction, text])).toBe("k");
    expect(kind([compaction, call])).toBe("c");
  }
  expect(kind([text])).toBe("o");
  expect(kind([{ type: "custom", kind: "xai.live" }])).toBe("o");
});

const invalid: [unknown, string][] = [
  [null, "must be an object"],
  ["hi", "must be an object"],
  [{ content: "x" }, "role must be"],
  [{ role: "robot", content: "x" }, "role must be"],
  [{ role: "user" }, "content must be"],
  [{ role: "user", content: 1 }, "content must be"],
  [{ role: "user", content: ["x"] }, "content[0] must be an object"],
  [{ role: "user", content: [{}] }, "content[0].type"],
  [{ role: "user", content: [{ type: "text" }] }, "content[0].text"],
  [{ role: "assistant", content: [{ type: "tool-call", toolName: "x" }] }, "content[0].toolCallId"],
  [{ role: "tool", content: [{ type: "tool-result", toolCallId: "x" }] }, "content[0].toolName"],
];

test.each(invalid)("an invalid message is refused with its path: %j", async (message, problem) => {
  const store = createMemoryStores().open();
  const fine = { role: "user", content: "fine" } as const;
  await expect(store.addMessages([fine, message as ChatMessage])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(`messages[1]: ${problem}`),
  });
  expect(await store.listMessages()).toEqual([]);
});
