import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChatAgent, openaiResponses } from "../src/index.ts";
import { partsOf } from "./models.ts";
import { ResponsesServer } from "./responses-server.ts";

let server: ResponsesServer;
let agent: ChatAgent;
beforeEach(async () => {
  server = await ResponsesServer.start();
  const openai = createOpenAI({ apiKey: "sk-test", baseURL: server.url });
  agent = new ChatAgent({ model: openai("gpt-5"), serviceThread: openaiResponses });
});
afterEach(() => server[Symbol.asyncDispose]());

test("a thread stored by OpenAI continues by its id, streaming or not, and after a restart", async () => {
  const thread = agent.getNewThread();
  expect((await agent.run("one", { thread })).text).toBe("I know 1 inputs.");
  const parts = await partsOf(agent.runStream("two", { thread }));
  expect(parts.find((part) => part.type === "text-delta")).toMatchObject({ text: "I know 2 inputs." });
  const resumed = await agent.deserializeThread(JSON.parse(JSON.stringify(await thread.serialize())));
  expect((await agent.run("three", { thread: resumed })).text).toBe("I know 3 inputs.");
  expect(resumed.serviceThreadId).toBe("resp_3");
  expect(
    server.requests.map(({ previous_response_id, input }) => [previous_response_id, input.length]),
  ).toEqual([
    [undefined, 1],
    ["resp_1", 1],
    ["resp_2", 1],
  ]);
});
