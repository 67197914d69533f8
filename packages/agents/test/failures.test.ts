import { createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { approvalIn, failureOf, lines, scripted, weatherCall, weatherTools } from "./models.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

describe.each(Object.entries(ways))("%s", (_name, runIt) => {
  test("an answer that ends with an error of the model fails the run", async () => {
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
    expect(await listOf("t")).toEqual(["user: Hello"]);
  });

  test("a cancelled run rejects with ABORTED at once, also if the model ignores its signal, and stores no answer", async () => {
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
    expect(await listOf("t")).toEqual(["user: Hello"]);
    expect(
      StoreError.is(await failureOf(runIt(agent, "x", { signal: AbortSignal.abort() })), "ABORTED"),
    ).toBe(true);
  });

  test("a tool that continues after its run was cancelled causes no write", async () => {
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
    expect(await listOf("t")).toEqual(["user: go"]);
  });

  test("an approved tool that continues after its run was cancelled causes no write", async () => {
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
    expect(await listOf("t")).toEqual([...before, "tool: [tool-approval-response]"]);
  });

  test("an approval that is given twice is refused, and the tool runs once", async () => {
    const weather = weatherTools();
    const execute = vi.fn(async () => "warm");
    const agent = new ChatAgent({
      model: scripted(weatherCall("Ghent"), "Warm.", "Warm again."),
      tools: { weather: { ...weather.tools.weather, needsApproval: true, execute } as never },
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const { messages } = await agent.run("How warm?", { thread });
    const decide = (approved: boolean) => ({
      role: "tool" as const,
      content: [{ type: "tool-approval-response" as const, approvalId: approvalIn(messages), approved }],
    });
    await runIt(agent, decide(true), { thread });
    const before = await listOf("t");
    for (const approved of [true, false])
      expect(await failureOf(runIt(agent, decide(approved), { thread }))).toMatchObject({ code: "CONFLICT" });
    expect(execute).toHaveBeenCalledTimes(1);
    expect(await listOf("t")).toEqual(before);
  });

  test("a run that is cancelled with its last step is cancelled, and the step stays", async () => {
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
    expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello."]);
  });
});
