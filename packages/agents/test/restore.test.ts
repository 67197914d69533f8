import { createMemoryStores, StoreError, type StoreState } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { AgentThread, ChatAgent, openaiResponses, type ThreadStore } from "../src/index.ts";
import { asked, failureOf, scripted } from "./models.ts";
import { ways } from "./ways.ts";

const json = (value: unknown) => JSON.parse(JSON.stringify(value));

describe("serialize", () => {
  test("returns only type and version for an unused thread", async () => {
    expect(await new ChatAgent({ model: scripted() }).getNewThread().serialize()).toStrictEqual({
      type: "scrollback.thread",
      version: 1,
    });
  });

  test("a service thread keeps its id", async () => {
    const agent = new ChatAgent({ model: scripted(), serviceThread: openaiResponses });
    const state = json(await agent.getNewThread({ serviceThreadId: "resp_1" }).serialize());
    expect(state).toStrictEqual({ type: "scrollback.thread", version: 1, serviceThreadId: "resp_1" });
    expect((await agent.deserializeThread(state)).serviceThreadId).toBe("resp_1");
  });

  test("the store's own state is used unchanged, for any store", async () => {
    const storeState = { mine: ["anything"], nested: { a: null } };
    const messageStore: ThreadStore = {
      addMessages: async () => {},
      listMessages: async () => [],
      serialize: async () => storeState,
      updateFromState: async () => {},
    };
    expect(await new AgentThread({ messageStore }).serialize()).toStrictEqual({
      type: "scrollback.thread",
      version: 1,
      storeState,
    });
  });

  test("includes the messages of a thread in memory, which another process restores once", async () => {
    const agent = new ChatAgent({ model: scripted("Hello, Alice.") });
    const thread = agent.getNewThread();
    await agent.run("I am Alice.", { thread });
    const state = json(await thread.serialize());
    const model = scripted("Alice.");
    const other = new ChatAgent({ model });
    const resumed = await other.deserializeThread(state);
    expect(json(await resumed.serialize())).toEqual(state);
    await other.run("Who am I?", { thread: resumed });
    expect(asked(model)).toEqual(["user: I am Alice.", "assistant: Hello, Alice.", "user: Who am I?"]);
    expect(await thread.messageStore?.listMessages(), "a state is a copy").toHaveLength(2);
  });
});

