import { type ChatMessage, createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { beforeEach, describe, expect, test } from "vitest";
import type { AgentGroupChatOptions } from "../../src/group-chat/agent-group-chat.ts";
import { AgentGroupChat, AggregatorAgent, RegexTermination } from "../../src/group-chat/index.ts";
import { failureOf } from "../models.ts";
import { WatchedDriver } from "../watched-driver.ts";
import { actor, call, listen, result, take, told, user } from "./cast.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});
const cast = () => [actor("A"), actor("B"), actor("C")] as const;
const open = (options: Partial<AgentGroupChatOptions> = {}) =>
  new AgentGroupChat({ agents: cast(), store: stores.open("t"), ...options });
const json = (state: unknown) => JSON.parse(JSON.stringify(state));

describe("a chat on a store", () => {
  test("sends no request when it is created", async () => {
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

  test("commits each message when it is complete", async () => {
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

  test("restores history, next agent and channels from the store alone", async () => {
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

  test("keeps the last complete message after a crash in a turn, and the same agent continues", async () => {
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
    expect(await told(restored), "each call has its result").toEqual([
      "user: Hi",
      "A: A 1",
      "B: [tool-call]",
      "B: [tool-result]",
    ]);
    expect(await listen(restored.invoke())).toEqual(["B: B 1"]);
    expect(await listen(restored.invoke())).toEqual(["C: C 1"]);
  });

  test("an interrupted agent keeps its turn when a user message was added in between", async () => {
    const doomed = open({ agents: [actor("A"), actor("B", [[call("1"), result("1")]]), actor("C")] });
    await listen(doomed.invoke());
    await take(doomed.invoke(), 1);
    const fresh = open();
    await fresh.addMessages([user("Go on")]);
    expect(await listen(fresh.invoke())).toEqual(["B: B 1"]);
    expect(await listen(fresh.invoke())).toEqual(["C: C 1"]);
  });

  test("calls the termination that a crash had prevented", async () => {
    const hung = open({ termination: () => new Promise<boolean>(() => {}) });
    const invocation = hung.invoke();
    await invocation.next();
    void invocation.next();
    await new Promise((resolve) => setTimeout(resolve, 10));
    const restored = open({ termination: new RegexTermination("A 1") });
    expect(await listen(restored.invoke())).toEqual([]);
    expect(restored.isComplete).toBe(true);
  });

  test("a commit with an unknown outcome reads the thread again", async () => {
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

  test("an unwritten answer is generated again by the same agent", async () => {
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

  test("when another chat has written to the thread, one call fails with CONFLICT, and the next call continues from the stored history", async () => {
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

  test("other data in the thread's metadata stays; metadata that is not an object is rejected", async () => {
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
  ])("foreign metadata fails with INVALID_STATE: %j", async (groupChat, field) => {
    await stores.open("t").commit({ metadata: { groupChat } });
    const error = await failureOf(open().getMessages());
    expect(error).toMatchObject({ code: "INVALID_STATE", message: expect.stringContaining(field) });
  });

  test("after a failed restore it continues from its own thread, with the next agent", async () => {
    const driver = new WatchedDriver();
    const at = (threadId: string) => createStores(driver).open(threadId);
    const chat = new AgentGroupChat({ agents: cast(), store: at("t") });
    const state = json(await new AgentGroupChat({ agents: cast(), store: at("other") }).serialize());
    await chat.getMessages();
    await listen(new AgentGroupChat({ agents: cast(), store: at("t") }).invoke());
    const read = driver.read.bind(driver);
    driver.read = async (request) => {
      if (request.threadId === "other") throw new StoreError("UNAVAILABLE", "not now");
      return await read(request);
    };
    expect(await failureOf(chat.restore(state))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
    expect(await told(chat)).toEqual(["A: A 1", "B: B 1"]);
  });

  test("its state contains no message text, and restore moves a chat to the state's thread", async () => {
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

  test("a thread without a chat's metadata is continued, and an aggregator receives it once, also after restarts", async () => {
    await stores.open("t").addMessages([user("Hi"), { role: "assistant", content: "Hello" }]);
    for (const round of [1, 2]) {
      const chatInside = new AgentGroupChat({ agents: [actor("X")], store: stores.open("inside") });
      const team = new AggregatorAgent({ id: "team", name: "Team", mode: "flat", chat: chatInside });
      const chat = open({ agents: [team] });
      expect(await listen(chat.invoke())).toEqual(["X: X 1"]);
      const expected = ["user: Hi", "assistant: Hello", ...Array(round).fill("X: X 1")];
      expect(await told(chat)).toEqual(expected);
      expect(await told(chatInside)).toEqual(expected);
    }
  });

  test("a store that trims: a restarted chat has the kept messages and continues with the right agent", async () => {
    const trimming = createMemoryStores({ maxMessages: 3, trimming: "exact" });
    const first = open({ store: trimming.open("t"), maximumIterations: 4 });
    await first.addMessages([user("Hi")]);
    await listen(first.invoke());
    expect(await told(first)).toHaveLength(5);
    const second = open({ store: trimming.open("t") });
    expect(await told(second)).toEqual(["B: B 1", "C: C 1", "A: A 2"]);
    expect(await listen(second.invoke())).toEqual(["B: B 1"]);
  });

  test("counts as used for restore if the thread has messages", async () => {
    const chat = open();
    await chat.addMessages([user("Hi")]);
    const state = await chat.serialize();
    expect(await failureOf(open().restore(state))).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining("Already in use"),
    });
  });
});
