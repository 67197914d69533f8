import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Prompt = Parameters<MockLanguageModelV4["doStream"]>[0]["prompt"];

const finishReason = { unified: "stop", raw: undefined } as const;
const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** A model without a network: it repeats what the user wrote, or counts, and makes titles of four words. */
export function scriptedModel() {
  return new MockLanguageModelV4({
    doStream: async ({ prompt }) => ({
      stream: simulateReadableStream({
        chunkDelayInMs: 50,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "text" },
          ...wordsOf(answerTo(questionOf(prompt))).map(
            (delta) => ({ type: "text-delta", id: "text", delta }) as const,
          ),
          { type: "text-end", id: "text" },
          { type: "finish", finishReason, usage },
        ],
      }),
    }),
    doGenerate: async ({ prompt }) => {
      const text = wordsOf(questionOf(prompt)).slice(0, 4).join("");
      return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
    },
  });
}

function questionOf(prompt: Prompt): string {
  const message = prompt.findLast(({ role }) => role === "user");
  if (message?.role !== "user") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function answerTo(question: string): string {
  const [, count] = /count to (\d{1,3})/i.exec(question) ?? [];
  if (count === undefined) return `You wrote: ${question}`;
  return Array.from({ length: Number(count) }, (_, index) => index + 1).join(" ");
}

const wordsOf = (text: string) => text.match(/\S+\s*/g) ?? [];
