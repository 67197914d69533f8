import { streamText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { type ModelPart, scriptedModel } from "./scripted-model.ts";
import { serve, textIn, user } from "./serve.ts";

/** A model that streams reasoning and a source before its answer. */
const thinking = () =>
  new MockLanguageModelV4({
    doStream: async () => {
      const parts: ModelPart[] = [
        { type: "stream-start", warnings: [] },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r" },
        { type: "source", sourceType: "url", id: "s", url: "http://a/" },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Line 8." },
        { type: "text-end", id: "t" },
        {
          type: "finish",
          finishReason: { unified: "stop", raw: undefined },
          usage: {
            inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: 1, text: 1, reasoning: 0 },
          },
        },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  });
const typesOf = (message: UIMessage | undefined) => message?.parts.map(({ type }) => type);

test("stream: reasoning, sources and metadata are stored as the client gets them", async () => {
  await using server = await serve({ model: thinking() });
  await server.post({ id: "c", message: user("q") });
  expect(typesOf((await server.stored("c"))?.[1])).toEqual(["step-start", "reasoning", "text"]);
  await using other = await serve({
    model: thinking(),
    stream: {
      sendReasoning: false,
      sendSources: true,
      messageMetadata: ({ part }) =>
        part.type === "finish" ? { tokens: part.totalUsage.totalTokens } : undefined,
    },
  });
  const { chunks } = await other.post({ id: "c", message: user("q") });
  const stored = (await other.stored("c"))?.[1];
  expect(typesOf(stored)).toEqual(["step-start", "source-url", "text"]);
  expect(stored?.metadata).toEqual({ tokens: 2 });
  expect(JSON.stringify(chunks)).not.toContain("reasoning");
});

test("generate: the result of streamText, with the turn's messages and body", async () => {
  const bodies: unknown[] = [];
  await using server = await serve({
    generate({ modelMessages, signal, body }) {
      bodies.push(body);
      return streamText({ model: scriptedModel(), messages: modelMessages, abortSignal: signal });
    },
  });
  const { chunks } = await server.post({ id: "c", message: user("q", "say hello"), mood: "calm" });
  expect(textIn(chunks)).toBe("hello ");
  expect(bodies).toEqual([{ mood: "calm" }]);
  expect(await server.stored("c")).toHaveLength(2);
});
