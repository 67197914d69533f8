import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { jsonSchema, type ToolSet } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { failureOf, lines, scripted, weatherCall, weatherTools } from "./models.ts";
import { WatchedDriver } from "./watched-driver.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
const usage: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const weatherCallPart = (id: string) => ({
  type: "tool-call" as const,
  toolCallId: id,
  toolName: "weather",
  input: JSON.stringify({ city: "Ghent" }),
});
const step = (...content: Generated["content"]): Generated => ({
  content,
  finishReason: { unified: "tool-calls", raw: undefined },
  usage,
  warnings: [],
});
/** A provider that runs code itself, and returns the result one step later. */
const deferred = [
  step(
    { type: "tool-call", toolCallId: "code", toolName: "code", input: "{}", providerExecuted: true },
    weatherCallPart("w1"),
  ),
  step(weatherCallPart("w2")),
  step(
    { type: "tool-result", toolCallId: "code", toolName: "code", result: { ok: true } },
    weatherCallPart("w3"),
  ),
];
const last: Generated = {
  ...step({ type: "text", text: "Done." }),
  finishReason: { unified: "stop", raw: undefined },
};
const deferredTools: ToolSet = {
  code: {
    type: "provider",
    id: "scripted.code",
    isProviderExecuted: true,
    args: {},
    inputSchema: jsonSchema({ type: "object" }),
    outputSchema: jsonSchema({ type: "object" }),
    supportsDeferredResults: true,
  },
};

describe.each(Object.entries(ways))("%s", (_name, runIt) => {
  test('persist "eachStep" ends with the same messages, stored step by step, none twice', async () => {
    const seen: number[] = [];
    const answers = [weatherCall("Ghent"), weatherCall("Bruges"), "Ghent is warmer."];
    const model = scripted(async () => {
      seen.push((await stores.open("t").listMessages()).length);
      return answers[seen.length - 1] ?? "";
    });
    const agent = new ChatAgent({ model, tools: weatherTools().tools, persist: "eachStep" });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "Compare", { thread });
    expect(seen).toEqual([1, 3, 5]);
    expect(await listOf("t")).toEqual([
      "user: Compare",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: Ghent is warmer.",
    ]);
  });

  test('persist "eachStep" is compare-and-set at each step', async () => {
    const weather = weatherTools();
    let calls = 0;
    const model = scripted(async () => {
      calls += 1;
      if (calls === 2) await stores.open("t").addMessages([{ role: "user", content: "in between" }]);
      return weatherCall("Ghent", `call-${calls}`);
    });
    const agent = new ChatAgent({ model, tools: weather.tools, persist: "eachStep" });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(runIt(agent, "go", { thread }))).toMatchObject({ code: "CONFLICT" });
    expect(await listOf("t")).toHaveLength(4);
    expect(calls).toBe(2);
  });

  test('persist "eachStep" stores a step with an open tool call once its result exists', async () => {
    const seen: number[] = [];
    const next = async () => {
      const call = seen.push((await stores.open("t").listMessages()).length);
      return deferred[call - 1] ?? last;
    };
    const model = new MockLanguageModelV4({
      doGenerate: next,
      doStream: async () => {
        const { content, finishReason, usage } = await next();
        const text = content.flatMap((part) =>
          part.type === "text"
            ? [
                { type: "text-start" as const, id: "1" },
                { type: "text-delta" as const, id: "1", delta: part.text },
                { type: "text-end" as const, id: "1" },
              ]
            : [part as never],
        );
        return { stream: convertArrayToReadableStream([...text, { type: "finish", finishReason, usage }]) };
      },
    });
    const agent = new ChatAgent({
      model,
      persist: "eachStep",
      tools: { ...weatherTools().tools, ...deferredTools },
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "go", { thread });
    expect(seen, "the code runs until the third step").toEqual([1, 1, 1, 7]);
    expect((await listOf("t")).at(-1)).toBe("assistant: Done.");
  });
});

test("a save whose reply is lost is retried under one operation id and does not double the turn", async () => {
  const driver = new WatchedDriver();
  stores = createStores(driver);
  const agent = new ChatAgent({ model: scripted("Hello.", "Bye.") });
  const thread = agent.getNewThread({ messageStore: stores.open("t") });
  driver.repliesToLose = 2;
  await agent.run("Hi", { thread });
  await agent.run("Bye", { thread });
  const ids = driver.commits.map((commit) => commit.operationId);
  // The input is stored first, then the answer.
  expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]]);
  expect(new Set(ids.slice(2)).size).toBe(4);
  expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello.", "user: Bye", "assistant: Bye."]);
});
