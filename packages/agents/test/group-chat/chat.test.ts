import { StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentGroupChat } from "../../src/group-chat/index.ts";
import { failureOf } from "../models.ts";
import { actor, dialogue, listen, OwnChannel, take, told, user } from "./cast.ts";

const busy = "Unable to proceed while another agent is active.";

describe("one operation at a time", () => {
  test("a second operation while an agent is active is rejected, and the first continues", async () => {
    const chat = new AgentGroupChat({ agents: [actor("A")] });
    const first = chat.invoke();
    expect(dialogue([(await first.next()).value as never])).toEqual(["A: A 1"]);
    const others: (() => Promise<unknown>)[] = [
      () => chat.invoke().next(),
      () => chat.invokeStream().next(),
      () => chat.addMessages([user("Hi")]),
      () => chat.getMessages(),
      () => chat.serialize(),
      () => chat.reset(),
    ];
    for (const other of others) {
      const error = await failureOf(other());
      expect(StoreError.is(error, "CONFLICT")).toBe(true);
      expect((error as Error).message).toBe(busy);
    }
    expect(await first.next()).toMatchObject({ done: true });
    expect(await told(chat)).toEqual(["A: A 1"]);
  });

  test("a reader that stops, and an agent that fails, leave the chat free", async () => {
    const chat = new AgentGroupChat({
      agents: [actor("A", ["one", { error: new Error("down") }])],
      maximumIterations: 9,
    });
    await take(chat.invoke(), 1);
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({ message: "down" });
    await chat.addMessages([user("Hi")]);
    expect(await told(chat)).toEqual(["A: one", "user: Hi"]);
  });
});

describe("messages", () => {
  test("newest first, as they were added", async () => {
    const chat = new AgentGroupChat();
    await chat.addMessages([user("one"), { ...user("two"), authorName: "Ada", id: "m2" }]);
    const messages = await chat.getMessages();
    expect(messages.map(({ content }) => content)).toEqual(["two", "one"]);
    expect(messages[0]).toEqual({ role: "user", content: "two", authorName: "Ada", id: "m2" });
    expect(messages[1]).toEqual({ role: "user", content: "one", id: expect.any(String) });
  });

  test("messages are copied in and out: changing them does not change the history", async () => {
    const [a, b] = [actor("A"), actor("B")];
    const chat = new AgentGroupChat({ agents: [a, b], maximumIterations: 2 });
    const mine = { ...user("Hi"), id: "m", authorName: "Ada", metadata: { at: new Date(5) } };
    await chat.addMessages([mine]);
    mine.content = "changed";
    mine.metadata.at = new Date(6);
    for await (const message of chat.invoke()) message.content = "changed";
    for (const message of [...(await chat.getMessages()), ...(await chat.getMessages(a))])
      message.content = "changed";
    const all = ["Ada: Hi", "A: A 1", "B: B 1"];
    expect(await told(chat)).toEqual(all);
    expect(await told(chat, a)).toEqual(all);
    expect(dialogue(b.received[0] ?? [])).toEqual(all.slice(0, 2));
    expect((await chat.getMessages()).at(-1)?.metadata).toEqual({ at: new Date(5) });
  });

  test("a message whose id the chat has is not added again", async () => {
    const chat = new AgentGroupChat();
    for (let time = 0; time < 2; time++) await chat.addMessages([{ ...user("one"), id: "m1" }, user("two")]);
    expect(await told(chat)).toEqual(["user: one", "user: two", "user: two"]);
  });

  test("system messages are rejected with their whole batch", async () => {
    const chat = new AgentGroupChat();
    const error = await failureOf(chat.addMessages([user("Hi"), { role: "system", content: "secret" }]));
    expect(StoreError.is(error, "INVALID_ARGUMENT")).toBe(true);
    expect((error as Error).message).toMatch(/^addMessages: messages\[1\]: role must not be "system"/);
    expect((error as Error).message).not.toContain("secret");
    expect(await chat.getMessages()).toEqual([]);
  });

  test("an agent's system messages are not added to the history", async () => {
    const a = actor("A", [
      [
        { role: "system", content: "be A" },
        { role: "assistant", content: "Hi" },
      ],
    ]);
    const chat = new AgentGroupChat({ agents: [a] });
    expect(await listen(chat.invoke())).toEqual(["A: Hi"]);
    expect(await told(chat)).toEqual(["A: Hi"]);
    expect(await told(chat, a)).toEqual(["A: Hi"]);
    const own = actor(
      "Own",
      [
        [
          { role: "system", content: "be Own" },
          { role: "assistant", content: "Hi" },
        ],
      ],
      {
        createChannel: () => new OwnChannel("own"),
      },
    );
    expect(await listen(chat.invoke(own))).toEqual(["Own: Hi"]);
    expect(await told(chat)).toEqual(["A: Hi", "Own: Hi"]);
  });

  test("an agent's view is empty until it joined", async () => {
    const [a, b, stranger] = [
      actor("A"),
      actor("B", [], { createChannel: () => new OwnChannel("b") }),
      actor("S"),
    ];
    const chat = new AgentGroupChat({ agents: [a, b] });
    await chat.addMessages([user("Hi")]);
    expect(await told(chat, a)).toEqual([]);
    await listen(chat.invoke());
    expect(await told(chat, a)).toEqual(["user: Hi", "A: A 1"]);
    expect(await told(chat, b)).toEqual([]);
    expect(await told(chat, stranger)).toEqual([]);
    await listen(chat.invoke());
    expect(await told(chat, b)).toEqual(["user: user: Hi", "user: A: A 1"]);
  });

  test("a reset clears channels and history; the agents stay", async () => {
    const channel = new OwnChannel("b");
    const [a, b] = [actor("A"), actor("B", [], { createChannel: () => channel })];
    const chat = new AgentGroupChat({ agents: [a, b], termination: () => true, automaticReset: true });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    await listen(chat.invoke());
    expect(chat.isComplete).toBe(true);
    await chat.reset();
    expect(chat.isComplete).toBe(false);
    expect(channel.resets).toBe(1);
    expect(await chat.getMessages()).toEqual([]);
    expect(await told(chat, a)).toEqual([]);
    expect(chat.agents).toEqual([a, b]);
    expect(await listen(chat.invoke())).toEqual(["A: A 2"]);
    expect(a.received.at(-1)).toEqual([]);
  });
});
