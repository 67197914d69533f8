import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentThread, ChatAgent, type ContextProvider } from "../src/index.ts";
import { asked, failureOf, lines, scripted } from "./models.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const place = { code: "INVALID_STATE", message: expect.stringContaining("does not move") };

describe("a thread's history has one location", () => {
  const store = createMemoryStores().open("t");

  test("a store together with a service thread id is rejected by the constructor, an agent and a saved state", async () => {
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

  test("a thread does not switch its location, and is not changed by the attempt", async () => {
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

  test("isInitialized is true if either is set", () => {
    expect(new AgentThread().isInitialized).toBe(false);
    expect(new AgentThread({ serviceThreadId: "s" }).isInitialized).toBe(true);
    expect(new AgentThread({ messageStore: store }).isInitialized).toBe(true);
  });

  test.each([
    [{ serviceThreadId: "" }, "serviceThreadId must be a non-empty string"],
    [{ messageStore: {} }, "messageStore must have the methods addMessages, listMessages"],
    [{ stores: 1 }, "stores must be a store factory or a function"],
    [{ contextProviders: [1] }, "contextProviders[0] must be an object"],
    [{ store }, 'unknown option "store"'],
  ])("invalid options are refused: %o", async (options, problem) => {
    const error = await failureOf(() => new AgentThread(options as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });

  test("the setters also reject an invalid value", async () => {
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

  test("creates a missing store: from the agent's factory or function, or in memory", async () => {
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

  test("creates one store for concurrent first messages", async () => {
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

  test("an invalid message is rejected, and nothing is stored or created", async () => {
    const thread = new AgentThread();
    const error = await failureOf(thread.onNewMessages([user("a"), { role: "robot" } as never]));
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("messages[1]: role"),
    });
    expect(thread.isInitialized).toBe(false);
  });

  test("adds messages once under an operation id", async () => {
    const thread = new AgentThread();
    for (let time = 0; time < 2; time++) await thread.onNewMessages(user("a"), { operationId: "once" });
    expect(await thread.messageStore?.listMessages()).toHaveLength(1);
  });
});

test("another agent can run a thread with its existing store and providers", async () => {
  const reported: string[] = [];
  const provider = (name: string): ContextProvider => ({
    threadCreated: (id) => void reported.push(`${name} created ${id}`),
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
  expect(reported).toEqual(["A created t"]);
  await agentB.run("three", { thread: new AgentThread({ messageStore: stores.open("u") }) });
  expect(asked(b), "a thread created without an agent gets those of the first agent that runs it").toEqual([
    "system: B",
    "user: three",
  ]);
});
