import { type ChatMessage, createMemoryStores, type MessageStore, StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import type { AggregatorMode } from "../../src/group-chat/aggregator/aggregator-channel.ts";
import { AgentGroupChat, AggregatorAgent, type ChatParticipant } from "../../src/group-chat/index.ts";
import type { Termination } from "../../src/group-chat/strategies/termination.ts";
import { failureOf } from "../models.ts";
import { WatchedDriver } from "../watched-driver.ts";
import { actor, call, dialogue, listen, result, take, told, user, watch } from "./cast.ts";

function inner(store?: MessageStore) {
  const [x, y] = [actor("X"), actor("Y")];
  return new AgentGroupChat({ agents: [x, y], maximumIterations: 2, ...(store && { store }) });
}
const team = (mode: AggregatorMode, chat: AgentGroupChat | (() => AgentGroupChat)) =>
  new AggregatorAgent({ name: "Team", id: "team", mode, chat });

describe("AggregatorAgent", () => {
  test("flat: yields all inner messages under the names of their authors", async () => {
    const chat = new AgentGroupChat({ agents: [team("flat", inner()), actor("B")], maximumIterations: 2 });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["X: X 1", "Y: Y 1", "B: B 1"]);
    expect(await told(chat)).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "B: B 1"]);
  });

  test("nested: only the last message is visible, under the aggregator's name; the inner chat keeps all messages", async () => {
    const chatInside = inner();
    const b = actor("B");
    const chat = new AgentGroupChat({ agents: [team("nested", chatInside), b], maximumIterations: 2 });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["Team: Y 1", "B: B 1"]);
    expect(dialogue(b.received[0] ?? [])).toEqual(["user: Hi", "Team: Y 1"]);
    // Reads through the outer chat, which waits until the inner one has received the later messages.
    expect(await told(chat, chat.agents[0])).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "B: B 1"]);
    expect(await told(chatInside)).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "B: B 1"]);
  });

  test("receives the outer history into its inner chat, each message once, and not its own messages", async () => {
    for (const mode of ["flat", "nested"] as const) {
      const chatInside = inner();
      const chat = new AgentGroupChat({ agents: [team(mode, chatInside), actor("B")], maximumIterations: 3 });
      await chat.addMessages([user("Hi")]);
      await listen(chat.invoke());
      expect(await told(chat, chat.agents[0])).toEqual([
        "user: Hi",
        "X: X 1",
        "Y: Y 1",
        "B: B 1",
        "X: X 2",
        "Y: Y 2",
      ]);
      expect(await told(chatInside)).toEqual(await told(chat, chat.agents[0]));
    }
  });

  test("streams: flat with all pieces, nested with its one message", async () => {
    const streamed = (mode: AggregatorMode) =>
      watch(new AgentGroupChat({ agents: [team(mode, inner())] }).invokeStream());
    expect(await streamed("flat")).toEqual(["X~ X 1", "X: X 1", "Y~ Y 1", "Y: Y 1"].toSorted(byTurn));
    expect(await streamed("nested")).toEqual(["Team~ Y 1", "Team: Y 1"]);
  });

  test("tool messages stay in the inner chat", async () => {
    const x = actor("X", [[call("1"), result("1"), { role: "assistant", content: "Warm." }]]);
    const chatInside = new AgentGroupChat({ agents: [x] });
    const chat = new AgentGroupChat({ agents: [team("flat", chatInside)] });
    expect(await listen(chat.invoke())).toEqual(["X: Warm."]);
    expect(await told(chat)).toEqual(["X: Warm."]);
    expect(await told(chatInside)).toHaveLength(3);
  });

  test("two aggregators never share a channel", async () => {
    const chats = [inner(), inner()] as const;
    const both = chats.map(
      (chat, index) => new AggregatorAgent({ name: "T", id: `t${index}`, mode: "nested", chat }),
    );
    const outer = new AgentGroupChat({ agents: both, maximumIterations: 2 });
    expect(new Set(both.map((one) => one.createChannel().key)).size).toBe(2);
    expect(await listen(outer.invoke())).toEqual(["T: Y 1", "T: Y 1"]);
    expect(await told(outer, both[0])).toEqual(["X: X 1", "Y: Y 1", "T: Y 1"]);
    expect(await told(outer, both[1])).toEqual(["T: Y 1", "X: X 1", "Y: Y 1"]);
  });

  test("a function creates a separate chat for each chat that it joins", async () => {
    const made: AgentGroupChat[] = [];
    const aggregator = team("nested", () => {
      made.push(inner());
      return made.at(-1) as AgentGroupChat;
    });
    for (let chat = 0; chat < 2; chat++) await listen(new AgentGroupChat({ agents: [aggregator] }).invoke());
    expect(made).toHaveLength(2);
    for (const chat of made) expect(await told(chat)).toHaveLength(2);
  });

  test("a reset of the outer chat resets the inner one", async () => {
    const chatInside = inner();
    const chat = new AgentGroupChat({ agents: [team("flat", chatInside)] });
    await listen(chat.invoke());
    await chat.reset();
    expect(await told(chatInside)).toEqual([]);
  });

  test("its state contains its inner chat's, and restores it", async () => {
    const chat = new AgentGroupChat({ agents: [team("nested", inner()), actor("B")], maximumIterations: 2 });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    const state = JSON.parse(JSON.stringify(await chat.serialize()));
    const aggregated = state.channels.find(({ type }: { type: string }) => type === "AggregatorChannel");
    expect(aggregated.state).toMatchObject({
      type: "scrollback.groupChat",
      participants: [{ id: "x" }, { id: "y" }],
    });
    const chatInside = inner();
    const restored = new AgentGroupChat({
      agents: [team("nested", chatInside), actor("B")],
      maximumIterations: 2,
    });
    await restored.restore(state);
    expect(await told(chatInside)).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "B: B 1"]);
    expect(await listen(restored.invoke())).toEqual(["Team: Y 1", "B: B 1"]);
    expect(await told(restored)).toEqual(["user: Hi", "Team: Y 1", "B: B 1", "Team: Y 1", "B: B 1"]);
  });

  test("a restore that fails at a later channel also resets the inner chat, and a stored inner chat loses nothing", async () => {
    for (const isStored of [false, true]) {
      const stores = createMemoryStores();
      const options = () => ({ agents: [actor("X")], ...(isStored && { store: stores.open("inside") }) });
      const chat = new AgentGroupChat({
        agents: [team("nested", new AgentGroupChat(options())), actor("B")],
        maximumIterations: 2,
      });
      await listen(chat.invoke());
      const state = JSON.parse(JSON.stringify(await chat.serialize()));
      const [first, second] = state.channels;
      const broken = { ...state, channels: [first, { ...second, state: {} }] };
      const chatInside = new AgentGroupChat(options());
      const restored = new AgentGroupChat({ agents: [team("nested", chatInside), actor("B")] });
      await failureOf(restored.restore(broken));
      expect(await told(restored)).toEqual([]);
      expect(await told(chatInside)).toEqual(isStored ? ["X: X 1", "B: B 1"] : []);
      await restored.restore(state);
      expect(await told(chatInside)).toEqual(["X: X 1", "B: B 1"]);
    }
  });

  test("with both chats on stores, a restart doubles no message in either chat", async () => {
    const stores = createMemoryStores();
    for (const mode of ["flat", "nested"] as const) {
      const open = () => {
        const chatInside = inner(stores.open(`inner-${mode}`));
        const agents = [team(mode, chatInside), actor("B")];
        return {
          chatInside,
          chat: new AgentGroupChat({ agents, store: stores.open(mode), maximumIterations: 2 }),
        };
      };
      const first = open();
      await first.chat.addMessages([user("Hi")]);
      await listen(first.chat.invoke());
      const second = open();
      await second.chat.addMessages([user("Hi")]);
      await listen(second.chat.invoke());
      const surfaced = mode === "flat" ? ["X: X 1", "Y: Y 1"] : ["Team: Y 1"];
      expect(await told(second.chat)).toEqual([
        "user: Hi",
        ...surfaced,
        "B: B 1",
        "user: Hi",
        ...surfaced,
        "B: B 1",
      ]);
      const inside = ["user: Hi", "X: X 1", "Y: Y 1", "B: B 1", "user: Hi", "X: X 1", "Y: Y 1", "B: B 1"];
      expect(await told(second.chat, second.chat.agents[0])).toEqual(inside);
      expect(await told(second.chatInside)).toEqual(inside);
    }
  });

  /** Two chats on stores, as a process opens them. The outer chat's next commit that contains `text` fails. */
  function opened(
    mode: AggregatorMode,
    drivers: readonly [WatchedDriver, WatchedDriver],
    termination?: Termination,
  ) {
    const [outside, inside] = drivers.map((driver) => createStores(driver).open("t"));
    const chatInside = new AgentGroupChat({
      agents: [actor("X"), actor("Y")],
      maximumIterations: 2,
      ...(termination && { termination }),
      ...(inside && { store: inside }),
    });
    const agents = [team(mode, chatInside), actor("B")];
    return { chatInside, chat: new AgentGroupChat({ agents, ...(outside && { store: outside }) }) };
  }

  async function failAt(text: string, driver: WatchedDriver, chat: AgentGroupChat) {
    const commit = driver.commit.bind(driver);
    driver.commit = async (request) => {
      if (JSON.stringify(request).includes(text)) throw new StoreError("UNAVAILABLE", "not written");
      return await commit(request);
    };
    await failureOf(listen(chat.invoke()));
    driver.commit = commit;
  }

  test("interrupted in its turn, it continues its inner chat, and no other agent takes the turn", async () => {
    const drivers = [new WatchedDriver(), new WatchedDriver()] as const;
    const doomed = opened("flat", drivers);
    await doomed.chat.addMessages([user("Hi")]);
    await take(doomed.chat.invoke(), 1);
    const { chat } = opened("flat", drivers);
    expect(await listen(chat.invoke())).toEqual(["Y: Y 1", "X: X 1"]);
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
    expect(await told(chat, chat.agents[0])).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "X: X 1", "B: B 1"]);
  });

  test.each([
    ["flat", "X 1", ["X: X 1", "Y: Y 1"]],
    ["flat", "Y 1", ["Y: Y 1"]],
    ["nested", "Y 1", ["Team: Y 1"]],
  ] as const)(
    "%s: inner messages are yielded next if the process ended before %s was stored in the outer chat",
    async (mode, text, surfaces) => {
      const drivers = [new WatchedDriver(), new WatchedDriver()] as const;
      const ends = (_agent: ChatParticipant, history: readonly ChatMessage[]) =>
        history.at(-1)?.content === "Y 1";
      const doomed = opened(mode, drivers, ends);
      await doomed.chat.addMessages([user("Hi")]);
      await failAt(text, drivers[0], doomed.chat);
      const { chat } = opened(mode, drivers, ends);
      expect(await listen(chat.invoke())).toEqual(surfaces);
      expect(await told(chat, chat.agents[0])).toEqual(["user: Hi", "X: X 1", "Y: Y 1"]);
    },
  );

  test("inner messages that the outer store rejected are yielded next, also in the same process", async () => {
    const drivers = [new WatchedDriver(), new WatchedDriver()] as const;
    const { chat } = opened("flat", drivers);
    await chat.addMessages([user("Hi")]);
    await failAt("X 1", drivers[0], chat);
    expect(await listen(chat.invoke())).toEqual(["X: X 1", "Y: Y 1", "X: X 2"]);
    expect(await told(chat)).toEqual(["user: Hi", "X: X 1", "Y: Y 1", "X: X 2"]);
  });

  test("a completed inner chat without automaticReset fails its next turn", async () => {
    const ended = new AgentGroupChat({ agents: [actor("X")], termination: () => true });
    const chat = new AgentGroupChat({ agents: [team("flat", ended)], maximumIterations: 2 });
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({
      message: "Agent Failure - Chat has completed.",
    });
    expect(await told(chat)).toEqual(["X: X 1"]);
  });

  test("can be invoked outside of a chat", async () => {
    expect(await listen(team("nested", inner()).invoke([user("Hi")]))).toEqual(["Team: Y 1"]);
  });
});

/** A flat aggregator streams its pieces as they arrive, and its messages when its turn has ended. */
function byTurn(a: string, b: string): number {
  return Number(b.includes("~")) - Number(a.includes("~"));
}
