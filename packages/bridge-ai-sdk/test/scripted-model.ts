import { setTimeout as sleep } from "node:timers/promises";
import { tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
export type ModelPart = Streamed extends ReadableStream<infer P> ? P : never;
type Prompt = Parameters<MockLanguageModelV4["doStream"]>[0]["prompt"];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The actions of the tools of a test. */
export interface ToolLog {
  readonly deleted: Pick<string[], "push">;
}

/** `deleteFile` needs an approval, the client runs `askUser`, and the server runs `lookUp` at once. */
export function scriptedTools(log: ToolLog, { lookUpMs = 0 } = {}) {
  return {
    deleteFile: tool({
      inputSchema: z.object({ path: z.string() }),
      needsApproval: true,
      async execute({ path }) {
        log.deleted.push(path);
        await sleep(lookUpMs);
        return `deleted ${path}`;
      },
    }),
    askUser: tool({
      inputSchema: z.object({ question: z.string() }),
      outputSchema: z.object({ answer: z.string() }),
    }),
    lookUp: tool({
      inputSchema: z.object({ word: z.string() }),
      async execute({ word }) {
        await sleep(lookUpMs);
        return { word, found: true };
      },
    }),
  };
}

/**
 * Executes the command in the user's last message: `say one two`, `delete a.txt`, `ask why`, `look up x`, `fail`,
 * `fail after one two`, `hang`, `crash` (the model is not reached). It repeats any other message word by word. After a tool
 * result, it answers with the outcome.
 */
export function scriptedModel({ delayMs = 0 } = {}): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    async doStream({ prompt, abortSignal }) {
      const script = scriptOf(prompt);
      if (script.text === "crash") throw new Error("secret: the model is down");
      const source = partsOf(script, delayMs, abortSignal);
      return { stream: ReadableStream.from(source) };
    },
    async doGenerate({ prompt }) {
      await sleep(delayMs);
      return {
        content: [{ type: "text", text: `Title of ${lastText(prompt)}` }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
}

interface Script {
  readonly text: string;
  /** The outcome of the tools, if the model continues after them. */
  readonly results: string | undefined;
  readonly calls: number;
}

function scriptOf(prompt: Prompt): Script {
  const last = prompt.at(-1);
  const calls = prompt.filter(({ role }) => role === "assistant").length;
  const results =
    last?.role === "tool"
      ? last.content.flatMap((part) => (part.type === "tool-result" ? JSON.stringify(part.output) : []))
      : undefined;
  return { text: lastText(prompt), results: results?.join(" "), calls };
}

function lastText(prompt: Prompt): string {
  const user = prompt.findLast(({ role }) => role === "user");
  if (user?.role !== "user") return "";
  return user.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

async function* partsOf(
  { text, results, calls }: Script,
  delayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ModelPart> {
  yield { type: "stream-start", warnings: [] };
  const [verb = "", ...rest] = results === undefined ? text.split(" ") : ["say", "done:", results];
  const object = rest.join(" ");
  const call = (toolName: string, input: unknown): ModelPart => ({
    type: "tool-call",
    toolCallId: `call-${calls}-${toolName}`,
    toolName,
    input: JSON.stringify(input),
  });
  const finish = (unified: "stop" | "tool-calls" | "error"): ModelPart => ({
    type: "finish",
    finishReason: { unified, raw: undefined },
    usage,
  });
  if (verb === "delete") yield* [call("deleteFile", { path: object }), finish("tool-calls")];
  else if (verb === "ask") yield* [call("askUser", { question: object }), finish("tool-calls")];
  else if (verb === "look") yield* [call("lookUp", { word: object }), finish("tool-calls")];
  else if (verb === "hang") await new Promise(() => undefined);
  else {
    const words = verb === "fail" ? rest.slice(1) : verb === "say" ? rest : [verb, ...rest];
    if (words.length > 0) yield { type: "text-start", id: "t" };
    for (const word of words) {
      await sleep(delayMs, undefined, signal && { signal });
      yield { type: "text-delta", id: "t", delta: `${word} ` };
    }
    if (verb === "fail") {
      yield { type: "error", error: new Error("secret: the model failed") };
      yield finish("error");
    } else {
      yield { type: "text-end", id: "t" };
      yield finish("stop");
    }
  }
}
