import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

test("a run sends no call without its result, no result without its call and no empty message; onError hears of it once", async () => {
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: "text", text: "ok" }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    }),
  });
  const errors: unknown[] = [];
  const stores = createMemoryStores();
  const onError = (error: unknown, context: object) => void errors.push({ error, context });
  const agent = new ChatAgent({ model, stores, onError });
  const call = (id: string) => ({ type: "tool-call" as const, toolCallId: id, toolName: "t", input: {} });
  const stored: ChatMessage[] = [
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "cut", toolName: "t", output: { type: "text", value: "x" } },
      ],
    },
    { role: "user", content: " " },
    { role: "assistant", content: [{ type: "reasoning", text: "hm" }, call("lost")] },
    { role: "assistant", content: "" },
  ];
  await stores.open("chat-1").addMessages(stored);
  for (const text of ["one", "two"]) await agent.run(text, { thread: "chat-1" });
  const note = { role: "user", content: [{ type: "text", text: "(a message without text)" }] };
  const texts = ["one", "ok", "two"].map((text) => ({ content: [{ type: "text", text }] }));
  expect(model.doGenerateCalls.map(({ prompt }) => prompt)).toMatchObject([
    [note, texts[0]],
    [note, ...texts],
  ]);
  expect(errors).toMatchObject([{ error: { code: "INVALID_STATE" }, context: { source: "history" } }]);
});
