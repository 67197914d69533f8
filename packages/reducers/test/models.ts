import type { ChatMessage } from "@scrollback/store-core";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import type { SummaryRequest } from "../src/summary-model.ts";

type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Content = Generated["content"][number];

const usage: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** An answer of the model with a tool call. */
export const callsTool = (toolCallId: string): Content => ({
  type: "tool-call",
  toolCallId,
  toolName: "look",
  input: "{}",
});

/** An AI SDK model that returns these answers, one per call, generated or streamed; the last answer repeats. */
export function saying(...answers: (string | Content)[]): MockLanguageModelV4 {
  let calls = 0;
  const next = () => {
    const answer = answers[Math.min(calls++, answers.length - 1)] ?? "";
    const part: Content = typeof answer === "string" ? { type: "text", text: answer } : answer;
    const unified = part.type === "tool-call" ? ("tool-calls" as const) : ("stop" as const);
    return { part, finishReason: { unified, raw: undefined } };
  };
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const { part, finishReason } = next();
      return { content: [part], finishReason, usage, warnings: [] };
    },
    doStream: async () => {
      const { part, finishReason } = next();
      const parts =
        part.type === "text"
          ? [
              { type: "text-start" as const, id: "1" },
              { type: "text-delta" as const, id: "1", delta: part.text },
              { type: "text-end" as const, id: "1" },
            ]
          : part.type === "tool-call"
            ? [part]
            : [];
      return {
        stream: convertArrayToReadableStream([
          { type: "stream-start", warnings: [] },
          ...parts,
          { type: "finish", finishReason, usage },
        ]),
      };
    },
  });
}

/** A prompt as lines `role: text`; parts other than text appear as their type. */
export function linesOf(prompt: readonly ChatMessage[] | undefined): string[] {
  return (prompt ?? []).map(({ role, content }) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
    return `${role}: ${parts.map((part) => (part.type === "text" ? part.text : `(${part.type})`)).join(" ")}`;
  });
}

/** A function that writes summaries, "summary 1" and so on, and records its requests. */
export function summarizer() {
  const requests: SummaryRequest[] = [];
  const model = async (request: SummaryRequest) => {
    requests.push(request);
    return `summary ${requests.length}`;
  };
  return { model, requests };
}
