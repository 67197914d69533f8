import {
  type ChatMessage,
  createMemoryStores,
  createStores,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { generateText, isStepCount, jsonSchema, type ModelMessage, type ToolSet } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent, type ContextProvider, type ThreadStore } from "../src/index.ts";
import { asked, failureOf, lines, partsOf, prompts, scripted, weatherCall, weatherTools } from "./models.ts";
import { WatchedDriver } from "./watched-driver.ts";

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
/** A provider that runs code itself, and says what came of it a step later. */
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

/** Both ways to run an agent; they end alike. */
const ways = {
  run: (agent: ChatAgent, ...args: Parameters<ChatAgent["run"]>) => agent.run(...args),
  runStream: async (agent: ChatAgent, ...args: Parameters<ChatAgent["run"]>) => {
    for await (const _ of agent.runStream(...args)) {
    }
  },
};

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

  test("to the model go, in order: all instructions, history, providers' messages, the input", async () => {
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

  test("tools run, and their calls and results are stored with the turn, in one write", async () => {
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
    expect(driver.commits.map((commit) => commit.append.length)).toEqual([4]);
  });

  test("a turn with tool calls goes back to the model exactly as the AI SDK itself would send it", async () => {
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

  test("a run whose model fails rejects with the model's error and stores nothing", async () => {
    const failure = new Error("the model is out");
    const model = scripted(weatherCall("Ghent"), { error: failure }, "Fine now.");
    const agent = new ChatAgent({ model, tools: weatherTools().tools });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(runIt(agent, "Hello", { thread }))).toBe(failure);
    expect(await stores.open("t").read()).toMatchObject({ entries: [], revision: null });
    await runIt(agent, "Again", { thread });
    expect(await listOf("t")).toEqual(["user: Again", "assistant: Fine now."]);
  });

  test("a provider's answer that ends in an error is a failed run", async () => {
    const model = scripted("partial");
    model.doGenerate = async () => ({
      content: [{ type: "text", text: "partial" }],
      finishReason: { unified: "error", raw: "boom" },
      usage: (await scripted("x").doGenerate({ prompt: [] })).usage,
      warnings: [],
    });
    model.doStream = async () => ({
      stream: new ReadableStream({
        async start(controller) {
          const { finishReason, usage } = await model.doGenerate({ prompt: [] });
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "partial" });
          controller.enqueue({ type: "text-end", id: "1" });
          controller.enqueue({ type: "finish", finishReason, usage });
          controller.close();
        },
      }),
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const error = await failureOf(runIt(agent, "Hello", { thread }));
    expect(StoreError.is(error, "UNAVAILABLE")).toBe(true);
    expect(await listOf("t")).toEqual([]);
  });

  test("a cancelled run rejects with ABORTED at once, also when nobody listens, and stores nothing", async () => {
    const never = scripted(() => new Promise<never>(() => {}));
    const agent = new ChatAgent({ model: never });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const abort = new AbortController();
    const reason = new Error("changed my mind");
    const running = failureOf(runIt(agent, "Hello", { thread, signal: abort.signal }));
    setTimeout(() => abort.abort(reason), 20);
    const error = await running;
    expect(StoreError.is(error, "ABORTED")).toBe(true);
    expect((error as Error).cause).toBe(reason);
    expect(await listOf("t")).toEqual([]);
    expect(
      StoreError.is(await failureOf(runIt(agent, "x", { signal: AbortSignal.abort() })), "ABORTED"),
    ).toBe(true);
  });

  test("the second of two runs at once on one thread object is refused at its start", async () => {
    let answer = (_: string) => {};
    const waiting = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const model = scripted(() => waiting);
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const first = runIt(agent, "one", { thread });
    const second = await failureOf(runIt(agent, "two", { thread }));
    expect(StoreError.is(second, "CONFLICT")).toBe(true);
    expect((second as Error).message).toContain("another run is under way");
    answer("done");
    await first;
    await runIt(agent, "three", { thread });
    expect(await listOf("t")).toEqual(["user: one", "assistant: done", "user: three", "assistant: done"]);
  });

  test("a run whose thread was written to from elsewhere is refused at its write and stores nothing", async () => {
    const model = scripted(async () => {
      await stores.open("t").addMessages([{ role: "user", content: "in between" }]);
      return "too late";
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const error = await failureOf(runIt(agent, "one", { thread }));
    expect(StoreError.is(error, "CONFLICT")).toBe(true);
    expect((error as Error).message).toContain("written to since");
    expect(await listOf("t")).toEqual(["user: in between"]);
  });

  test("of two first runs on a new thread, from two thread objects, one is stored", async () => {
    let arrived = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const model = scripted(async () => {
      if (++arrived === 2) open();
      await gate;
      return "answer";
    });
    const agent = new ChatAgent({ model });
    const outcomes = await Promise.allSettled(
      ["A", "B"].map((name) =>
        runIt(agent, name, { thread: agent.getNewThread({ messageStore: stores.open("t") }) }),
      ),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await listOf("t")).toHaveLength(2);
  });

  test("a store that shortens its history when it is listed does so, and is no conflict", async () => {
    const store = stores.open("t");
    await store.addMessages(["1", "2", "3", "4"].map((content) => ({ role: "user", content })));
    const shortening: ThreadStore = {
      addMessages: (...args) => store.addMessages(...args),
      serialize: () => store.serialize(),
      updateFromState: (state) => store.updateFromState(state),
      listMessages: async () => {
        const messages = await store.listMessages();
        if (messages.length > 2) await store.replaceMessages(messages.slice(-2));
        return messages.slice(-2);
      },
    };
    const model = scripted("a", "b");
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({
      messageStore: Object.assign(shortening, { read: store.read.bind(store) }),
    });
    await runIt(agent, "5", { thread });
    expect(asked(model)).toEqual(["user: 3", "user: 4", "user: 5"]);
    await runIt(agent, "6", { thread });
    expect(asked(model)).toEqual(["user: 5", "assistant: a", "user: 6"]);
    expect(await listOf("t")).toEqual(["user: 5", "assistant: a", "user: 6", "assistant: b"]);
  });

  test('onConflict "append" adds anyway, given to the agent or to the run', async () => {
    const model = scripted(async () => {
      await stores.open("t").addMessages([{ role: "user", content: "in between" }]);
      return "late";
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "one", { thread, onConflict: "append" });
    expect(await listOf("t")).toEqual(["user: in between", "user: one", "assistant: late"]);
    const other = new ChatAgent({ model, onConflict: "append" });
    const at = other.getNewThread({ messageStore: stores.open("t") });
    await Promise.all([runIt(other, "two", { thread: at }), runIt(other, "three", { thread: at })]);
    expect(await listOf("t")).toHaveLength(3 + 2 + 4);
    expect(await failureOf(runIt(other, "four", { thread: at, onConflict: "fail" }))).toMatchObject({
      code: "CONFLICT",
    });
  });

  test('persist "eachStep" keeps the whole exchanges of a run that fails later', async () => {
    const model = scripted(weatherCall("Ghent"), weatherCall("Bruges"), { error: new Error("out") });
    const agent = new ChatAgent({ model, tools: weatherTools().tools });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await failureOf(runIt(agent, "Compare", { thread, persist: "eachStep" }));
    expect(await listOf("t")).toEqual([
      "user: Compare",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

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
    expect(seen).toEqual([0, 3, 5]);
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

  test("a run is at most maxSteps long, and ends on a whole exchange", async () => {
    let calls = 0;
    const model = scripted(() => weatherCall("Ghent", `call-${++calls}`));
    const agent = new ChatAgent({ model, tools: weatherTools().tools, maxSteps: 3 });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "go", { thread });
    expect(calls).toBe(3);
    expect((await listOf("t")).at(-1)).toBe("tool: [tool-result]");
  });

  test("without a thread nothing is kept", async () => {
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

  test("a tool that goes on after its run was cancelled leads to no write", async () => {
    const abort = new AbortController();
    const model = scripted(weatherCall("Ghent"), "never asked");
    const weather = weatherTools();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const slow = {
      weather: {
        ...weather.tools.weather,
        execute: async () => {
          abort.abort();
          await new Promise((resolve) => setTimeout(resolve, 30));
          end();
          return "done";
        },
      } as never,
    };
    const agent = new ChatAgent({ model, tools: slow, persist: "eachStep" });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const error = await failureOf(runIt(agent, "go", { thread, signal: abort.signal }));
    expect(StoreError.is(error, "ABORTED")).toBe(true);
    await ended;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await listOf("t")).toEqual([]);
  });

  test("so does one that was approved", async () => {
    const weather = weatherTools();
    const abort = new AbortController();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const execute = async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 30));
      end();
      return "done";
    };
    const agent = new ChatAgent({
      model: scripted(weatherCall("Ghent")),
      persist: "eachStep",
      tools: { weather: { ...weather.tools.weather, needsApproval: true, execute } as never },
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const { messages } = await agent.run("How warm?", { thread });
    const before = await listOf("t");
    const approval = {
      type: "tool-approval-response",
      approvalId: approvalIn(messages),
      approved: true,
    } as const;
    const running = runIt(agent, { role: "tool", content: [approval] }, { thread, signal: abort.signal });
    expect(await failureOf(running)).toMatchObject({ code: "ABORTED" });
    await ended;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await listOf("t")).toEqual(before);
  });

  test("a run that is cancelled with its last step is cancelled", async () => {
    const abort = new AbortController();
    const agent = new ChatAgent({
      model: scripted("Hello."),
      contextProviders: [{ close: async () => {} }],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const { signal } = abort;
    const error = await failureOf(async () => {
      for await (const part of agent.runStream("Hi", { thread, signal })) {
        if (part.type === "finish-step") abort.abort();
      }
    });
    expect(StoreError.is(error, "ABORTED")).toBe(true);
    expect(await listOf("t")).toEqual([]);
  });

  test("system messages in the history and in the input reach the model in their place", async () => {
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

  test("what the model sees and the revision of the write belong together, also when another writes meanwhile", async () => {
    const store = stores.open("t");
    let others = 2;
    const busy: ThreadStore = {
      addMessages: (...args) => store.addMessages(...args),
      serialize: () => store.serialize(),
      updateFromState: (state) => store.updateFromState(state),
      listMessages: async () => {
        const messages = await store.listMessages();
        if (others-- > 0) await store.addMessages([{ role: "user", content: "in between" }]);
        return messages;
      },
    };
    const model = scripted("answer");
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({
      messageStore: Object.assign(busy, { read: store.read.bind(store) }),
    });
    await runIt(agent, "one", { thread });
    expect(asked(model)).toEqual(["user: in between", "user: in between", "user: one"]);
    expect(await listOf("t")).toHaveLength(4);
  });

  test('persist "eachStep" waits with a step whose tool call is open until its result is there', async () => {
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
    expect(seen, "the code is being run up to the third step").toEqual([0, 0, 0, 7]);
    expect((await listOf("t")).at(-1)).toBe("assistant: Done.");
  });

  test("goes on from a thread that ends with tool results: the exchange stays in one piece, whatever is injected or cut", async () => {
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

  test("a reducer shortens what the model sees, and nothing else", async () => {
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

/** The id of the approval that a response asks for. */
function approvalIn(messages: readonly ChatMessage[]): string {
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) if (part.type === "tool-approval-request") return part.approvalId;
  }
  throw new Error("no approval was asked for");
}

describe("run", () => {
  test("returns the text of the last step, the response's messages, why it ended and what it cost", async () => {
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

  test("goes on from a thread that ends with tool results, without new input", async () => {
    const model = scripted(weatherCall("Ghent"), { error: new Error("out") }, "21 degrees.");
    const agent = new ChatAgent({ model, tools: weatherTools().tools, persist: "eachStep" });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await failureOf(agent.run("How warm?", { thread }));
    await agent.run([], { thread });
    expect(await listOf("t")).toEqual([
      "user: How warm?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
  });

  test("a tool that needs approval waits over a restart, and its exchange reaches the model in one piece", async () => {
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

  test("a save whose reply is lost is retried under one operation id and never doubles the turn", async () => {
    const driver = new WatchedDriver();
    stores = createStores(driver);
    const agent = new ChatAgent({ model: scripted("Hello.", "Bye.") });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    driver.repliesToLose = 2;
    await agent.run("Hi", { thread });
    await agent.run("Bye", { thread });
    const ids = driver.commits.map((commit) => commit.operationId);
    expect(ids).toEqual([ids[0], ids[0], ids[0], expect.any(String)]);
    expect(ids[3]).not.toBe(ids[0]);
    expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello.", "user: Bye", "assistant: Bye."]);
  });
});

describe("runStream", () => {
  test("gives the parts of the AI SDK's full stream", async () => {
    const agent = new ChatAgent({
      model: scripted(weatherCall("Ghent"), "It is warm."),
      tools: weatherTools().tools,
    });
    const types = (await partsOf(agent.runStream("Hi"))).map((part) => part.type);
    expect(types).toEqual([
      "start",
      "start-step",
      "tool-call",
      "tool-result",
      "finish-step",
      "start-step",
      "text-start",
      "text-delta",
      "text-delta",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
  });

  test("whoever sees the last part knows that the turn is stored, also when he stops there", async () => {
    const agent = new ChatAgent({ model: scripted("Hello there.") });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    for await (const part of agent.runStream("Hi", { thread })) {
      if (part.type !== "finish") expect(await listOf("t")).toEqual([]);
      else break;
    }
    expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello there."]);
  });

  test("a reader that stops early has cancelled the run: the model is stopped, providers hear ABORTED, nothing is stored", async () => {
    const model = scripted("Hello there, a long answer.", "Again.");
    const heard: unknown[] = [];
    const agent = new ChatAgent({
      model,
      contextProviders: [{ invoked: async ({ error, response }) => void heard.push(error, response) }],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    for await (const part of agent.runStream("Hi", { thread })) if (part.type === "text-delta") break;
    expect(await listOf("t")).toEqual([]);
    expect(StoreError.is(heard[0], "ABORTED")).toBe(true);
    expect(heard[1]).toBeUndefined();
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
    await agent.run("Hi again", { thread });
    expect(await listOf("t")).toEqual(["user: Hi again", "assistant: Again."]);
  });

  test("begins with the first part that is asked for", async () => {
    const model = scripted("x");
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread();
    agent.runStream("Hi", { thread });
    await agent.run("Hi", { thread });
    expect(model.doStreamCalls).toHaveLength(0);
  });
});
