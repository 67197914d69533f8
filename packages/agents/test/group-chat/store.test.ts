import {
  type ChatMessage,
  createMemoryStores,
  createStores,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import {
  AgentGroupChat,
  type AgentGroupChatOptions,
  type ChatState,
  RegexTermination,
} from "../../src/group-chat/index.ts";
import { failureOf } from "../models.ts";
import { WatchedDriver } from "../watched-driver.ts";
import { actor, call, listen, OwnChannel, result, take, told, user } from "./cast.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});
const cast = () => [actor("A"), actor("B"), actor("C")] as const;
const open = (options: Partial<AgentGroupChatOptions> = {}) =>
  new AgentGroupChat({ agents: cast(), store: stores.open("t"), ...options });
const json = (state: unknown) => JSON.parse(JSON.stringify(state));

describe("a chat on a store", () => {
  test("makes no request when it is made", async () => {
    const driver = new WatchedDriver();
    driver.read = async () => {
      throw new StoreError("UNAVAILABLE", "not now");
    };
    const chat = new AgentGroupChat({ agents: cast(), store: createStores(driver).open("t") });
    chat.addAgent(actor("D"));
    expect(chat.isComplete).toBe(false);
    expect(await failureOf(chat.getMessages()), "an outage is never an empty history").toMatchObject({
      code: "UNAVAILABLE",
    });
  });

  test("commits each message as it is said", async () => {
    const chat = open({ maximumIterations: 3 });
    await chat.addMessages([user("1"), user("2")]);
    const counts = [];
    for await (const message of chat.invoke()) {
      const stored = await stores.open("t").listMessages();
      expect(stored.at(-1)).toEqual(message);
      counts.push(stored.length);
    }
    expect(counts).toEqual([3, 4, 5]);
  });

  test("goes on by itself: history, next speaker, channels", async () => {
    const first = open();
    await first.addMessages([user("Hi")]);
    await listen(first.invoke());
    await listen(first.invoke());
    const second = open();
    expect(await told(second)).toEqual(["user: Hi", "A: A 1", "B: B 1"]);
    expect(await listen(second.invoke())).toEqual(["C: C 1"]);
    expect(await told(second, second.agents[2])).toEqual(["user: Hi", "A: A 1", "B: B 1", "C: C 1"]);
    expect(await listen(open().invoke())).toEqual(["A: A 1"]);
  });

  test("keeps the completion flag, in the commit that ends the turn", async () => {
    const termination = new RegexTermination("A 1");
    await listen(open({ termination }).invoke());
    const second = open({ termination });
    await second.getMessages();
    expect(second.isComplete).toBe(true);
    expect(await failureOf(listen(second.invoke()))).toMatchObject({
      message: "Agent Failure - Chat has completed.",
    });
  });

  test("stands at the last whole message after a crash in a turn, and the same agent goes on", async () => {
    const calls: ChatMessage[] = [call("1"), result("1"), { role: "assistant", content: "Warm." }];
    const before = open();
    await before.addMessages([user("Hi")]);
    await listen(before.invoke());
    const hanging = actor("B", [], {
      async *invoke() {
        yield* calls.slice(0, 2);
        yield call("2");
        await new Promise(() => {});
      },
    });
    const doomed = open({ agents: [actor("A"), hanging, actor("C")] });
    void doomed.invoke().next();
    await new Promise((resolve) => setTimeout(resolve, 30));
    const restored = open();
    expect(await told(restored), "no call without its result").toEqual([
      "user: Hi",
      "A: A 1",
      "B: [tool-call]",
      "B: [tool-result]",
    ]);
    expect(await listen(restored.invoke())).toEqual(["B: B 1"]);
    expect(await listen(restored.invoke())).toEqual(["C: C 1"]);
  });

  test("an agent that was cut off keeps its turn when a user spoke in between", async () => {
    const doomed = open({ agents: [actor("A"), actor("B", [[call("1"), result("1")]]), actor("C")] });
    await listen(doomed.invoke());
    await take(doomed.invoke(), 1);
    const fresh = open();
    await fresh.addMessages([user("Go on")]);
    expect(await listen(fresh.invoke())).toEqual(["B: B 1"]);
    expect(await listen(fresh.invoke())).toEqual(["C: C 1"]);
  });

  test("asks the termination that a crash kept from being asked", async () => {
    const hung = open({ termination: () => new Promise<boolean>(() => {}) });
    const said = hung.invoke();
    await said.next();
    void said.next();
    await new Promise((resolve) => setTimeout(resolve, 10));
    const restored = open({ termination: new RegexTermination("A 1") });
    expect(await listen(restored.invoke())).toEqual([]);
    expect(restored.isComplete).toBe(true);
  });

  test("a reply that was lost doubles nothing, and loses nothing", async () => {
    const driver = new WatchedDriver();
    const store = createStores(driver).open("t");
    const chat = new AgentGroupChat({ agents: cast(), store, maximumIterations: 3 });
    await chat.addMessages([user("Hi")]);
    driver.repliesToLose = 1;
    await listen(chat.invoke());
    expect(await told(chat)).toEqual(["user: Hi", "A: A 1", "B: B 1", "C: C 1"]);
    expect(await store.listMessages()).toHaveLength(4);
  });

  test("a commit whose outcome is not known: the thread says what was said", async () => {
    const driver = new WatchedDriver();
    const store = createStores(driver).open("t");
    const chat = new AgentGroupChat({ agents: cast(), store });
    await chat.addMessages([user("Hi")]);
    const commit = driver.commit.bind(driver);
    driver.commit = async (request) => {
      await commit(request);
      throw new StoreError("UNAVAILABLE", "the reply was lost");
    };
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({ code: "UNAVAILABLE" });
    driver.commit = async () => {
      throw new StoreError("UNAVAILABLE", "not written");
    };
    expect(await failureOf(chat.addMessages([user("lost")]))).toMatchObject({ code: "UNAVAILABLE" });
    driver.commit = commit;
    expect(await told(chat)).toEqual(["user: Hi", "A: A 1"]);
    await chat.addMessages([user("Go on")]);
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
    expect(await told(chat, chat.agents[1])).toEqual(["user: Hi", "A: A 1", "user: Go on", "B: B 1"]);
  });

  test("an answer that was not written is said again, by the same agent", async () => {
    const driver = new WatchedDriver();
    const chat = new AgentGroupChat({ agents: cast(), store: createStores(driver).open("t") });
    await chat.addMessages([user("Hi")]);
    const commit = driver.commit.bind(driver);
    driver.commit = async () => {
      throw new StoreError("UNAVAILABLE", "not written");
    };
    await failureOf(listen(chat.invoke()));
    driver.commit = commit;
    expect(await listen(chat.invoke())).toEqual(["A: A 2"]);
    expect(await told(chat, chat.agents[0])).toEqual(["user: Hi", "A: A 2"]);
  });

  test("when another chat wrote to the thread, CONFLICT is heard once, and the next call goes on from what is there", async () => {
    const [one, other] = [open(), open()];
    await one.addMessages([user("Hi")]);
    await other.getMessages();
    await listen(one.invoke());
    expect(await failureOf(listen(other.invoke()))).toMatchObject({
      code: "CONFLICT",
      message: expect.stringMatching(/^store: /),
    });
    expect(await listen(other.invoke())).toEqual(["B: B 1"]);
    expect(await told(other)).toEqual(["user: Hi", "A: A 1", "B: B 1"]);
  });

  test("what else the thread's metadata holds stays; one that is no object is refused", async () => {
    await stores.open("t").commit({ metadata: { title: "Bicycles" } });
    const chat = open();
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    expect((await stores.open("t").read()).metadata).toMatchObject({
      title: "Bicycles",
      groupChat: { version: 1 },
    });
    await chat.reset();
    expect(await stores.open("t").read()).toMatchObject({ entries: [], metadata: { title: "Bicycles" } });
    await stores.open("other").commit({ metadata: "Bicycles" });
    const refused = await failureOf(open({ store: stores.open("other") }).getMessages());
    expect(refused).toMatchObject({ code: "INVALID_STATE", message: expect.stringContaining("metadata") });
  });

  test.each([
    [{ version: 2, isComplete: true }, "version"],
    [{ version: 1 }, "isComplete"],
    [{ version: 1, isComplete: false, turn: { agent: "a" } }, "turn"],
    [{ version: 1, isComplete: false, selection: "x" }, "position"],
    ["x", "metadata.groupChat"],
  ])("metadata that no chat wrote is INVALID_STATE: %j", async (groupChat, field) => {
    await stores.open("t").commit({ metadata: { groupChat } });
    const error = await failureOf(open().getMessages());
    expect(error).toMatchObject({ code: "INVALID_STATE", message: expect.stringContaining(field) });
  });

  test("its state holds no message text, and a chat on another thread moves there", async () => {
    const sqlLike = createMemoryStores();
    const chat = open();
    await chat.addMessages([user("a secret word")]);
    await listen(chat.invoke());
    const { channels, history, ...rest } = await chat.serialize();
    expect(channels).toBeUndefined();
    expect(JSON.stringify(rest)).not.toMatch(/secret|A 1/);
    const { thread: _only, ...place } = history as Record<string, unknown>;
    expect(JSON.stringify(place)).not.toMatch(/secret|A 1/);
    const moved = new AgentGroupChat({ agents: cast(), store: sqlLike.open("elsewhere") });
    await moved.restore(json({ ...rest, history }));
    expect(await told(moved)).toEqual(["user: a secret word", "A: A 1"]);
    expect(await listen(moved.invoke())).toEqual(["B: B 1"]);
  });

  test("counts as used for restore when the thread holds messages", async () => {
    const chat = open();
    await chat.addMessages([user("Hi")]);
    const state = await chat.serialize();
    expect(await failureOf(open().restore(state))).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining("Already in use"),
    });
  });
});

