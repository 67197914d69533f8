import { describe, expect, test } from "vitest";
import {
  AgentGroupChat,
  type ChatParticipant,
  RegexTermination,
  SequentialSelection,
} from "../../src/group-chat/index.ts";
import { failureOf } from "../models.ts";
import { actor, dialogue, listen, message, three, told, user } from "./cast.ts";

describe("agents", () => {
  test("are unique by id, in joining order", async () => {
    const [a, b, c] = three();
    const chat = new AgentGroupChat({ agents: [a, b, a] });
    chat.addAgent(c);
    chat.addAgent(b);
    expect(chat.agents).toEqual([a, b, c]);
    expect(() => chat.addAgent(actor("A"))).toThrow(
      'addAgent: agent has the id "a" of another agent; use a unique id',
    );
    await listen(chat.invoke(actor("D")));
    expect(chat.agents.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("invoke", () => {
  test("by default each invoke is one turn, round robin, and completes nothing", async () => {
    const chat = new AgentGroupChat({ agents: three() });
    const messages = [];
    for (let turn = 0; turn < 4; turn++) messages.push(...(await listen(chat.invoke())));
    expect(messages).toEqual(["A: A 1", "B: B 1", "C: C 1", "A: A 2"]);
    expect(chat.isComplete).toBe(false);
  });

  test("a custom termination has a limit of 99 turns, and reaching the limit is not completion", async () => {
    let asked = 0;
    const never = () => {
      asked += 1;
      return false;
    };
    const chat = new AgentGroupChat({ agents: three(), termination: never });
    expect(await listen(chat.invoke())).toHaveLength(99);
    expect(asked).toBe(99);
    expect(chat.isComplete).toBe(false);
    const short = new AgentGroupChat({ agents: three(), termination: never, maximumIterations: 2 });
    expect(await listen(short.invoke())).toEqual(["A: A 1", "B: B 1"]);
    expect(await listen(short.invoke())).toEqual(
      ["C: C 1", "A: A 1"].map((line) => line.replace("A 1", "A 2")),
    );
  });

  test("the termination is called once per turn, with the agent of the turn and the history, oldest first", async () => {
    const seen: unknown[] = [];
    const talkative = actor("A", [[message("A", "1"), message("A", "2")]]);
    const chat = new AgentGroupChat({
      agents: [talkative],
      termination: (agent, history) => {
        seen.push([agent.id, dialogue(history)]);
        return true;
      },
    });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    expect(seen).toEqual([["a", ["user: Hi", "A: 1", "A: 2"]]]);
  });

  test("a complete chat rejects another invoke, unless automaticReset is set, which continues", async () => {
    const termination = new RegexTermination("B 1");
    const chat = new AgentGroupChat({ agents: three(), termination });
    expect(await listen(chat.invoke())).toEqual(["A: A 1", "B: B 1"]);
    expect(chat.isComplete).toBe(true);
    const error = await failureOf(listen(chat.invoke()));
    expect(error).toMatchObject({ code: "INVALID_STATE", message: "Agent Failure - Chat has completed." });
    const again = new AgentGroupChat({
      agents: three(),
      termination,
      automaticReset: true,
      maximumIterations: 3,
    });
    await listen(again.invoke());
    expect(await listen(again.invoke())).toEqual(["C: C 1", "A: A 2", "B: B 2"]);
    expect(again.isComplete).toBe(false);
    expect(await told(again)).toHaveLength(5);
  });

  test("invoke(agent) takes one turn outside selection and limit, and still sets isComplete", async () => {
    const [a, b, c] = three();
    const chat = new AgentGroupChat({
      agents: [a, b],
      maximumIterations: 1,
      termination: (agent) => agent.id === "c",
    });
    expect(await listen(chat.invoke(b))).toEqual(["B: B 1"]);
    expect(chat.isComplete).toBe(false);
    expect(await listen(chat.invoke())).toEqual(["A: A 1"]);
    expect(await listen(chat.invoke(c))).toEqual(["C: C 1"]);
    expect(chat.isComplete).toBe(true);
    expect(await listen(chat.invoke(a))).toEqual(["A: A 2"]);
    expect(chat.isComplete).toBe(false);
  });

  test("a strategy that throws ends the invoke with its error; the messages stay, and the chat can continue", async () => {
    const broken = new Error("broken");
    let works = false;
    const termination = () => {
      if (works) return true;
      throw broken;
    };
    const chat = new AgentGroupChat({ agents: three(), termination });
    expect(await failureOf(listen(chat.invoke()))).toBe(broken);
    expect(await told(chat)).toEqual(["A: A 1"]);
    works = true;
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
    const lost = new AgentGroupChat({
      agents: three(),
      selection: () => {
        throw broken;
      },
    });
    await lost.addMessages([user("Hi")]);
    expect(await failureOf(listen(lost.invoke()))).toBe(broken);
    expect(await told(lost)).toEqual(["user: Hi"]);
  });

  test("an agent that failed before it answered takes the next turn again", async () => {
    const flaky = actor("A", [{ error: new Error("down") }]);
    const chat = new AgentGroupChat({ agents: [flaky, actor("B")] });
    await failureOf(listen(chat.invoke()));
    expect(await listen(chat.invoke())).toEqual(["A: A 2"]);
    expect(await listen(chat.invoke())).toEqual(["B: B 1"]);
  });

  test("after a reader stops at an answer, the next invoke calls the termination first", async () => {
    const chat = new AgentGroupChat({ agents: three(), termination: new RegexTermination("A 1") });
    for await (const _ of chat.invoke()) break;
    expect(chat.isComplete).toBe(false);
    expect(await listen(chat.invoke())).toEqual([]);
    expect(chat.isComplete).toBe(true);
  });
});

describe("selection", () => {
  test("initialAgent takes the first turn, then the selection starts from the beginning", async () => {
    const [a, b, c] = three();
    const chat = new AgentGroupChat({ agents: [a, b, c], initialAgent: c, maximumIterations: 4 });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["C: C 1", "A: A 1", "B: B 1", "C: C 2"]);
  });

  test("an initial agent that is not in the list of agents joins after them", async () => {
    const [a, b, c] = three();
    const chat = new AgentGroupChat({ agents: [a, b], initialAgent: c, maximumIterations: 4 });
    expect(await listen(chat.invoke())).toEqual(["C: C 1", "A: A 1", "B: B 1", "C: C 2"]);
  });

  test("an initial agent at index 0 does not take two turns in a row", async () => {
    const [a, b] = three();
    const chat = new AgentGroupChat({ agents: [a, b], initialAgent: a, maximumIterations: 4 });
    expect(await listen(chat.invoke())).toEqual(["A: A 1", "B: B 1", "A: A 2", "B: B 2"]);
    const other = new AgentGroupChat({ agents: [a, b], initialAgent: a });
    await listen(other.invoke(b));
    expect(await listen(other.invoke()), "it has not answered in this chat").toEqual(["A: A 3"]);
  });

  test("an empty list of agents fails", async () => {
    const error = await failureOf(listen(new AgentGroupChat().invoke()));
    expect(error).toMatchObject({
      code: "INVALID_STATE",
      message: "Agent Failure - No agents present to select.",
    });
    expect(await failureOf(new SequentialSelection().next([], []))).toMatchObject({
      message: "Agent Failure - No agents present to select.",
    });
  });

  test("SequentialSelection restarts after reset, and accepts a shorter list", async () => {
    const [a, b, c] = three();
    const selection = new SequentialSelection();
    const next = async (...agents: ChatParticipant[]) => (await selection.next(agents, [])).id;
    expect([await next(a, b, c), await next(a, b, c), await next(a, b, c)]).toEqual(["a", "b", "c"]);
    expect(await next(a, b)).toBe("b");
    expect(await next(a)).toBe("a");
    selection.reset();
    expect(await next(b, c)).toBe("b");
  });

  test("any function of agents and history is a strategy", async () => {
    const seen: unknown[] = [];
    const chat = new AgentGroupChat({
      agents: three(),
      maximumIterations: 2,
      selection: async (agents, history) => {
        seen.push([agents.map(({ id }) => id), dialogue(history)]);
        return agents.at(-history.length) as ChatParticipant;
      },
    });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["C: C 1", "B: B 1"]);
    expect(seen).toEqual([
      [["a", "b", "c"], ["user: Hi"]],
      [
        ["a", "b", "c"],
        ["user: Hi", "C: C 1"],
      ],
    ]);
  });

  test("what a selection returns must be one of the agents", async () => {
    for (const answer of [actor("D"), undefined, "a"]) {
      const chat = new AgentGroupChat({ agents: three(), selection: () => answer as ChatParticipant });
      expect(await failureOf(listen(chat.invoke()))).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: "selection: must return one of the chat's agents",
      });
    }
  });
});
