import {
  type ChatMessage,
  createMemoryStores,
  createStores,
  MemoryDriver,
  StoreError,
  type StoreState,
} from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import {
  AgentThread,
  ChatAgent,
  type ContextProvider,
  openaiResponses,
  type ThreadStore,
} from "../src/index.ts";
import { asked, failureOf, lines, scripted } from "./models.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const json = (value: unknown) => JSON.parse(JSON.stringify(value));
const place = { code: "INVALID_STATE", message: expect.stringContaining("does not move") };

describe("a thread's history is in one place", () => {
  const store = createMemoryStores().open("t");

  test("both places at once are refused, from the constructor, an agent and a saved state", async () => {
    const both = { serviceThreadId: "s", messageStore: store };
    expect(await failureOf(() => new AgentThread(both))).toMatchObject(place);
    const agent = new ChatAgent({ model: scripted() });
    expect(await failureOf(() => agent.getNewThread(both))).toMatchObject(place);
    const state = { type: "scrollback.thread", version: 1, serviceThreadId: "s", storeState: {} };
    expect(await failureOf(agent.deserializeThread(state))).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining("both serviceThreadId and storeState"),
    });
  });

  test("a thread does not switch, and stays as it was", async () => {
    const service = new AgentThread({ serviceThreadId: "s" });
    expect(
      await failureOf(() => {
        service.messageStore = store;
      }),
    ).toMatchObject(place);
    expect([service.serviceThreadId, service.messageStore]).toEqual(["s", undefined]);
    const local = new AgentThread({ messageStore: store });
    expect(
      await failureOf(() => {
        local.serviceThreadId = "s";
      }),
    ).toMatchObject(place);
    expect([local.serviceThreadId, local.messageStore]).toEqual([undefined, store]);
    service.serviceThreadId = "newer";
    expect(service.serviceThreadId).toBe("newer");
  });

  test("null and undefined change nothing", () => {
    const thread = new AgentThread({ serviceThreadId: null, messageStore: undefined });
    expect(thread.isInitialized).toBe(false);
    thread.serviceThreadId = null;
    thread.messageStore = undefined;
    expect(thread.isInitialized).toBe(false);
    thread.messageStore = store;
    for (const nothing of [null, undefined]) {
      thread.messageStore = nothing;
      thread.serviceThreadId = nothing;
      expect(thread.messageStore).toBe(store);
    }
  });

  test("isInitialized when either is set", () => {
    expect(new AgentThread().isInitialized).toBe(false);
    expect(new AgentThread({ serviceThreadId: "s" }).isInitialized).toBe(true);
    expect(new AgentThread({ messageStore: store }).isInitialized).toBe(true);
  });

  test.each([
    [{ serviceThreadId: "" }, "serviceThreadId must be a string that is not empty"],
    [{ messageStore: {} }, "messageStore must have the methods addMessages, listMessages"],
    [{ stores: 1 }, "stores must be a store factory or a function"],
    [{ contextProviders: [1] }, "contextProviders [0] must be an object"],
    [{ store }, 'unknown option "store"'],
  ])("wrong options are refused: %o", async (options, problem) => {
    const error = await failureOf(() => new AgentThread(options as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });

  test("a wrong value is refused by the setters too", async () => {
    const thread = new AgentThread();
    const set = (key: "serviceThreadId" | "messageStore", value: unknown) =>
      failureOf(() => Object.assign(thread, { [key]: value }));
    expect(await set("serviceThreadId", "")).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await set("messageStore", { addMessages() {} })).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(thread.isInitialized).toBe(false);
  });
});

describe("onNewMessages", () => {
  test("adds one message or many to the store", async () => {
    const messageStore = createMemoryStores().open("t");
    const thread = new AgentThread({ messageStore });
    await thread.onNewMessages(user("a"));
    await thread.onNewMessages([user("b"), user("c")]);
    expect(lines(await messageStore.listMessages())).toEqual(["user: a", "user: b", "user: c"]);
  });

  test("does nothing with a service id", async () => {
    const thread = new AgentThread({
      serviceThreadId: "s",
      stores: () => {
        throw new Error("no store is to be made");
      },
    });
    await thread.onNewMessages(user("a"));
    expect(thread.messageStore).toBeUndefined();
  });

  test("makes a store where there is none: from the agent's factory or function, or in memory", async () => {
    const stores = createMemoryStores();
    const model = scripted();
    for (const source of [stores, () => stores.open()]) {
      const thread = new ChatAgent({ model, stores: source }).getNewThread();
      expect(thread.isInitialized).toBe(false);
      await thread.onNewMessages(user("a"));
      const id = thread.messageStore?.threadId ?? "";
      expect(lines(await stores.open(id).listMessages())).toEqual(["user: a"]);
    }
    const thread = new ChatAgent({ model }).getNewThread();
    await thread.onNewMessages(user("a"));
    expect(lines((await thread.messageStore?.listMessages()) ?? [])).toEqual(["user: a"]);
  });

  test("makes one store, however many first messages come at once", async () => {
    let made = 0;
    const stores = createMemoryStores();
    const slow = async () => {
      made += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      return stores.open("t");
    };
    const thread = new AgentThread({ stores: slow });
    await Promise.all([thread.onNewMessages(user("a")), thread.onNewMessages(user("b"))]);
    expect(made).toBe(1);
    expect(await stores.open("t").listMessages()).toHaveLength(2);
  });

  test("what is no message is refused, and nothing is stored or made", async () => {
    const thread = new AgentThread();
    const error = await failureOf(thread.onNewMessages([user("a"), { role: "robot" } as never]));
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("messages[1]: role"),
    });
    expect(thread.isInitialized).toBe(false);
  });

  test("an operation id makes it once only", async () => {
    const thread = new AgentThread();
    for (let time = 0; time < 2; time++) await thread.onNewMessages(user("a"), { operationId: "once" });
    expect(await thread.messageStore?.listMessages()).toHaveLength(1);
  });
});

