import type { LanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const finish = {
  finishReason: { unified: "stop", raw: undefined },
  usage: {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  },
} as const;

/** An offline replacement for a model, which generates and streams what `answer` makes of the texts of the prompt, one a message. */
export function scriptedModel(answer: (texts: string[]) => string): LanguageModel {
  type Prompt = Parameters<MockLanguageModelV4["doStream"]>[0]["prompt"];
  const answerTo = (prompt: Prompt) =>
    answer(
      prompt.map(({ content }) =>
        typeof content === "string"
          ? content
          : content.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
      ),
    );
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({
      content: [{ type: "text", text: answerTo(prompt) }],
      warnings: [],
      ...finish,
    }),
    doStream: async ({ prompt }) => ({
      stream: simulateReadableStream({
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: answerTo(prompt) },
          { type: "text-end", id: "1" },
          { type: "finish", ...finish },
        ],
      }),
    }),
  });
}
