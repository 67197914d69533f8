import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AgentGroupChat } from "../src/group-chat/index.ts";
import { ChatAgent, openaiResponses } from "../src/index.ts";
import { counter, pair } from "./golden/cast.ts";
import { asked, lines, scripted } from "./models.ts";

const read = (file: string) => JSON.parse(readFileSync(new URL(`golden/${file}`, import.meta.url), "utf8"));

test("a thread's state of format 1 restores whole, and the thread goes on", async () => {
  const state = read("thread-1.json").thread;
  const model = scripted("As I said.");
  const provider = counter();
  const agent = new ChatAgent({ model, contextProviders: () => [provider] });
  const thread = await agent.deserializeThread(state);
  expect(JSON.parse(JSON.stringify(await thread.serialize()))).toEqual(state);
  expect(provider.asked).toBe(2);
  await agent.run("Go on", { thread });
  expect(asked(model)).toEqual([
    "user: How warm is Ghent?",
    "assistant: [tool-call]",
    "tool: [tool-result]",
    "assistant: It is 21 degrees.",
    "user: And Bruges?",
    "assistant: Bruges ",
    "user: Go on",
  ]);
});

test("a service thread's state of format 1 keeps its id", async () => {
  const agent = new ChatAgent({ model: scripted(), serviceThread: openaiResponses });
  const thread = await agent.deserializeThread(read("thread-1.json").service);
  expect(thread.serviceThreadId).toBe("resp_1");
});

test("a group chat's state of format 1 restores whole, and the chat goes on with the right speaker", async () => {
  const state = read("group-chat-1.json").chat;
  const chat = new AgentGroupChat({ agents: pair("A 2", "B 2"), maximumIterations: 1 });
  await chat.restore(state);
  expect(JSON.parse(JSON.stringify(await chat.serialize()))).toEqual(state);
  const messages: string[] = [];
  for await (const message of chat.invoke()) messages.push(...lines([message]));
  expect(messages).toEqual(["assistant: A 2"]);
  const history = lines(await chat.getMessages());
  expect(history.sort()).toEqual(["assistant: A 1", "assistant: A 2", "assistant: B 1", "user: Hi"]);
});
