import { type ChatMessage, createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import type { ChatState } from "../../src/group-chat/chat-state.ts";
import { AgentGroupChat, RegexTermination } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { failureOf, scripted } from "../models.ts";
import { actor, listen, OwnChannel, told, user } from "./cast.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});
const json = (state: unknown) => JSON.parse(JSON.stringify(state));

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

  test("a restored chat has the same history, views, next agent and completion", async () => {
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

  test("a channel's state is restored: the history is not reduced again", async () => {
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

  test("names the missing participants, and leaves the chat empty", async () => {
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

  test("a participant of another kind counts as missing", async () => {
    const other = new ChatAgent({ id: "b", name: "B", model: scripted() });
    const chat = new AgentGroupChat({ agents: [actor("A"), other] });
    expect(await failureOf(chat.restore(await saved()))).toMatchObject({
      message: 'state: participants: missing in this chat: B (Object, id "b")',
    });
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
      expect(await listen(chat.invoke()), "the position is reset too").toEqual(["A: A 1"]);
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
  ])("a foreign state fails with INVALID_STATE: %j", async (change, field) => {
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