describe("serialize", () => {
  test("a thread that was never used is its type and version", async () => {
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

  test("the store's own state is used as it is, whatever the store", async () => {
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

  test("in memory it holds the messages and restores whole in another process' agent, once", async () => {
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
  /** Stands for a persistent store: it lives apart from the factories, and its state holds no messages. */
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

  test("a restored thread reads the very same history, and nothing is added again", async () => {
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

  test("a function that makes stores is given the saved state, and alone applies it", async () => {
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

  test("a store that is given takes the state by its updateFromState", async () => {
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
    ["a wrong id", { type: "scrollback.thread", version: 1, serviceThreadId: 5 }, "serviceThreadId must be"],
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
    ["wrong context states", { type: "scrollback.thread", version: 1, contextStates: {} }, "contextStates"],
    [
      "states of others",
      { type: "scrollback.thread", version: 1, contextStates: [1] },
      "has 1 states, but 0",
    ],
  ])("%s is INVALID_STATE", async (_what, state, problem) => {
    const error = await failureOf(new ChatAgent({ model: scripted() }).deserializeThread(state));
    expect(error).toMatchObject({ code: "INVALID_STATE", message: expect.stringContaining(problem) });
  });

  test("a failing store is wrapped with its cause, and nothing of its text is shown", async () => {
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

describe("a custom store of the four methods alone", () => {
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

  test("a second run at once is refused at its start", async () => {
    const agent = new ChatAgent({ model: scripted(() => "x") });
    const thread = agent.getNewThread({ messageStore: new ListStore() });
    const first = agent.run("one", { thread });
    expect(await failureOf(agent.run("two", { thread }))).toMatchObject({ code: "CONFLICT" });
    await first;
  });

  test("without revisions a write from elsewhere is not noticed", async () => {
    const store = new ListStore();
    const model = scripted(() => {
      store.messages.push(user("in between"));
      return "answer";
    });
    const agent = new ChatAgent({ model });
    await agent.run("one", { thread: agent.getNewThread({ messageStore: store }) });
    expect(lines(store.messages)).toEqual(["user: in between", "user: one", "assistant: answer"]);
  });

  test("what it fails with is wrapped with its cause", async () => {
    const store = new ListStore();
    store.broken = new Error("disk on fire");
    const agent = new ChatAgent({ model: scripted("x") });
    const thread = agent.getNewThread({ messageStore: store });
    const expected = { code: "UNAVAILABLE", cause: store.broken };
    expect(await failureOf(agent.run("one", { thread }))).toMatchObject(expected);
    expect(await failureOf(thread.onNewMessages(user("a")))).toMatchObject(expected);
  });
});

test("a thread of one agent may be run by another, with the store and the providers that it has", async () => {
  const told: string[] = [];
  const provider = (name: string): ContextProvider => ({
    threadCreated: (id) => void told.push(`${name} created ${id}`),
    invoking: async () => ({ instructions: name }),
  });
  const stores = createMemoryStores();
  const [a, b] = [scripted("from A"), scripted("from B", "again")];
  const agentA = new ChatAgent({
    model: a,
    stores: () => stores.open("t"),
    contextProviders: [provider("A")],
  });
  const agentB = new ChatAgent({ model: b, contextProviders: [provider("B")] });
  const thread = agentA.getNewThread();
  await agentB.run("one", { thread });
  await agentA.run("two", { thread });
  expect(asked(b)).toEqual(["system: A", "user: one"]);
  expect(await stores.open("t").listMessages()).toHaveLength(4);
  expect(told).toEqual(["A created t"]);
  await agentB.run("three", { thread: new AgentThread({ messageStore: stores.open("u") }) });
  expect(asked(b), "a thread made without an agent takes those of the first that runs it").toEqual([
    "system: B",
    "user: three",
  ]);
});
