import { tool, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { type ModelPart, scriptedModel } from "./scripted-model.ts";
import { serve, user } from "./serve.ts";

interface Call {
  readonly toolCallId: string;
  readonly approval?: object;
}
const isCall = ({ type }: UIMessage["parts"][number]) => type.startsWith("tool-");
const callsOf = (message: UIMessage | undefined) => message?.parts.filter(isCall);
/** An answer with changed tool calls. */
const changed = (message: UIMessage | undefined, change: (part: Call) => object) => ({
  ...message,
  parts: message?.parts.map((part) => (isCall(part) ? change(part as unknown as Call) : part)),
});

/** Calls `deleteFile` for `a`, `b` and `c` in its first step, and then answers with "ok". */
function threeDeletions() {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const finish = (unified: "stop" | "tool-calls"): ModelPart => ({
    type: "finish",
    finishReason: { unified, raw: undefined },
    usage,
  });
  const calls = ["a", "b", "c"].map((path): ModelPart => {
    return { type: "tool-call", toolCallId: path, toolName: "deleteFile", input: JSON.stringify({ path }) };
  });
  const words: ModelPart[] = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "ok" },
    { type: "text-end", id: "t" },
  ];
  let steps = 0;
  return new MockLanguageModelV4({
    async doStream() {
      const parts = steps++ === 0 ? [...calls, finish("tool-calls")] : [...words, finish("stop")];
      return { stream: ReadableStream.from(parts) };
    },
  });
}

test("approvals of one step that are given in several requests: each tool runs once, and each call has its result", async () => {
  const model = threeDeletions();
  await using server = await serve({ model });
  await server.post({ id: "c", message: user("q") });
  for (const path of ["a", "b"]) {
    const approved = ({ approval }: Call) => ({
      state: "approval-responded",
      approval: { ...approval, approved: true },
    });
    const message = changed((await server.stored("c"))?.[1], (part) =>
      part.toolCallId === path ? { ...part, ...approved(part) } : part,
    );
    expect(await server.post({ id: "c", message })).toMatchObject({ status: 200 });
  }
  expect(server.log.deleted).toEqual(["a", "b"]);
  const stored = await server.stored("c");
  expect(callsOf(stored?.[1])).toMatchObject([
    { toolCallId: "a", state: "output-available" },
    { toolCallId: "c", state: "approval-requested" },
    { toolCallId: "b", state: "output-available" },
  ]);
  await server.post({ id: "c", message: user("q2") });
  for (const { prompt } of model.doStreamCalls) {
    const ids = (type: string) =>
      prompt
        .flatMap(({ content }) =>
          typeof content === "string" ? [] : content.flatMap((part) => (part.type === type ? part : [])),
        )
        .map((part) => (part as { toolCallId: string }).toolCallId);
    expect(ids("tool-result")).toEqual(ids("tool-call"));
  }
  // The user went on without deciding it.
  expect(server.errors).toMatchObject([
    { message: expect.stringContaining("left out for the model: the call c (") },
  ]);
});

test("a client tool that returns undefined has the result null", async () => {
  const model = scriptedModel();
  const tools = {
    askUser: tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.unknown() }),
  };
  await using server = await serve({ model, tools });
  await server.post({ id: "c", message: user("q", "ask why") });
  const message = changed((await server.stored("c"))?.[1], (part) => ({
    ...part,
    state: "output-available",
  }));
  expect(await server.post({ id: "c", message })).toMatchObject({ status: 200 });
  expect(callsOf((await server.stored("c"))?.[1])).toMatchObject([
    { state: "output-available", output: null },
  ]);
  expect(model.doStreamCalls.at(-1)?.prompt.at(-1)).toMatchObject({
    content: [{ type: "tool-result", output: { type: "json", value: null } }],
  });
});

test("a tool of the server that returns undefined has the result null", async () => {
  const model = scriptedModel();
  const lookUp = tool({ inputSchema: z.object({ word: z.string() }), execute: async () => undefined });
  await using server = await serve({ model, tools: { lookUp } });
  await server.post({ id: "c", message: user("q", "look up x") });
  await server.post({ id: "c", message: user("q2", "say hello") });
  const prompt = model.doStreamCalls[2]?.prompt ?? [];
  expect(prompt.find(({ role }) => role === "tool")).toMatchObject({
    content: [{ type: "tool-result", output: { type: "json", value: null } }],
  });
});
