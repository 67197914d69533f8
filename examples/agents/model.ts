import type { LanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

// The examples' model: a real one if a key is set, else a small script that reads its prompt.

type Call = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type Prompt = Call["prompt"];

/** The model that the environment names; undefined: the script. */
export async function realModel(): Promise<LanguageModel | undefined> {
  const { AI_GATEWAY_API_KEY, OPENAI_API_KEY, MODEL } = process.env;
  // The AI SDK's gateway takes the name of any provider's model.
  if (AI_GATEWAY_API_KEY) return MODEL ?? "openai/gpt-5-mini";
  if (!OPENAI_API_KEY) return undefined;
  const { openai } = await import("@ai-sdk/openai").catch(() => {
    throw new Error("OPENAI_API_KEY is set, but the provider is missing; run: npm install @ai-sdk/openai");
  });
  return openai(MODEL ?? "gpt-5-mini");
}

/** A model whose answer is the result of `answer` for the prompt. It generates and streams. */
export function scriptedModel(answer: (prompt: Prompt) => string): LanguageModel {
  const finish = {
    finishReason: { unified: "stop" as const, raw: undefined },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({
      content: [{ type: "text", text: answer(prompt) }],
      warnings: [],
      ...finish,
    }),
    doStream: async ({ prompt }) => ({
      stream: simulateReadableStream({
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          ...answer(prompt)
            .split(/(?<= )/)
            .map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
          { type: "text-end", id: "1" },
          { type: "finish", ...finish },
        ],
      }),
    }),
  });
}

/** The texts of a prompt, one per message. */
export function textsOf(prompt: Prompt): string[] {
  return prompt.map(({ content }) =>
    typeof content === "string"
      ? content
      : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
  );
}

/** Finds the user's name anywhere in the prompt. */
export const parrot = scriptedModel((prompt) => {
  const texts = textsOf(prompt);
  const name = texts
    .map((text) => /(?:my name is|named) (\w+)/i.exec(text)?.[1])
    .findLast((found) => found !== undefined);
  if (!/name\?/i.test(texts.at(-1) ?? "")) return name ? `Pleased to meet you, ${name}.` : "I see.";
  return name ? `Your name is ${name}.` : "I do not know your name.";
});
