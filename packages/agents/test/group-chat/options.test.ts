import { describe, expect, test } from "vitest";
import {
  AgentGroupChat,
  AggregateTermination,
  AggregatorAgent,
  ModelSelection,
  ModelTermination,
  RegexTermination,
} from "../../src/group-chat/index.ts";
import { failureOf, scripted } from "../models.ts";
import { actor, listen, user } from "./cast.ts";

const a = actor("A");
const chat = () => new AgentGroupChat({ agents: [a] });
const model = scripted();

/** Values that a caller without types may pass. */
const given = (value: unknown) => value as never;

describe("invalid options are rejected by the constructor, by name", () => {
  test.each<[string, () => unknown, string]>([
    ["no object", () => new AgentGroupChat(given("x")), "AgentGroupChat: options must be an object"],
    ["unknown", () => new AgentGroupChat(given({ agent: a })), 'AgentGroupChat: unknown option "agent"'],
    [
      "agents",
      () => new AgentGroupChat({ agents: given(a) }),
      "AgentGroupChat: agents must be an array of agents",
    ],
    [
      "an agent",
      () => new AgentGroupChat({ agents: [a, given({ id: "b" })] }),
      "agents[1] must have the methods invoke",
    ],
    [
      "no id",
      () => new AgentGroupChat({ agents: [given({ invoke: a.invoke })] }),
      "agents[0] must have an id",
    ],
    ["two ids", () => new AgentGroupChat({ agents: [a, actor("A")] }), 'agent has the id "a"'],
    [
      "selection",
      () => new AgentGroupChat({ selection: given({}) }),
      "selection must be a function, or an object",
    ],
    [
      "termination",
      () => new AgentGroupChat({ termination: given(true) }),
      "termination must be a function, or an object",
    ],
    [
      "initialAgent",
      () => new AgentGroupChat({ initialAgent: given("a") }),
      "AgentGroupChat: initialAgent must be an object",
    ],
    [
      "maximumIterations",
      () => new AgentGroupChat({ maximumIterations: 0 }),
      "maximumIterations must be a positive integer",
    ],
    [
      "a fraction",
      () => new AgentGroupChat({ maximumIterations: 1.5 }),
      "maximumIterations must be a positive integer",
    ],
    [
      "automaticReset",
      () => new AgentGroupChat({ automaticReset: given(1) }),
      "automaticReset must be true or false",
    ],
    [
      "store",
      () => new AgentGroupChat({ store: given({}) }),
      "AgentGroupChat: store must have the methods commit",
    ],
    [
      "aggregator's chat",
      () => new AggregatorAgent({ name: "T", mode: "flat", chat: given({}) }),
      "chat must be an AgentChat",
    ],
    [
      "aggregator's mode",
      () => new AggregatorAgent({ name: "T", mode: given("deep"), chat }),
      'mode must be "flat" or "nested"',
    ],
    [
      "aggregator without name",
      () => new AggregatorAgent(given({ mode: "flat", chat })),
      "AggregatorAgent: name must be a non-empty string",
    ],
    [
      "aggregator without all",
      () => new AggregatorAgent(given(undefined)),
      "AggregatorAgent: name must be a non-empty string",
    ],
    [
      "selection without model",
      () => new ModelSelection(given({})),
      "ModelSelection: model must be a language model",
    ],
    [
      "selection's model",
      () => new ModelSelection({ model: given(1) }),
      "ModelSelection: model must be a language model",
    ],
    [
      "selection's prompt",
      () => new ModelSelection({ model, prompt: "" }),
      "prompt must be a non-empty string",
    ],
    [
      "selection's reducer",
      () => new ModelSelection({ model, historyReducer: given({}) }),
      "historyReducer must have",
    ],
    [
      "termination without model",
      () => new ModelTermination(given(undefined)),
      "ModelTermination: model must be a language model",
    ],
    [
      "termination's scope",
      () => new ModelTermination({ model, agents: given("a") }),
      "agents must be an array of agents",
    ],
    ["no patterns", () => new RegexTermination([]), "RegexTermination: patterns must not be empty"],
    ["a pattern", () => new RegexTermination(["ok", given(1)]), "patterns[1] must be a regular expression"],
    ["an invalid pattern", () => new RegexTermination("("), "patterns[0] must be a regular expression"],
    ["no terminations", () => new AggregateTermination([]), "terminations must be a non-empty array"],
    ["a termination", () => new AggregateTermination([given(1)]), "terminations[0] must be a function"],
    [
      "a condition",
      () => new AggregateTermination([() => true], given("some")),
      'condition must be "all" or "any"',
    ],
  ])("%s", async (_what, make, problem) => {
    const error = await failureOf(make);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });
});

describe("invalid arguments are rejected by name, and change nothing", () => {
  test.each<[string, (one: AgentGroupChat) => Promise<unknown>, string]>([
    [
      "addMessages without a list",
      (one) => one.addMessages(given(user("secret"))),
      "addMessages: messages must be an array",
    ],
    [
      "addMessages without a message",
      (one) => one.addMessages([user("x"), given({ role: "x", content: "secret" })]),
      "addMessages: messages[1]: role",
    ],
    [
      "addMessages with an unstorable value",
      (one) => one.addMessages([{ ...user("secret"), metadata: () => 1 }]),
      "metadata",
    ],
    [
      "addMessages' options",
      (one) => one.addMessages([], given({ signals: 1 })),
      'addMessages: unknown option "signals"',
    ],
    ["getMessages' agent", (one) => one.getMessages(given("a")), "getMessages: agent must be an object"],
    ["invoke's agent", (one) => listen(one.invoke(given({}))), "invoke: agent must have the methods invoke"],
    [
      "invoke's signal",
      (one) => listen(one.invoke(undefined, given({ signal: 1 }))),
      "invoke: signal must be an AbortSignal",
    ],
    [
      "invokeStream's agent",
      (one) => one.invokeStream(given({ invoke: 1 })).next(),
      "invokeStream: agent must have",
    ],
    [
      "a reducer",
      (one) => listen(one.invoke(given({ ...actor("B"), reducer: {} }))),
      "invoke: agent.reducer must have",
    ],
    [
      "a name",
      (one) => listen(one.invoke(given({ ...actor("B"), name: 1 }))),
      "invoke: agent.name must be a non-empty string",
    ],
    [
      "a channel",
      (one) => listen(one.invoke(actor("B", [], { createChannel: () => given({}) }))),
      'createChannel of agent "b": result',
    ],
    [
      "an agent's message",
      (one) => listen(one.invoke(actor("B", [given([{ role: "x" }])]))),
      'agent "b": message[0]: role',
    ],
  ])("%s", async (_what, call, problem) => {
    const one = chat();
    await one.addMessages([user("Hi")]);
    const error = await failureOf(call(one));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
    expect((error as Error).message).not.toContain("secret");
    expect(await one.getMessages()).toHaveLength(1);
  });
});
