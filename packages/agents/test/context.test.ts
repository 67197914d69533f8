import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { jsonSchema, type ToolSet, tool } from "ai";
import { describe, expect, test, vi } from "vitest";
import { ChatAgent, type ContextProvider, type Invocation, type InvocationContext } from "../src/index.ts";
import { failureOf, lines, scripted, weatherCall, weatherTools } from "./models.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });

function toolNamed(name: string, output = name): ToolSet {
  return { [name]: tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => output }) };
}

describe("invoking and invoked", () => {
  test("providers are called one after another in their order, before and after the run", async () => {
    const log: string[] = [];
    const provider = (name: string): ContextProvider => ({
      invoking: async (messages) => {
        await new Promise((resolve) => setTimeout(resolve, name === "A" ? 10 : 0));
        log.push(`${name} asked ${lines(messages)}`);
      },
      invoked: async ({ request, response, error }) => {
        log.push(`${name} told ${lines(request)}, ${lines(response ?? [])}, ${error}`);
      },
    });
    const agent = new ChatAgent({
      model: scripted("Hello."),
      contextProviders: [provider("A"), provider("B")],
    });
    await agent.run("Hi");
    expect(log).toEqual([
      "A asked user: Hi",
      "B asked user: Hi",
      "A told user: Hi, assistant: Hello., undefined",
      "B told user: Hi, assistant: Hello., undefined",
    ]);
  });

  test("a provider receives the run's messages as messages, and those of other providers only in injected", async () => {
    const seen: unknown[] = [];
    const agent = new ChatAgent({
      model: scripted(weatherCall("Ghent"), "Warm."),
      tools: weatherTools().tools,
      contextProviders: [
        { invoking: async () => ({ messages: [user("injected")] }) },
        {
          invoking: async (messages, { injected }) => void seen.push(lines(messages), lines(injected)),
          invoked: async ({ request, response = [] }, { injected }) =>
            void seen.push(lines(request), lines(response), lines(injected)),
        },
      ],
    });
    await agent.run("Hi");
    expect(seen).toEqual([
      ["user: Hi"],
      ["user: injected"],
      ["user: Hi"],
      ["assistant: [tool-call]", "tool: [tool-result]", "assistant: Warm."],
      ["user: injected"],
    ]);
  });

  test("the context has the agent, the thread and the signal of the run", async () => {
    const contexts: InvocationContext[] = [];
    const provider: ContextProvider = { invoking: async (_, context) => void contexts.push(context) };
    const agent = new ChatAgent({
      model: scripted(() => "x"),
      id: "a1",
      name: "Ann",
      contextProviders: [provider],
    });
    const { signal } = new AbortController();
    const messageStore = createMemoryStores().open("t");
    await agent.run("one", { thread: agent.getNewThread({ messageStore }), signal });
    await agent.run("two");
    expect(contexts).toMatchObject([
      { agentId: "a1", agentName: "Ann", threadId: "t", signal },
      { agentId: "a1" },
    ]);
    expect(contexts[1]).not.toHaveProperty("threadId");
  });

  test("tools of a provider run beside the agent's", async () => {
    const model = scripted({ calls: [{ id: "1", name: "clock", input: {} }] }, "It is noon.");
    const agent = new ChatAgent({
      model,
      tools: weatherTools().tools,
      contextProviders: [{ invoking: async () => ({ tools: toolNamed("clock", "noon") }) }],
    });
    const { messages } = await agent.run("What time is it?");
    expect(messages[1]?.content).toMatchObject([{ output: { type: "text", value: "noon" } }]);
    expect(model.doGenerateCalls[0]?.tools?.map(({ name }) => name)).toEqual(["weather", "clock"]);
  });

  test.each([
    ["the agent's", weatherTools().tools, [toolNamed("weather")]],
    ["another provider's", {}, [toolNamed("weather"), toolNamed("weather")]],
  ])("a tool whose name is %s fails the run", async (_whose, tools, provided) => {
    const model = scripted("never");
    const agent = new ChatAgent({
      model,
      tools,
      contextProviders: provided.map((one) => ({ invoking: async () => ({ tools: one }) })),
    });
    expect(await failureOf(agent.run("Hi"))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(
        `contextProviders[${provided.length - 1}].invoking: tools.weather has`,
      ),
    });
    expect(model.doGenerateCalls).toHaveLength(0);
  });

  test("a provider that throws in invoking fails the run; invoked of it and of earlier providers gets the error", async () => {
    const failure = new Error("no context");
    const invocations: unknown[] = [];
    const listen = (name: string): ContextProvider => ({
      invoked: async ({ error, response }) => void invocations.push(name, error, response),
    });
    const model = scripted("never");
    const stores = createMemoryStores();
    const agent = new ChatAgent({
      model,
      contextProviders: [
        listen("A"),
        {
          ...listen("B"),
          invoking: async () => {
            throw failure;
          },
        },
        listen("C"),
      ],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(agent.run("Hi", { thread }))).toBe(failure);
    expect(invocations).toEqual(["A", failure, undefined, "B", failure, undefined]);
    expect(model.doGenerateCalls).toHaveLength(0);
    expect(await stores.open("t").listMessages()).toEqual([{ role: "user", content: "Hi" }]);
  });

  test("invoked is also called after a failure of the model, with the error and no response", async () => {
    const failure = new Error("out");
    const invocations: Invocation[] = [];
    const agent = new ChatAgent({
      model: scripted({ error: failure }),
      contextProviders: [{ invoked: async (invocation) => void invocations.push(invocation) }],
    });
    await failureOf(agent.run("Hi"));
    expect(invocations).toStrictEqual([{ request: [user("Hi")], error: failure }]);
  });

  test("an error in invoked is reported, undoes nothing, and the other providers are still called", async () => {
    const failure = new Error("no memory");
    const reported: unknown[] = [];
    let warnings = 0;
    const stores = createMemoryStores();
    const agent = new ChatAgent({
      model: scripted("Hello."),
      onError: (error, context) => {
        reported.push(error, context);
        throw new Error("a listener's own failure");
      },
      contextProviders: [
        {
          invoked: async () => {
            throw failure;
          },
        },
        { invoked: async () => void warnings++ },
      ],
    });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect((await agent.run("Hi", { thread })).text).toBe("Hello.");
    expect(warned.mock.calls).toMatchObject([[expect.stringContaining("onError: a listener's"), {}]]);
    warned.mockRestore();
    expect(reported).toEqual([failure, { source: "contextProviders[0].invoked" }]);
    expect(warnings).toBe(1);
    expect(lines(await stores.open("t").listMessages())).toEqual(["user: Hi", "assistant: Hello."]);
  });

  test("errors are reported as process warnings by default", async () => {
    const agent = new ChatAgent({
      model: scripted("Hello."),
      contextProviders: [{ invoking: async (_, context) => context.report(new Error("half a memory")) }],
    });
    const warning = new Promise<Error>((resolve) => process.once("warning", resolve));
    await agent.run("Hi");
    expect(await warning).toMatchObject({
      name: "ScrollbackWarning",
      message: "contextProviders[0].invoking: half a memory",
    });
  });

  test.each([
    [5, "result must be an object"],
    [{ instructions: 5 }, "instructions must be a string"],
    [{ messages: "text" }, "messages must be an array"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages[0]: role must be"],
  ])("an invalid result of a provider fails the run: %o", async (returned, problem) => {
    const agent = new ChatAgent({
      model: scripted("never"),
      contextProviders: [{ invoking: async () => returned as never }],
    });
    expect(await failureOf(agent.run("Hi"))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/^contextProviders\[0\]\.invoking: /),
    });
    expect(String(await failureOf(agent.run("Hi")))).toContain(problem);
  });
});
