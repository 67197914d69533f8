import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { asked, failureOf, lines, scripted } from "./models.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

describe.each(Object.entries(ways))("%s with the id of a thread", (_name, runIt) => {
  test("continues that thread of the agent's stores, in any process", async () => {
    const model = scripted("Hello, Alice.", "You are Alice.");
    const closed: string[] = [];
    const make = () =>
      new ChatAgent({
        model,
        stores,
        contextProviders: () => [{ close: async () => void closed.push("closed") }],
      });
    await runIt(make(), "I am Alice.", { thread: "chat-1" });
    await runIt(make(), "Who am I?", { thread: "chat-1" });
    expect(asked(model)).toEqual(["user: I am Alice.", "assistant: Hello, Alice.", "user: Who am I?"]);
    expect(await listOf("chat-1")).toHaveLength(4);
    expect(closed, "providers of the thread are closed with the run").toHaveLength(2);
  });

  test("is rejected if it names no thread", async () => {
    const of = async (agent: ChatAgent, thread: string) =>
      await failureOf(async () => await runIt(agent, "Hi", { thread }));
    const invalid = { code: "INVALID_ARGUMENT", message: expect.stringContaining("thread") };
    expect(await of(new ChatAgent({ model: scripted() }), "chat-1")).toMatchObject(invalid);
    expect(
      await of(new ChatAgent({ model: scripted(), stores: () => stores.open() }), "chat-1"),
    ).toMatchObject(invalid);
    expect(await of(new ChatAgent({ model: scripted(), stores }), "")).toMatchObject(invalid);
  });
});
