import type { ChatMessage } from "@scrollback/store-core";
import { type LanguageModel, simulateReadableStream } from "ai";

type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type Generated = Awaited<ReturnType<Model["doGenerate"]>>;

/** The text of an answer: that of its last message. */
function lastTextOf(answer: readonly ChatMessage[]): string {
  const content = answer.at(-1)?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** A model that repeats the text of a stored answer, so that a retried run has the result of the first one. It uses no tokens. */
export function storedAnswer(answer: readonly ChatMessage[]): Model {
  const text = lastTextOf(answer);
  const finishReason: Generated["finishReason"] = { unified: "stop", raw: undefined };
  const usage: Generated["usage"] = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  return {
    specificationVersion: "v4",
    provider: "scrollback",
    modelId: "stored-answer",
    supportedUrls: {},
    doGenerate: async () => ({ content: [{ type: "text", text }], finishReason, usage, warnings: [] }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: text },
          { type: "text-end", id: "0" },
          { type: "finish", finishReason, usage },
        ],
      }),
    }),
  };
}
