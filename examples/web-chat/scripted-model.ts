import { setTimeout as wait } from "node:timers/promises";
import type { LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { play, type Step, type Turn, titleFor } from "./script.ts";

type Options = Parameters<MockLanguageModelV4["doStream"]>[0];
type Prompt = Options["prompt"];
type Part =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

/** The time per word. */
const WORD_MS = Number(process.env.WORD_MS ?? 35);
const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** An offline replacement for a model. It answers by the script, one word at a time. */
export function scriptedModel(): LanguageModel {
  return new MockLanguageModelV4({
    modelId: "scripted",
    doStream: async ({ prompt, abortSignal }) => ({
      stream: ReadableStream.from(partsOf(play(turnOf(prompt)), abortSignal)),
    }),
  });
}

/** An offline replacement for the model that generates titles. */
export function scriptedTitles(): LanguageModel {
  return new MockLanguageModelV4({
    modelId: "scripted-titles",
    doGenerate: async ({ prompt }) => ({
      content: [{ type: "text", text: titleFor(textOf(prompt.find(({ role }) => role === "user"))) }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    }),
  });
}

async function* partsOf(steps: readonly Step[], signal: AbortSignal | undefined): AsyncGenerator<Part> {
  yield { type: "stream-start", warnings: [] };
  let calls = 0;
  for (const [index, step] of steps.entries()) {
    if ("failure" in step) {
      yield { type: "error", error: new Error(step.failure) };
      return;
    }
    if ("tool" in step) {
      calls += 1;
      const toolCallId = crypto.randomUUID();
      yield { type: "tool-call", toolCallId, toolName: step.tool, input: JSON.stringify(step.input) };
      continue;
    }
    const id = `text-${index}`;
    for (const { 0: delta, index: at } of step.text.matchAll(/\S+\s*/g)) {
      await wait(step.wordMs ?? WORD_MS, undefined, signal && { signal });
      if (at === 0) yield { type: "text-start", id };
      yield { type: "text-delta", id, delta };
    }
    yield { type: "text-end", id };
  }
  yield {
    type: "finish",
    usage,
    finishReason: { unified: calls > 0 ? "tool-calls" : "stop", raw: undefined },
  };
}

/** The user's last message, and the result of the last tool call after it. */
function turnOf(prompt: Prompt): Turn {
  const at = prompt.findLastIndex(({ role }) => role === "user");
  const text = textOf(prompt[at]);
  const results = prompt
    .slice(Math.max(at, 0))
    .flatMap(({ role, content }) =>
      role === "tool" ? content.filter((part) => part.type === "tool-result") : [],
    );
  const output = results.at(-1)?.output;
  return { text, output: output && (output.type === "json" ? Object(output.value) : {}) };
}

function textOf(message: Prompt[number] | undefined): string {
  if (message === undefined) return "";
  if (message.role === "system") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
