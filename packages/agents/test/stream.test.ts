import { createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { lines, partsOf, scripted, weatherCall, weatherTools } from "./models.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

describe("runStream", () => {
  test("yields the parts of the AI SDK's full stream", async () => {
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

  test("the turn is stored before the last part is yielded, also if the reader stops there", async () => {
    const agent = new ChatAgent({ model: scripted("Hello there.") });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    for await (const part of agent.runStream("Hi", { thread })) {
      if (part.type !== "finish") expect(await listOf("t")).toEqual(["user: Hi"]);
      else break;
    }
    expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello there."]);
  });

  test("a reader that stops early cancels the run: the model is stopped, providers get ABORTED, no answer is stored", async () => {
    const model = scripted("Hello there, a long answer.", "Again.");
    const outcomes: unknown[] = [];
    const agent = new ChatAgent({
      model,
      contextProviders: [{ invoked: async ({ error, response }) => void outcomes.push(error, response) }],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    for await (const part of agent.runStream("Hi", { thread })) if (part.type === "text-delta") break;
    expect(await listOf("t")).toEqual(["user: Hi"]);
    expect(StoreError.is(outcomes[0], "ABORTED")).toBe(true);
    expect(outcomes[1]).toBeUndefined();
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
    await agent.run("Hi again", { thread });
    expect(await listOf("t")).toEqual(["user: Hi", "user: Hi again", "assistant: Again."]);
  });

  test("starts when the first part is requested", async () => {
    const model = scripted("x");
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread();
    agent.runStream("Hi", { thread });
    await agent.run("Hi", { thread });
    expect(model.doStreamCalls).toHaveLength(0);
  });
});
