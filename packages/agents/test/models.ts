import type { ChatMessage } from "@scrollback/store-core";
import { jsonSchema, type ToolSet, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

type Generate = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Call = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

/** One answer of a scripted model: text, tool calls, or a failure. */
export type Answer =
  | string
  | { calls: { id: string; name: string; input: unknown }[]; text?: string }
  | { error: Error }
  | { metadata: Generate["providerMetadata"]; text: string };

const usage: Generate["usage"] = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

function resultOf(answer: Exclude<Answer, { error: Error }>): Generate {
  const text = typeof answer === "string" ? answer : answer.text;
  const calls = typeof answer === "object" && "calls" in answer ? answer.calls : [];
  const content: Generate["content"] = [
    ...(text === undefined ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ id, name, input }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input: JSON.stringify(input),
    })),
  ];
  return {
    content,
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    usage,
    warnings: [],
    ...(typeof answer === "object" &&
      "metadata" in answer &&
      answer.metadata && { providerMetadata: answer.metadata }),
  };
}

function streamOf(result: Generate): StreamPart[] {
  const parts = result.content.flatMap((part, index): StreamPart[] => {
    if (part.type === "tool-call") return [part];
    if (part.type !== "text") return [];
    const id = String(index);
    const deltas = part.text.split(/(?<= )/).map((delta) => ({ type: "text-delta" as const, id, delta }));
    return [{ type: "text-start", id }, ...deltas, { type: "text-end", id }];
  });
  const { finishReason, providerMetadata } = result;
  return [
    { type: "stream-start", warnings: [] },
    ...parts,
    { type: "finish", finishReason, usage, ...(providerMetadata && { providerMetadata }) },
  ];
}

/**
 * A model that returns these answers in turn, and then fails; or answers with the result of a function of the prompt. It can
 * generate and stream.
 */
export function scripted(
  ...answers: Answer[] | [(call: Call) => Answer | Promise<Answer>]
): MockLanguageModelV4 {
  let turn = 0;
  const next = async (call: Call) => {
    const [first] = answers;
    const answer = typeof first === "function" ? await first(call) : (answers[turn++] as Answer | undefined);
    if (answer === undefined) throw new Error("the script has ended");
    if (typeof answer === "object" && "error" in answer) throw answer.error;
    return resultOf(answer);
  };
  return new MockLanguageModelV4({
    doGenerate: next,
    doStream: async (call) => ({
      stream: simulateReadableStream({ chunks: streamOf(await next(call)), chunkDelayInMs: null }),
    }),
  });
}

/** The prompts of the model, call by call, generated and streamed. */
export function prompts(model: MockLanguageModelV4): Call["prompt"][] {
  return [...model.doGenerateCalls, ...model.doStreamCalls].map((call) => call.prompt);
}

/** The texts of the newest prompt, one per line: `role: text`. */
export function asked(model: MockLanguageModelV4): string[] {
  const prompt = prompts(model).at(-1) ?? [];
  return prompt.map(({ role, content }) => {
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ");
    return `${role}: ${text}`;
  });
}

/** One line per message: `role: text`. */
export function lines(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ role, content }) => {
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ");
    return `${role}: ${text}`;
  });
}

/** A tool that returns the weather, and records the places of its calls. */
export function weatherTools(): { tools: ToolSet; asked: string[] } {
  const cities: string[] = [];
  const tools = {
    weather: tool({
      description: "The weather in a city",
      inputSchema: jsonSchema<{ city: string }>({
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
      }),
      execute: async ({ city }) => {
        cities.push(city);
        return { city, degrees: 21 };
      },
    }),
  };
  return { tools, asked: cities };
}

/** A call of the weather tool. */
export const weatherCall = (city: string, id = `call-${city}`): Answer => ({
  calls: [{ id, name: "weather", input: { city } }],
});

export async function failureOf(action: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (typeof action === "function" ? action() : action);
  } catch (error) {
    return error;
  }
  throw new Error("it was expected to fail");
}

export async function partsOf<Part>(stream: AsyncIterable<Part>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** The id of the approval that a response requests. */
export function approvalIn(messages: readonly ChatMessage[]): string {
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) if (part.type === "tool-approval-request") return part.approvalId;
  }
  throw new Error("no approval was asked for");
}
