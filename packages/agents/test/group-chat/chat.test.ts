import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentGroupChat, ChatHistoryChannel, type ChatParticipant } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { asked, failureOf, scripted, weatherCall, weatherTools } from "../models.ts";
import { actor, call, dialogue, listen, OwnChannel, result, take, told, user, watch } from "./cast.ts";

const busy = "Unable to proceed while another agent is active.";

describe("one operation at a time", () => {
  test("a second operation while an agent is active is refused, and the first goes on", async () => {
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

  test("what goes in and what comes out is a copy: to change it changes no history", async () => {
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
    expect(dialogue(b.heard[0] ?? [])).toEqual(all.slice(0, 2));
    expect((await chat.getMessages()).at(-1)?.metadata).toEqual({ at: new Date(5) });
  });

  test("a message whose id the chat has is not added again", async () => {
    const chat = new AgentGroupChat();
    for (let time = 0; time < 2; time++) await chat.addMessages([{ ...user("one"), id: "m1" }, user("two")]);
    expect(await told(chat)).toEqual(["user: one", "user: two", "user: two"]);
  });

  test("system messages are refused, and nothing of their batch is added", async () => {
    const chat = new AgentGroupChat();
    const error = await failureOf(chat.addMessages([user("Hi"), { role: "system", content: "secret" }]));
    expect(StoreError.is(error, "INVALID_ARGUMENT")).toBe(true);
    expect((error as Error).message).toMatch(/^addMessages: messages\[1\]: role must not be "system"/);
    expect((error as Error).message).not.toContain("secret");
    expect(await chat.getMessages()).toEqual([]);
  });

  test("an agent's system messages enter nothing", async () => {
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
    expect(a.heard.at(-1)).toEqual([]);
  });
});

describe("channels", () => {
  test("agents hear each other, in one order, each message once", async () => {
    const [a, b, c] = [actor("A"), actor("B", [], { reducer: { reduce: async (m) => [...m] } }), actor("C")];
    const chat = new AgentGroupChat({ agents: [a, b, c], maximumIterations: 6 });
    await chat.addMessages([user("Hi")]);
    const all = ["user: Hi", "A: A 1", "B: B 1", "C: C 1", "A: A 2", "B: B 2", "C: C 2"];
    expect(await listen(chat.invoke())).toEqual(all.slice(1));
    for (const one of [a, b, c]) expect(await told(chat, one)).toEqual(all);
    expect(dialogue(a.heard[1] ?? [])).toEqual(all.slice(0, 4));
    expect(dialogue(b.heard[1] ?? [])).toEqual(all.slice(0, 5));
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

  test("the speaker's reducer shortens its channel in place; the primary history and other channels stay whole", async () => {
    const reducer = { reduce: async (messages: readonly ReturnType<typeof user>[]) => messages.slice(-2) };
    const [a, b] = [actor("A", [], { reducer }), actor("B")];
    const chat = new AgentGroupChat({ agents: [a, b], maximumIterations: 4 });
    await chat.addMessages([user("1"), user("2"), user("3")]);
    await listen(chat.invoke());
    expect(a.heard.map(dialogue)).toEqual([
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

  test("a turn that fails keeps what was said, but no call without its result, and the agent is asked again", async () => {
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
    expect(dialogue(a.heard[0] ?? [])).toEqual(["f: One moment"]);
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

  test("adding does not wait for channels; a turn waits for its own", async () => {
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
    expect(own.heard).toHaveLength(1);
    open();
    expect(await turn).toEqual(["Own: Own 2"]);
    expect(channel.received).toEqual([["user: 1"], ["user: 2", "user: 3"]]);
  });

  test("a new channel first receives the whole history", async () => {
    const { channel, own, a, chat } = pair();
    await chat.addMessages([user("1")]);
    await listen(chat.invoke(a));
    await listen(chat.invoke(own));
    expect(channel.received).toEqual([["user: 1", "A: A 1"]]);
  });

  test("a batch that failed stays, shows at the next invoke, and is received before what came after it", async () => {
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

  test("a batch that failed is tried again with the next one, and the failure still shows once", async () => {
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

  test("a failed channel keeps no other agent from speaking", async () => {
    const { channel, own, a, chat } = pair();
    await listen(chat.invoke(own));
    channel.failures = 9;
    await chat.addMessages([user("1")]);
    expect(await listen(chat.invoke(a))).toEqual(["A: A 1"]);
  });
});

describe("a ChatAgent", () => {
  const ask = (model: ReturnType<typeof scripted>, name = "Writer") =>
    new ChatAgent({
      model,
      name,
      id: name.toLowerCase(),
      instructions: `Be ${name}.`,
      tools: weatherTools().tools,
    });

  test("speaks under its name; its instructions go to its model and are stored nowhere", async () => {
    const model = scripted("A bicycle.", "Two.");
    const writer = ask(model);
    const store = createMemoryStores().open("t");
    const chat = new AgentGroupChat({ agents: [writer], store });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["Writer: A bicycle."]);
    expect(asked(model)).toEqual(["system: Be Writer.", "user: Hi"]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["system: Be Writer.", "user: Hi", "assistant: A bicycle."]);
    const stored = await store.listMessages();
    expect(dialogue(stored)).toEqual(["user: Hi", "Writer: A bicycle.", "Writer: Two."]);
    expect(JSON.stringify([stored, await store.serialize(), await told(chat, writer)])).not.toContain(
      "Be Writer",
    );
  });

  test("refuses to speak where nothing was said", async () => {
    const chat = new AgentGroupChat({ agents: [ask(scripted("x"))] });
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "input: must hold a message, as nothing was said before it",
    });
  });

  test("hears others as a user who says who speaks, their tools told in words", async () => {
    const model = scripted("Fine.");
    const reviewer = ask(model, "Reviewer");
    const other = actor("Writer", [
      [call("Ghent"), result("Ghent"), { role: "assistant", content: "It is warm." }],
    ]);
    const chat = new AgentGroupChat({ agents: [other, reviewer], maximumIterations: 2 });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual([
      "system: Be Reviewer.",
      "user: Hi",
      'user: Writer: (asks weather: {"city":"Ghent"})',
      'user: Writer: (weather gave: "warm")',
      "user: Writer: It is warm.",
    ]);
  });

  test("each step of a tool run enters the history whole, before the next step begins", async () => {
    const store = createMemoryStores().open("t");
    const seen: unknown[] = [];
    const model = scripted(async () => {
      seen.push(dialogue(await store.listMessages()));
      return seen.length === 1 ? weatherCall("Ghent") : "Warm.";
    });
    const writer = ask(model);
    const chat = new AgentGroupChat({ agents: [writer], store });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["Writer: Warm."]);
    expect(seen).toEqual([["user: Hi"], ["user: Hi", "Writer: [tool-call]", "Writer: [tool-result]"]]);
    expect(asked(model)).toEqual([
      "system: Be Writer.",
      "user: Hi",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

  test("asks its model at most maxSteps times in a turn, and the last tool exchange is visible then", async () => {
    const model = scripted(() => weatherCall("Ghent", crypto.randomUUID()));
    const writer = new ChatAgent({ model, name: "W", tools: weatherTools().tools, maxSteps: 2 });
    const chat = new AgentGroupChat({ agents: [writer] });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["W: [tool-result]"]);
    expect(model.doGenerateCalls).toHaveLength(2);
    expect(await told(chat)).toHaveLength(5);
  });

  test("a tool call that waits for approval ends the turn, visible, and goes on once a user approved", async () => {
    const { tools, asked: cities } = weatherTools();
    const model = scripted(weatherCall("Ghent", "c1"), "Warm.");
    const needing = { weather: { ...tools.weather, needsApproval: true } } as typeof tools;
    const writer = new ChatAgent({ model, name: "W", tools: needing });
    const chat = new AgentGroupChat({ agents: [writer] });
    await chat.addMessages([user("Hi")]);
    const asking = [];
    for await (const message of chat.invoke()) asking.push(message);
    const request = asking.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter((part) => part.type === "tool-approval-request"),
    )[0];
    expect(cities).toEqual([]);
    const approved = {
      type: "tool-approval-response" as const,
      approvalId: request?.approvalId ?? "",
      approved: true,
    };
    await chat.addMessages([{ role: "tool", content: [approved] }]);
    expect(await listen(chat.invoke())).toEqual(["W: Warm."]);
    expect(cities).toEqual(["Ghent"]);
  });

  test("its context providers are asked about what came after its own last words", async () => {
    const queries: string[][] = [];
    const writer = new ChatAgent({
      model: scripted("one", "two"),
      name: "Writer",
      contextProviders: [{ invoking: async (messages) => void queries.push(dialogue(messages)) }],
    });
    const chat = new AgentGroupChat({ agents: [writer] });
    await chat.addMessages([user("1")]);
    await listen(chat.invoke());
    await chat.addMessages([user("2")]);
    await listen(chat.invoke());
    expect(queries).toEqual([["user: 1"], ["user: 2"]]);
  });

  test("its reducer is the channel's: asked once a turn", async () => {
    let reductions = 0;
    const model = scripted("one", "two", "three");
    const reducer = {
      reduce: async (messages: readonly ReturnType<typeof user>[]) => {
        reductions += 1;
        return messages.slice(-1);
      },
    };
    const chat = new AgentGroupChat({ agents: [new ChatAgent({ model, name: "W", reducer })] });
    await chat.addMessages([user("1"), user("2")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["user: 2"]);
    await chat.addMessages([user("3")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["user: 3"]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["assistant: two"]);
    expect(reductions).toBe(3);
  });
});

describe("streaming", () => {
  test("gives pieces with their speaker, then the message; the history is updated when the stream ends", async () => {
    const store = createMemoryStores().open("t");
    const writer = new ChatAgent({ model: scripted("A fine bicycle."), name: "Writer" });
    const chat = new AgentGroupChat({ agents: [writer, actor("B")], maximumIterations: 2, store });
    await chat.addMessages([user("Hi")]);
    const seen: string[] = [];
    for await (const part of chat.invokeStream()) {
      seen.push(
        part.type === "message" ? (dialogue([part.message])[0] ?? "") : `${part.authorName}~ ${part.text}`,
      );
      if (part.type === "text-delta" && part.authorName === "Writer")
        expect(await store.listMessages()).toHaveLength(1);
      if (part.type === "message") expect((await store.listMessages()).at(-1)).toEqual(part.message);
    }
    expect(seen).toEqual([
      "Writer~ A ",
      "Writer~ fine ",
      "Writer~ bicycle.",
      "Writer: A fine bicycle.",
      "B~ B 1",
      "B: B 1",
    ]);
    expect(await told(chat)).toEqual(["user: Hi", "Writer: A fine bicycle.", "B: B 1"]);
  });

  test("a stream that a reader leaves early has said nothing, and the model is stopped", async () => {
    const model = scripted("A fine bicycle.", "Again.");
    const writer = new ChatAgent({ model, name: "Writer" });
    const chat = new AgentGroupChat({ agents: [writer, actor("B")] });
    await chat.addMessages([user("Hi")]);
    await take(chat.invokeStream(), 2);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
    expect(await told(chat)).toEqual(["user: Hi"]);
    expect(await watch(chat.invokeStream())).toEqual(["Writer~ Again.", "Writer: Again."]);
    expect(await told(chat, writer)).toEqual(["user: Hi", "Writer: Again."]);
  });

  test("ends with the same history as without streaming, tools included", async () => {
    const histories = [];
    for (const way of ["invoke", "invokeStream"] as const) {
      const model = scripted(weatherCall("Ghent"), "Warm.");
      const chat = new AgentGroupChat({
        agents: [new ChatAgent({ model, name: "W", tools: weatherTools().tools }), actor("B")],
        maximumIterations: 2,
      });
      await chat.addMessages([user("Hi")]);
      const visible = [];
      for await (const part of chat[way]()) {
        if ("message" in part) visible.push(...dialogue([part.message]));
        else if (!("type" in part)) visible.push(...dialogue([part]));
      }
      expect(visible).toEqual(["W: Warm.", "B: B 1"]);
      histories.push((await chat.getMessages()).map(({ id: _id, ...message }) => message));
    }
    expect(histories[0]).toEqual(histories[1]);
    expect(histories[0]).toHaveLength(5);
  });
});

describe("cancellation", () => {
  test.each(["invoke", "invokeStream"] as const)(
    "%s rejects at once with ABORTED, also while an agent hangs",
    async (way) => {
      const hanging: ChatParticipant = {
        id: "h",
        async *invoke() {
          yield { role: "assistant", content: "first" };
          await new Promise(() => {});
        },
      };
      const chat = new AgentGroupChat({ agents: [hanging, actor("B")] });
      const error = await failureOf(watchAny(chat[way](undefined, { signal: AbortSignal.timeout(30) })));
      expect(StoreError.is(error, "ABORTED")).toBe(true);
      expect(await told(chat)).toEqual(way === "invoke" ? ["h: first"] : []);
      expect(await listen(chat.invoke(chat.agents[1]))).toEqual(["B: B 1"]);
    },
  );
});

async function watchAny(said: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of said) {
  }
}