describe("deserializeThread", () => {
  /** Simulates a persistent store: it is independent of the factories, and its state contains no messages. */
  function persistentStores() {
    const driver = new MemoryDriver();
    const proxied = Object.assign(Object.create(driver), {
      capabilities: { ...driver.capabilities, backend: "persistent" },
      commit: driver.commit.bind(driver),
      read: driver.read.bind(driver),
      close: async () => {},
      exportThread: undefined,
      importThread: undefined,
    });
    return createStores(proxied);
  }

  test("a restored thread reads the same history, and nothing is added again", async () => {
    const stores = persistentStores();
    const agent = new ChatAgent({ model: scripted("Hello.", "Again."), stores });
    const thread = agent.getNewThread();
    await agent.run("Hi", { thread });
    const id = thread.messageStore?.threadId ?? "";
    const before = await stores.open(id).read();
    let state = json(await thread.serialize());
    for (let round = 0; round < 3; round++) {
      const resumed = await agent.deserializeThread(state);
      expect(await resumed.messageStore?.listMessages()).toEqual(
        before.entries.map((entry) => entry.message),
      );
      state = json(await resumed.serialize());
    }
    expect(await stores.open(id).read()).toEqual(before);
  });

  test("the state's size does not grow with the history", async () => {
    const agent = new ChatAgent({ model: scripted(() => "x".repeat(10_000)), stores: persistentStores() });
    const thread = agent.getNewThread();
    await agent.run("Hi", { thread });
    const size = JSON.stringify(await thread.serialize()).length;
    for (let run = 0; run < 5; run++) await agent.run("y".repeat(10_000), { thread });
    expect(JSON.stringify(await thread.serialize())).toHaveLength(size);
    expect(size).toBeLessThan(300);
  });

  test("a function that creates stores receives the saved state, and only it applies the state", async () => {
    const stores = persistentStores();
    const given: (StoreState | undefined)[] = [];
    const agent = new ChatAgent({
      model: scripted("Hello."),
      stores: (saved) => {
        given.push(saved);
        return saved ? stores.restore(saved) : stores.open("t");
      },
    });
    const thread = agent.getNewThread();
    await agent.run("Hi", { thread });
    const state = json(await thread.serialize());
    const resumed = await agent.deserializeThread(state);
    expect(given).toEqual([undefined, state.storeState]);
    expect(await resumed.messageStore?.listMessages()).toHaveLength(2);
  });

  test("a given store applies the state by its updateFromState", async () => {
    const stores = persistentStores();
    const agent = new ChatAgent({ model: scripted("Hello.") });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await agent.run("Hi", { thread });
    const messageStore = stores.open("elsewhere");
    const resumed = await agent.deserializeThread(json(await thread.serialize()), { messageStore });
    expect(resumed.messageStore).toBe(messageStore);
    expect(messageStore.threadId).toBe("t");
  });

  test.each([
    ["nothing", undefined, "must be an object"],
    ["null", null, "must be an object"],
    ["a list", [], "must be an object"],
    ["a text", "{}", "must be an object"],
    ["another type", { type: "scrollback.store", version: 1 }, "type must be"],
    ["another version", { type: "scrollback.thread", version: 2 }, "version must be 1"],
    [
      "an invalid id",
      { type: "scrollback.thread", version: 1, serviceThreadId: 5 },
      "serviceThreadId must be",
    ],
    ["no store state", { type: "scrollback.thread", version: 1, storeState: null }, "storeState must be"],
    [
      "a store state of something else",
      { type: "scrollback.thread", version: 1, storeState: { type: "other" } },
      "storeState: state: type must be",
    ],
    [
      "a store state of another backend",
      {
        type: "scrollback.thread",
        version: 1,
        storeState: { type: "scrollback.store", version: 1, backend: "redis", threadId: "t" },
      },
      'backend must be "memory"',
    ],
    ["invalid context states", { type: "scrollback.thread", version: 1, contextStates: {} }, "contextStates"],
    [
      "states of others",
      { type: "scrollback.thread", version: 1, contextStates: [1] },
      "has 1 states, but 0",
    ],
  ])("%s fails with INVALID_STATE", async (_what, state, problem) => {
    const error = await failureOf(new ChatAgent({ model: scripted() }).deserializeThread(state));
    expect(error).toMatchObject({ code: "INVALID_STATE", message: expect.stringContaining(problem) });
  });

  test.each([
    ["null", "CORRUPT", "message 1 of thread"],
    ["7", "CORRUPT", "message 1 of thread"],
    ['{"role":"user"}', "INVALID_STATE", "message 0"],
  ])("a text that is not a message (%s) fails with %s", async (text, code, message) => {
    const agent = new ChatAgent({ model: scripted("Hello.", "Never asked.") });
    const thread = agent.getNewThread();
    await agent.run("Hi", { thread });
    const state = json(await thread.serialize());
    state.storeState.thread.messages[0].text = text;
    const resumed = await agent.deserializeThread(state);
    for (const runIt of Object.values(ways)) {
      expect(await failureOf(runIt(agent, "Again", { thread: resumed }))).toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
    }
  });

  test("an error of a store is wrapped as the cause, and its text is not shown", async () => {
    const failure = new Error("connect redis://:hunter2@host");
    const agent = new ChatAgent({
      model: scripted(),
      stores: () => {
        throw failure;
      },
    });
    const state = { type: "scrollback.thread", version: 1, storeState: { any: 1 } };
    const error = await failureOf(agent.deserializeThread(state));
    expect(error).toMatchObject({ code: "UNAVAILABLE", cause: failure });
    expect((error as Error).message).not.toContain("hunter2");
    const closed = createMemoryStores();
    await closed.close();
    const other = new ChatAgent({ model: scripted(), stores: closed });
    const second = await failureOf(other.deserializeThread(state));
    expect(second).toMatchObject({ code: "CLOSED", message: expect.stringContaining("deserializeThread") });
    expect(StoreError.is((second as Error).cause, "CLOSED")).toBe(true);
  });
});
