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
  test.each<[problem: string, make: () => unknown]>([
    ["AgentGroupChat: options must be an object", () => new AgentGroupChat(given("x"))],
    ['AgentGroupChat: unknown option "agent"', () => new AgentGroupChat(given({ agent: a }))],
    ["AgentGroupChat: agents must be an array of agents", () => new AgentGroupChat({ agents: given(a) })],
    ["agents[1] must have the methods invoke", () => new AgentGroupChat({ agents: [a, given({ id: "b" })] })],
    ["agents[0] must have an id", () => new AgentGroupChat({ agents: [given({ invoke: a.invoke })] })],
    ['agent has the id "a"', () => new AgentGroupChat({ agents: [a, actor("A")] })],
    ["selection must be a function, or an object", () => new AgentGroupChat({ selection: given({}) })],
    ["termination must be a function, or an object", () => new AgentGroupChat({ termination: given(true) })],
    [
      "AgentGroupChat: initialAgent must be an object",
      () => new AgentGroupChat({ initialAgent: given("a") }),
    ],
    ["maximumIterations must be a positive integer", () => new AgentGroupChat({ maximumIterations: 0 })],
    ["maximumIterations must be a positive integer", () => new AgentGroupChat({ maximumIterations: 1.5 })],
    ["automaticReset must be true or false", () => new AgentGroupChat({ automaticReset: given(1) })],
    ["AgentGroupChat: store must have the methods commit", () => new AgentGroupChat({ store: given({}) })],
    ["chat must be an AgentChat", () => new AggregatorAgent({ name: "T", mode: "flat", chat: given({}) })],
    ['mode must be "flat" or "nested"', () => new AggregatorAgent({ name: "T", mode: given("deep"), chat })],
    [
      "AggregatorAgent: name must be a non-empty string",
      () => new AggregatorAgent(given({ mode: "flat", chat })),
    ],
    ["AggregatorAgent: name must be a non-empty string", () => new AggregatorAgent(given(undefined))],
    ["ModelSelection: model must be a language model", () => new ModelSelection(given({}))],
    ["ModelSelection: model must be a language model", () => new ModelSelection({ model: given(1) })],
    ["prompt must be a non-empty string", () => new ModelSelection({ model, prompt: "" })],
    ["historyReducer must have", () => new ModelSelection({ model, historyReducer: given({}) })],
    ["ModelTermination: model must be a language model", () => new ModelTermination(given(undefined))],
    ["agents must be an array of agents", () => new ModelTermination({ model, agents: given("a") })],
    ["RegexTermination: patterns must not be empty", () => new RegexTermination([])],
    ["patterns[1] must be a regular expression", () => new RegexTermination(["ok", given(1)])],
    ["patterns[0] must be a regular expression", () => new RegexTermination("(")],
    ["terminations must be a non-empty array", () => new AggregateTermination([])],
    ["terminations[0] must be a function", () => new AggregateTermination([given(1)])],
    ['condition must be "all" or "any"', () => new AggregateTermination([() => true], given("some"))],
  ])("%s", async (problem, make) => {
    const error = await failureOf(make);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });
});

describe("invalid arguments are rejected by name, and change nothing", () => {
  test.each<[problem: string, call: (one: AgentGroupChat) => Promise<unknown>]>([
    ["addMessages: messages must be an array", (one) => one.addMessages(given(user("secret")))],
    [
      "addMessages: messages[1]: role",
      (one) => one.addMessages([user("x"), given({ role: "x", content: "secret" })]),
    ],
    ["metadata", (one) => one.addMessages([{ ...user("secret"), metadata: () => 1 }])],
    ['addMessages: unknown option "signals"', (one) => one.addMessages([], given({ signals: 1 }))],
    ["getMessages: agent must be an object", (one) => one.getMessages(given("a"))],
    ["invoke: agent must have the methods invoke", (one) => listen(one.invoke(given({})))],
    ["invoke: signal must be an AbortSignal", (one) => listen(one.invoke(undefined, given({ signal: 1 })))],
    ["invokeStream: agent must have", (one) => one.invokeStream(given({ invoke: 1 })).next()],
    ["invoke: agent.reducer must have", (one) => listen(one.invoke(given({ ...actor("B"), reducer: {} })))],
    [
      "invoke: agent.name must be a non-empty string",
      (one) => listen(one.invoke(given({ ...actor("B"), name: 1 }))),
    ],
    [
      'createChannel of agent "b": result',
      (one) => listen(one.invoke(actor("B", [], { createChannel: () => given({}) }))),
    ],
    ['agent "b": message[0]: role', (one) => listen(one.invoke(actor("B", [given([{ role: "x" }])])))],
  ])("%s", async (problem, call) => {
    const one = chat();
    await one.addMessages([user("Hi")]);
    const error = await failureOf(call(one));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
    expect((error as Error).message).not.toContain("secret");
    expect(await one.getMessages()).toHaveLength(1);
  });
});
