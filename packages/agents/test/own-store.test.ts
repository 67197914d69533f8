import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { ChatAgent, type ThreadStore } from "../src/index.ts";
import { asked, failureOf, lines, scripted } from "./models.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const json = (value: unknown) => JSON.parse(JSON.stringify(value));

describe("a custom store with only the four methods", () => {
  class ListStore implements ThreadStore {
    messages: ChatMessage[] = [];
    broken: Error | undefined;
    async addMessages(messages: readonly ChatMessage[]) {
      if (this.broken) throw this.broken;
      this.messages.push(...messages);
    }
    async listMessages() {
      if (this.broken) throw this.broken;
      return [...this.messages];
    }
    async serialize() {
      return { list: this.messages };
    }
    async updateFromState(state: unknown) {
      this.messages = [...(state as { list: ChatMessage[] }).list];
    }
  }

  test("works: runs, state, restore", async () => {
    const model = scripted("Hello, Alice.", "Alice.");
    const agent = new ChatAgent({
      model,
      stores: async (saved) => {
        const store = new ListStore();
        if (saved) await store.updateFromState(saved);
        return store;
      },
    });
    const thread = agent.getNewThread();
    await agent.run("I am Alice.", { thread });
    const resumed = await agent.deserializeThread(json(await thread.serialize()));
    await agent.run("Who am I?", { thread: resumed });
    expect(asked(model)).toEqual(["user: I am Alice.", "assistant: Hello, Alice.", "user: Who am I?"]);
  });

  test("without revisions a write by another process is not detected", async () => {
    const store = new ListStore();
    const model = scripted(() => {
      store.messages.push(user("in between"));
      return "answer";
    });
    const agent = new ChatAgent({ model });
    await agent.run("one", { thread: agent.getNewThread({ messageStore: store }) });
    expect(lines(store.messages)).toEqual(["user: one", "user: in between", "assistant: answer"]);
  });

  test("a function that returns no store is rejected, for a new thread and for a restored one", async () => {
    const agent = new ChatAgent({ model: scripted("never"), stores: () => undefined as never });
    const expected = {
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("stores: result of the function must be an object"),
    };
    expect(await failureOf(agent.run("Hi", { thread: agent.getNewThread() }))).toMatchObject(expected);
    const state = { type: "scrollback.thread", version: 1, storeState: { list: [] } };
    expect(await failureOf(agent.deserializeThread(state))).toMatchObject(expected);
  });

  test("its errors are wrapped as the cause", async () => {
    const store = new ListStore();
    store.broken = new Error("disk on fire");
    const agent = new ChatAgent({ model: scripted("x") });
    const thread = agent.getNewThread({ messageStore: store });
    const expected = { code: "UNAVAILABLE", cause: store.broken };
    expect(await failureOf(agent.run("one", { thread }))).toMatchObject(expected);
    expect(await failureOf(thread.onNewMessages(user("a")))).toMatchObject(expected);
  });
});
