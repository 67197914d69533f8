import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentThread, ChatAgent, openaiResponses } from "../src/index.ts";
import { asked, failureOf, partsOf, scripted } from "./models.ts";

const response = (id: string, text = "Hello.") => ({ text, metadata: { openai: { responseId: id } } });
const optionsOf = (model: ReturnType<typeof scripted>) =>
  [...model.doGenerateCalls, ...model.doStreamCalls].map((call) => call.providerOptions);

describe("a thread stored by the provider", () => {
  test("gets its id from the first run, sends it with the next, and takes the new one", async () => {
    const model = scripted(response("resp_1"), response("resp_2"), response("resp_3"));
    const agent = new ChatAgent({ model, serviceThread: openaiResponses });
    const thread = agent.getNewThread();
    expect(thread.isInitialized).toBe(false);
    await agent.run("one", { thread });
    expect(thread.serviceThreadId).toBe("resp_1");
    await agent.run("two", { thread });
    await partsOf(agent.runStream("three", { thread }));
    expect(thread.serviceThreadId).toBe("resp_3");
    expect(optionsOf(model)).toEqual([
      undefined,
      { openai: { previousResponseId: "resp_1" } },
      { openai: { previousResponseId: "resp_2" } },
    ]);
    expect(asked(model), "only the new input is sent").toEqual(["user: three"]);
    expect(thread.messageStore, "nothing is stored locally").toBeUndefined();
  });

  test.each(["run", "runStream"] as const)("a %s without the expected id fails", async (way) => {
    const agent = new ChatAgent({ model: scripted("Hello."), serviceThread: openaiResponses });
    const thread = agent.getNewThread({ serviceThreadId: "resp_1" });
    const running = way === "run" ? agent.run("Hi", { thread }) : partsOf(agent.runStream("Hi", { thread }));
    expect(await failureOf(running)).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("serviceThread.receive"),
    });
    expect(thread.serviceThreadId).toBe("resp_1");
  });

  test("fails with a clear error in an agent that cannot continue it", async () => {
    const model = scripted("never");
    const thread = new AgentThread({ serviceThreadId: "resp_1" });
    expect(await failureOf(new ChatAgent({ model }).run("Hi", { thread }))).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining("give the agent serviceThread"),
    });
    expect(model.doGenerateCalls).toHaveLength(0);
  });

  test("keeps its store if it has one", async () => {
    const model = scripted(response("resp_1"));
    const agent = new ChatAgent({ model, serviceThread: openaiResponses });
    const messageStore = createMemoryStores().open("t");
    const thread = agent.getNewThread({ messageStore });
    await agent.run("Hi", { thread });
    expect(thread.serviceThreadId).toBeUndefined();
    expect(await messageStore.listMessages()).toHaveLength(2);
  });

  test("works with any provider", async () => {
    const model = scripted({ text: "x", metadata: { mine: { session: "s2" } } });
    const agent = new ChatAgent({
      model,
      serviceThread: {
        send: (id) => ({ mine: { session: id } }),
        receive: (result) => result.providerMetadata?.mine?.session as string,
      },
    });
    const thread = agent.getNewThread({ serviceThreadId: "s1" });
    await agent.run("Hi", { thread });
    expect(optionsOf(model)).toEqual([{ mine: { session: "s1" } }]);
    expect(thread.serviceThreadId).toBe("s2");
  });
});
