import { type ChatMessage, createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { failureOf, lines, scripted, weatherTools } from "./models.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());
const persistModes = ["onSuccess", "eachStep"] as const;
const out = new Error("the model is out");

describe("persistPartial", () => {
  /** The last prompt of the model without streaming. */
  const generated = (model: ReturnType<typeof scripted>) =>
    lines((model.doGenerateCalls.at(-1)?.prompt ?? []) as ChatMessage[]);
  const partial = (text: string) => ({
    role: "assistant",
    content: [{ type: "text", text }],
    metadata: { partial: true },
  });

  /** Reads a stream up to its nth piece of text. */
  async function stopAt(agent: ChatAgent, deltas: number, options: Parameters<ChatAgent["runStream"]>[1]) {
    let read = 0;
    for await (const part of agent.runStream("Tell me", options)) {
      if (part.type === "text-delta" && ++read === deltas) break;
    }
  }

  test.each(persistModes)(
    'keeps the text that was received of a stopped step, marked (persist "%s")',
    async (persist) => {
      const model = scripted(
        { calls: [{ id: "c", name: "weather", input: { city: "Ghent" } }], text: "Let me see. " },
        "It is warm today.",
      );
      const agent = new ChatAgent({ model, tools: weatherTools().tools, persist, persistPartial: true });
      const thread = agent.getNewThread({ messageStore: stores.open("t") });
      // "Let ", "me ", "see. ", then "It ", "is ".
      await stopAt(agent, 5, { thread });
      expect(await listOf("t")).toEqual([
        "user: Tell me",
        "assistant: Let me see.  [tool-call]",
        "tool: [tool-result]",
        "assistant: It is ",
      ]);
      expect((await stores.open("t").listMessages()).at(-1)).toStrictEqual(partial("It is "));
    },
  );

  test("keeps the text of a failing stream", async () => {
    const model = scripted("x");
    model.doStream = async () => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "Once upon " });
          controller.enqueue({ type: "error", error: out });
          controller.close();
        },
      }),
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(ways.runStream(agent, "Tell me", { thread, persistPartial: true }))).toBe(out);
    expect(await listOf("t")).toEqual(["user: Tell me", "assistant: Once upon "]);
  });

  test("stores no such message without the option or without text", async () => {
    const agent = new ChatAgent({ model: scripted("It is warm today.", { error: out }) });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await stopAt(agent, 2, { thread });
    expect(await listOf("t")).toEqual(["user: Tell me"]);
    await failureOf(ways.runStream(agent, "Tell me", { thread, persistPartial: true }));
    expect(await listOf("t")).toEqual(["user: Tell me"]);
  });

  test("sends the partial text to the model after a further message; a retried run answers again", async () => {
    const model = scripted("It is warm today.", "It is cold today.", "Because of the wind.", "Really.");
    const agent = new ChatAgent({ model, persistPartial: true });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await stopAt(agent, 2, { thread });
    await agent.run("Tell me", { thread });
    expect(generated(model)).toEqual(["user: Tell me"]);
    expect(await listOf("t")).toEqual(["user: Tell me", "assistant: It is ", "assistant: It is cold today."]);
    await stopAt(agent, 3, { thread });
    await agent.run("Go on", { thread });
    expect(generated(model)).toEqual([
      "user: Tell me",
      "assistant: It is cold today.",
      "user: Tell me",
      "assistant: Because of the ",
      "user: Go on",
    ]);
  });

  test("keeps the text of an answer that the model ended with an error", async () => {
    const model = scripted("partial");
    const generate = model.doGenerate;
    model.doGenerate = async (call) => ({
      ...(await generate(call)),
      finishReason: { unified: "error", raw: "boom" },
    });
    const agent = new ChatAgent({ model, persistPartial: true });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(agent.run("Tell me", { thread }))).toMatchObject({ code: "UNAVAILABLE" });
    expect((await stores.open("t").listMessages()).at(-1)).toStrictEqual(partial("partial"));
  });
});