describe("serialize and restore", () => {
  async function saved(): Promise<ChatState> {
    const agents = [
      actor("A", [[{ role: "assistant", content: "A 1", createdAt: new Date(5) }]]),
      actor("B"),
    ];
    const chat = new AgentGroupChat({
      agents,
      termination: new RegexTermination("B 2"),
      maximumIterations: 3,
    });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    return json(await chat.serialize());
  }
  const fresh = () =>
    new AgentGroupChat({
      agents: [actor("A"), actor("B")],
      termination: new RegexTermination("B 1"),
      maximumIterations: 3,
    });

  test("the state is versioned JSON of participants, history, channels, flag and position", async () => {
    expect(await saved()).toEqual({
      type: "scrollback.groupChat",
      version: 1,
      participants: [
        { id: "a", name: "A", type: "Object" },
        { id: "b", name: "B", type: "Object" },
      ],
      history: expect.objectContaining({ type: "scrollback.store", backend: "memory" }),
      channels: [
        {
          key: expect.any(String),
          type: "ChatHistoryChannel",
          agents: ["a", "b"],
          state: { messages: expect.any(Array) },
        },
      ],
      isComplete: false,
      selection: 0,
    });
  });

  test("a restored chat is the same: history, views, next speaker, flag", async () => {
    const chat = fresh();
    await chat.restore(await saved());
    expect(await told(chat)).toEqual(["user: Hi", "A: A 1", "B: B 1", "A: A 2"]);
    expect((await chat.getMessages())[2]?.createdAt).toEqual(new Date(5));
    expect(await told(chat, chat.agents[0])).toEqual(["user: Hi", "A: A 1", "B: B 1", "A: A 2"]);
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
    expect(chat.isComplete).toBe(true);
    const again = fresh();
    await again.restore(json(await chat.serialize()));
    expect(again.isComplete).toBe(true);
  });

  test("a channel's own state is kept: what a reducer made of the history is not made again", async () => {
    const settings = { keeps: 1 };
    let reductions = 0;
    const reducer = {
      settings,
      reduce: async (messages: readonly ChatMessage[]) => {
        reductions += 1;
        return messages.slice(-1);
      },
    };
    const chat = new AgentGroupChat({ agents: [actor("A", [], { reducer })] });
    await chat.addMessages([user("1"), user("2")]);
    await listen(chat.invoke());
    const restored = new AgentGroupChat({ agents: [actor("A", [], { reducer })] });
    await restored.restore(json(await chat.serialize()));
    expect(await told(restored, restored.agents[0])).toEqual(["user: 2", "A: A 1"]);
    expect(reductions).toBe(1);
  });

  test("a channel without serialize is rebuilt from the history", async () => {
    const make = (channel: OwnChannel) =>
      new AgentGroupChat({ agents: [actor("A", [], { createChannel: () => channel })] });
    const chat = make(new OwnChannel("own"));
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    const channel = new OwnChannel("own");
    const restored = make(channel);
    await restored.restore(json(await chat.serialize()));
    await listen(restored.invoke());
    expect(channel.received).toEqual([["user: Hi", "A: A 1"]]);
  });

  test("needs an unused chat", async () => {
    const state = await saved();
    const used = fresh();
    await used.addMessages([user("Hi")]);
    const twice = fresh();
    await twice.restore(state);
    for (const chat of [used, twice]) {
      const before = await told(chat);
      expect(await failureOf(chat.restore(state))).toMatchObject({
        code: "INVALID_STATE",
        message: expect.stringContaining("Already in use"),
      });
      expect(await told(chat)).toEqual(before);
    }
  });

  test("says which participants are missing, and leaves the chat empty", async () => {
    const chat = new AgentGroupChat({ agents: [actor("A")] });
    const error = await failureOf(chat.restore(await saved()));
    expect(error).toMatchObject({
      code: "INVALID_STATE",
      message: 'state: participants: missing in this chat: B (Object, id "b")',
    });
    expect(await chat.getMessages()).toEqual([]);
    chat.addAgent(actor("B"));
    await chat.restore(await saved());
    expect(await told(chat)).toHaveLength(4);
  });

  test.each([false, true])(
    "a failure midway leaves the chat empty and usable (on a store: %s)",
    async (isStored) => {
      const state = await saved();
      const options = isStored ? { store: stores.open("mine") } : {};
      const broken = {
        ...state,
        channels: [{ ...state.channels?.[0], state: { messages: ['{"role":"nobody","content":""}'] } }],
      };
      const chat = new AgentGroupChat({ agents: [actor("A"), actor("B")], ...options });
      expect(await failureOf(chat.restore(broken))).toMatchObject({
        code: "INVALID_STATE",
        message: expect.stringContaining("channels[0]"),
      });
      expect(await chat.getMessages()).toEqual([]);
      if (isStored) expect((await chat.serialize()).history).toMatchObject({ threadId: "mine" });
      expect(await listen(chat.invoke()), "the position is gone too").toEqual(["A: A 1"]);
      const other = new AgentGroupChat({
        agents: [actor("A"), actor("B")],
        ...(isStored && { store: stores.open("2") }),
      });
      await other.restore(state);
      expect(await told(other)).toHaveLength(4);
    },
  );

  test.each([
    [null, "state: must be an object"],
    [[], "state: must be an object"],
    [{ type: "scrollback.thread" }, "type"],
    [{ version: 2 }, "version"],
    [{ participants: [{ id: 1, type: "Object" }] }, "participants"],
    [{ participants: undefined }, "participants"],
    [{ history: undefined }, "history"],
    [{ history: { type: "other" } }, "type"],
    [{ history: { type: "scrollback.store", version: 1, backend: "redis", threadId: "t" } }, "backend"],
    [{ channels: [{ key: "k" }] }, "channels"],
    [{ channels: "x" }, "channels"],
    [{ isComplete: "yes" }, "isComplete"],
    [{ turn: "a" }, "turn"],
  ])("a foreign state is INVALID_STATE: %j", async (change, field) => {
    const state = await saved();
    const foreign = change === null || Array.isArray(change) ? change : { ...state, ...change };
    const chat = fresh();
    expect(await failureOf(chat.restore(foreign))).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining(field),
    });
    await chat.restore(state);
  });
});
