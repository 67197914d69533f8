import { StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { ChatHistoryChannel } from "../../src/group-chat/channels/chat-history-channel.ts";
import { AgentGroupChat, type ChatParticipant } from "../../src/group-chat/index.ts";
import { failureOf } from "../models.ts";
import { actor, call, dialogue, listen, OwnChannel, result, told, user } from "./cast.ts";

describe("channels", () => {
  test("agents receive each other's messages, in one order, each message once", async () => {
    const [a, b, c] = [actor("A"), actor("B", [], { reducer: { reduce: async (m) => [...m] } }), actor("C")];
    const chat = new AgentGroupChat({ agents: [a, b, c], maximumIterations: 6 });
    await chat.addMessages([user("Hi")]);
    const all = ["user: Hi", "A: A 1", "B: B 1", "C: C 1", "A: A 2", "B: B 2", "C: C 2"];
    expect(await listen(chat.invoke())).toEqual(all.slice(1));
    for (const one of [a, b, c]) expect(await told(chat, one)).toEqual(all);
    expect(dialogue(a.received[1] ?? [])).toEqual(all.slice(0, 4));
    expect(dialogue(b.received[1] ?? [])).toEqual(all.slice(0, 5));
  });

  test("agents with equal reducers share a channel: class and settings, or one reducer", () => {
    class Newest {
      readonly settings;
      constructor(count: number) {
        this.settings = { count };
      }
      reduce = async (messages: readonly never[]) => messages.slice(-this.settings.count);
    }
    class Other extends Newest {}
    const bare = { reduce: async () => [] };
    const keyOf = (reducer?: ConstructorParameters<typeof ChatHistoryChannel>[0]) =>
      new ChatHistoryChannel(reducer).key;
    expect(keyOf()).toBe(keyOf());
    expect(keyOf(new Newest(3))).toBe(keyOf(new Newest(3)));
    expect(keyOf(bare)).toBe(keyOf(bare));
    const different = [
      keyOf(),
      keyOf(new Newest(3)),
      keyOf(new Newest(4)),
      keyOf(new Other(3)),
      keyOf(bare),
      keyOf({ reduce: async () => [] }),
    ];
    expect(new Set(different).size).toBe(different.length);
  });

  test("the agent's reducer shortens its own channel; the primary history and other channels stay whole", async () => {
    const reducer = { reduce: async (messages: readonly ReturnType<typeof user>[]) => messages.slice(-2) };
    const [a, b] = [actor("A", [], { reducer }), actor("B")];
    const chat = new AgentGroupChat({ agents: [a, b], maximumIterations: 4 });
    await chat.addMessages([user("1"), user("2"), user("3")]);
    await listen(chat.invoke());
    expect(a.received.map(dialogue)).toEqual([
      ["user: 2", "user: 3"],
      ["A: A 1", "B: B 1"],
    ]);
    expect(await told(chat, a)).toEqual(["A: A 1", "B: B 1", "A: A 2", "B: B 2"]);
    expect(await told(chat, b)).toHaveLength(7);
    expect(await told(chat)).toHaveLength(7);
  });

  test("a channel receives only messages that have content; tool content and files count", async () => {
    const channel = new ChatHistoryChannel();
    await channel.receive([
      user(""),
      user(" \n"),
      { role: "user", content: [] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "" },
          { type: "reasoning", text: " " },
        ],
      },
    ]);
    expect(await channel.getHistory()).toEqual([]);
    const kept = [
      user("x"),
      call("1"),
      result("1"),
      { role: "user" as const, content: [{ type: "file" as const, data: "aGk=", mediaType: "image/png" }] },
    ];
    await channel.receive(kept);
    expect(await channel.getHistory()).toEqual(kept);
  });

  test("a message with a tool call or result is visible only as the last of the turn, and enters the history always", async () => {
    const text = { role: "assistant" as const, content: "It is warm." };
    const a = actor("A", [
      [call("1"), result("1"), text],
      [text, call("2")],
    ]);
    const chat = new AgentGroupChat({ agents: [a], maximumIterations: 2 });
    expect(await listen(chat.invoke())).toEqual(["A: It is warm.", "A: It is warm.", "A: [tool-call]"]);
    expect(await told(chat)).toEqual([
      "A: [tool-call]",
      "A: [tool-result]",
      "A: It is warm.",
      "A: It is warm.",
      "A: [tool-call]",
    ]);
  });

  test("a failed turn keeps its messages, but no call without its result, and the agent is invoked again", async () => {
    const failing: ChatParticipant = {
      id: "f",
      async *invoke() {
        yield { role: "assistant", content: "One moment" };
        yield call("1");
        throw new Error("down");
      },
    };
    const a = actor("A");
    const chat = new AgentGroupChat({ agents: [failing, a] });
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({ message: "down" });
    expect(await told(chat)).toEqual(["f: One moment"]);
    expect(await told(chat, a)).toEqual([]);
    await listen(chat.invoke(a));
    expect(dialogue(a.received[0] ?? [])).toEqual(["f: One moment"]);
  });
});

describe("queues", () => {
  function pair() {
    const channel = new OwnChannel("own");
    const own = actor("Own", [], { createChannel: () => channel });
    const a = actor("A");
    const chat = new AgentGroupChat({ agents: [own, a] });
    return { channel, own, a, chat };
  }

  test("adding does not wait for channels; a turn waits for its channel", async () => {
    const { channel, own, chat } = pair();
    await listen(chat.invoke(own));
    let open = () => {};
    channel.gate = new Promise((resolve) => {
      open = resolve;
    });
    await chat.addMessages([user("1")]);
    await chat.addMessages([user("2"), user("3")]);
    expect(channel.received).toEqual([]);
    const turn = listen(chat.invoke(own));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(own.received).toHaveLength(1);
    open();
    expect(await turn).toEqual(["Own: Own 2"]);
    expect(channel.received).toEqual([["user: 1"], ["user: 2", "user: 3"]]);
  });

  test("a failed batch is kept, fails the next invoke, and is received before later ones", async () => {
    const { channel, own, chat } = pair();
    await listen(chat.invoke(own));
    channel.failures = 1;
    await chat.addMessages([user("1")]);
    const error = await failureOf(listen(chat.invoke(own)));
    expect(StoreError.is(error, "UNAVAILABLE")).toBe(true);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^Unexpected failure broadcasting to channel: OwnChannel/),
      cause: { message: "the receiver is out of order" },
    });
    await chat.addMessages([user("2")]);
    expect(await listen(chat.invoke(own))).toEqual(["Own: Own 2"]);
    expect(channel.received).toEqual([["user: 1"], ["user: 2"]]);
  });

  test("a failed batch is retried with the next one, and its failure is reported once", async () => {
    const { channel, own, chat } = pair();
    await listen(chat.invoke(own));
    channel.failures = 1;
    await chat.addMessages([user("1")]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await chat.addMessages([user("2")]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(channel.received).toEqual([["user: 1"], ["user: 2"]]);
    expect(await failureOf(listen(chat.invoke(own)))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await listen(chat.invoke(own))).toEqual(["Own: Own 2"]);
  });

  test("a failed channel does not prevent turns of other agents", async () => {
    const { channel, own, a, chat } = pair();
    await listen(chat.invoke(own));
    channel.failures = 9;
    await chat.addMessages([user("1")]);
    expect(await listen(chat.invoke(a))).toEqual(["A: A 1"]);
  });
});
