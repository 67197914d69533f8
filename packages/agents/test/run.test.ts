import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { generateText, isStepCount, type ModelMessage } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent, type ContextProvider } from "../src/index.ts";
import {
  approvalIn,
  asked,
  failureOf,
  lines,
  prompts,
  scripted,
  weatherCall,
  weatherTools,
} from "./models.ts";
import { WatchedDriver } from "./watched-driver.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

describe.each(Object.entries(ways))("%s", (_name, runIt) => {
  test("stores input and response, and the model sees them in the next run", async () => {
    const model = scripted("Hello, Alice.", "You are Alice.");
    const agent = new ChatAgent({ model, stores, instructions: "Be kind." });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "I am Alice.", { thread });
    await runIt(agent, "Who am I?", { thread });
    expect(asked(model)).toEqual([
      "system: Be kind.",
      "user: I am Alice.",
      "assistant: Hello, Alice.",
      "user: Who am I?",
    ]);
    expect(await listOf("t")).toEqual([
      "user: I am Alice.",
      "assistant: Hello, Alice.",
      "user: Who am I?",
      "assistant: You are Alice.",
    ]);
  });

  test("the model receives, in order: all instructions, history, providers' messages, the input", async () => {
    const model = scripted("first", "second");
    const provider = (name: string): ContextProvider => ({
      invoking: async () => ({
        instructions: `instructions ${name}`,
        messages: [{ role: "user", content: `message ${name}` }],
      }),
    });
    const agent = new ChatAgent({
      model,
      instructions: "agent's",
      contextProviders: [provider("A"), {}, provider("B")].map((one) => ({ close: async () => {}, ...one })),
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "one", { thread });
    await runIt(agent, [{ role: "user", content: "two" }], { thread });
    expect(asked(model)).toEqual([
      "system: agent's\ninstructions A\ninstructions B",
      "user: one",
      "assistant: first",
      "user: message A",
      "user: message B",
      "user: two",
    ]);
    expect(await listOf("t"), "context is not stored").toEqual([
      "user: one",
      "assistant: first",
      "user: two",
      "assistant: second",
    ]);
  });

  test("tools run, and their calls and results are stored with the answer, in one write", async () => {
    const model = scripted(weatherCall("Ghent"), "21 degrees.");
    const weather = weatherTools();
    const driver = new WatchedDriver();
    stores = createStores(driver);
    const agent = new ChatAgent({ model, tools: weather.tools });
    await runIt(agent, "How warm is it?", { thread: agent.getNewThread({ messageStore: stores.open("t") }) });
    expect(weather.asked).toEqual(["Ghent"]);
    expect(await listOf("t")).toEqual([
      "user: How warm is it?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
    expect(driver.commits.map((commit) => commit.append.length)).toEqual([1, 3]);
  });

  test("a turn with tool calls is sent to the model exactly as the AI SDK sends it", async () => {
    const script = () => scripted(weatherCall("Ghent"), "21 degrees.", "You asked about Ghent.");
    const ours = script();
    const agent = new ChatAgent({ model: ours, stores, tools: weatherTools().tools });
    const thread = agent.getNewThread();
    await runIt(agent, "How warm is it?", { thread });
    const state = JSON.parse(JSON.stringify(await thread.serialize()));
    await runIt(agent, "Where?", { thread: await agent.deserializeThread(state) });

    const theirs = script();
    const messages: ModelMessage[] = [{ role: "user", content: "How warm is it?" }];
    const ask = () =>
      generateText({ model: theirs, messages, tools: weatherTools().tools, stopWhen: isStepCount(20) });
    messages.push(...(await ask()).responseMessages, { role: "user", content: "Where?" });
    await ask();
    expect(prompts(ours).at(-1)).toEqual(prompts(theirs).at(-1));
    expect(prompts(ours)).toHaveLength(3);
  });

  test("a run has at most maxSteps steps, and ends with a whole exchange", async () => {
    let calls = 0;
    const model = scripted(() => weatherCall("Ghent", `call-${++calls}`));
    const agent = new ChatAgent({ model, tools: weatherTools().tools, maxSteps: 3 });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "go", { thread });
    expect(calls).toBe(3);
    expect((await listOf("t")).at(-1)).toBe("tool: [tool-result]");
  });

  test("without a thread nothing is stored", async () => {
    const model = scripted("one", "two");
    const opened: unknown[] = [];
    const agent = new ChatAgent({
      model,
      stores: () => {
        opened.push(1);
        return stores.open();
      },
    });
    await runIt(agent, "first");
    await runIt(agent, "second");
    expect(asked(model)).toEqual(["user: second"]);
    expect(opened).toEqual([]);
  });

  test("system messages in the history and the input reach the model at their position", async () => {
    await stores.open("t").addMessages([
      { role: "system", content: "The user is a guest." },
      { role: "user", content: "Hi" },
    ]);
    const model = scripted("Hello.");
    const agent = new ChatAgent({ model, instructions: "Be kind." });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, { role: "system", content: "It is late." }, { thread });
    expect(asked(model)).toEqual([
      "system: Be kind.",
      "system: The user is a guest.",
      "user: Hi",
      "system: It is late.",
    ]);
  });

  test("continues a thread that ends with tool results: the exchange stays complete when messages are injected or cut", async () => {
    const model = scripted(weatherCall("Ghent"), { error: new Error("out") }, "21 degrees.");
    const agent = new ChatAgent({
      model,
      tools: weatherTools().tools,
      persist: "eachStep",
      reducer: { reduce: async () => [] },
      contextProviders: [{ invoking: async () => ({ messages: [{ role: "user", content: "by the way" }] }) }],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await failureOf(runIt(agent, "How warm?", { thread }));
    await runIt(agent, [], { thread });
    expect(asked(model)).toEqual(["user: by the way", "assistant: [tool-call]", "tool: [tool-result]"]);
    expect((await listOf("t")).at(-1)).toBe("assistant: 21 degrees.");
  });

  test("a reducer shortens only the model's input", async () => {
    const model = scripted("a", "b", "c");
    const given: unknown[] = [];
    const agent = new ChatAgent({
      model,
      reducer: {
        reduce: async (messages, options) => {
          given.push(options?.signal instanceof AbortSignal, messages.length);
          return messages.slice(-2);
        },
      },
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const { signal } = new AbortController();
    for (const input of ["1", "2", "3"]) await runIt(agent, input, { thread, signal });
    expect(asked(model)).toEqual(["user: 2", "assistant: b", "user: 3"]);
    expect(await listOf("t")).toHaveLength(6);
    expect(given).toEqual([true, 2, true, 4]);
  });
});

describe("run", () => {
  test("returns the text of the last step, the response's messages, the finish reason and the usage", async () => {
    const model = scripted(weatherCall("Ghent"), "21 degrees.");
    const agent = new ChatAgent({ model, tools: weatherTools().tools });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const result = await agent.run("How warm?", { thread });
    expect(result.text).toBe("21 degrees.");
    expect(result.finishReason).toBe("stop");
    expect(result.usage.totalTokens).toBe(16);
    expect(await stores.open("t").listMessages()).toStrictEqual([
      { role: "user", content: "How warm?" },
      ...result.messages,
    ]);
    expect(result.messages).toStrictEqual([
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "call-Ghent", toolName: "weather", input: { city: "Ghent" } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call-Ghent",
            toolName: "weather",
            output: { type: "json", value: { city: "Ghent", degrees: 21 } },
          },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "21 degrees." }] },
    ]);
  });

  test("a tool that needs approval waits across a restart, and its exchange reaches the model in one piece", async () => {
    const weather = weatherTools();
    const model = scripted(weatherCall("Ghent"), "21 degrees.");
    const agent = new ChatAgent({
      model,
      stores,
      tools: { weather: { ...weather.tools.weather, needsApproval: true } as never },
      reducer: { reduce: async () => [] },
      contextProviders: [{ invoking: async () => ({ messages: [{ role: "user", content: "by the way" }] }) }],
    });
    const thread = agent.getNewThread();
    const { messages } = await agent.run("How warm?", { thread });
    expect(weather.asked).toEqual([]);
    const approvalId = approvalIn(messages);
    const resumed = await agent.deserializeThread(JSON.parse(JSON.stringify(await thread.serialize())));
    await agent.run(
      { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] },
      { thread: resumed },
    );
    expect(weather.asked).toEqual(["Ghent"]);
    expect(asked(model)).toEqual(["user: by the way", "assistant: [tool-call]", "tool: [tool-result]"]);
    const id = resumed.messageStore?.threadId ?? "";
    expect(await listOf(id)).toEqual([
      "user: How warm?",
      "assistant: [tool-call] [tool-approval-request]",
      "tool: [tool-approval-response]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
  });
});
