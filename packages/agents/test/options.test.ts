import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import type { ChatAgentOptions } from "../src/agent/options.ts";
import { ChatAgent, Mem0Memory, openaiResponses, StoreMemory } from "../src/index.ts";
import { failureOf, scripted } from "./models.ts";

const model = scripted();
const stores = createMemoryStores();

describe("invalid input fails with INVALID_ARGUMENT naming the field", () => {
  test.each([
    [undefined, "ChatAgent: model must be a language model"],
    [{}, "ChatAgent: model must be a language model"],
    [{ model: {} }, "ChatAgent: model must be a language model"],
    [{ model, id: "" }, "ChatAgent: id must be"],
    [{ model, name: 5 }, "ChatAgent: name must be"],
    [{ model, instructions: ["x"] }, "ChatAgent: instructions must be a string"],
    [{ model, tools: [] }, "ChatAgent: tools must be an object"],
    [{ model, stores: {} }, "ChatAgent: stores must be a store factory or a function"],
    [{ model, reducer: {} }, "ChatAgent: reducer must have the methods reduce"],
    [{ model, contextProviders: {} }, "ChatAgent: contextProviders must be an array"],
    [{ model, contextProviders: [{}] }, "ChatAgent: contextProviders[0] must have one of"],
    [
      { model, contextProviders: [{ invoking: 1 }] },
      "ChatAgent: contextProviders[0].invoking must be a function",
    ],
    [{ model, maxSteps: 0 }, "ChatAgent: maxSteps must be a positive integer"],
    [{ model, persist: "always" }, "ChatAgent: persist must be"],
    [{ model, onConflict: "merge" }, "ChatAgent: onConflict must be"],
    [{ model, serviceThread: {} }, "ChatAgent: serviceThread must have the methods send, receive"],
    [{ model, onError: "log" }, "ChatAgent: onError must be a function"],
    [{ model, store: stores }, 'ChatAgent: unknown option "store"; known options are model'],
    [{ model, stores, serviceThread: openaiResponses }, "stores and serviceThread cannot be combined"],
  ])("an agent of %o", async (options, problem) => {
    expect(await failureOf(() => new ChatAgent(options as ChatAgentOptions))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(problem),
    });
  });

  test.each([
    ["Hi", { thread: {} }, "thread must be an AgentThread"],
    ["Hi", { signal: "stop" }, "signal must be an AbortSignal"],
    ["Hi", { persist: true }, "persist must be"],
    ["Hi", { onConflict: true }, "onConflict must be"],
    ["Hi", { threads: 1 }, 'unknown option "threads"'],
    [[], {}, "input: must hold a message"],
    [5, {}, "input[0]: must be an object"],
    [undefined, {}, "input[0]: must be an object"],
    [{ role: "robot", content: "x" }, {}, "input[0]: role must be"],
    [[{ role: "user", content: "x" }, { role: "user" }], {}, "input[1]: content must be"],
  ])("a run of %o, %o", async (input, options, problem) => {
    const unused = scripted("never");
    const agent = new ChatAgent({ model: unused });
    const expected = { code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) };
    expect(await failureOf(agent.run(input as never, options as never))).toMatchObject(expected);
    expect(await failureOf(agent.runStream(input as never, options as never).next())).toMatchObject(expected);
    expect([...unused.doGenerateCalls, ...unused.doStreamCalls]).toEqual([]);
  });

  test("a rejected run leaves the thread free", async () => {
    const agent = new ChatAgent({ model: scripted("Hello.") });
    const thread = agent.getNewThread();
    await failureOf(agent.run({ role: "robot" } as never, { thread }));
    expect((await agent.run("Hi", { thread })).text).toBe("Hello.");
  });

  test("a message that cannot be stored fails the run and stores nothing", async () => {
    const agent = new ChatAgent({ model: scripted("Hello.") });
    const messageStore = stores.open();
    const thread = agent.getNewThread({ messageStore });
    const input = { role: "user" as const, content: "secret", metadata: () => 1 };
    const error = await failureOf(agent.run(input, { thread }));
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("messages[0]"),
    });
    expect(String(error)).not.toContain("secret");
    expect(await messageStore.listMessages()).toEqual([]);
  });

  test.each([
    [undefined, "client and apiKey: exactly one of them must be given"],
    [{ userId: "u" }, "client and apiKey: exactly one of them must be given"],
    [
      { apiKey: "k", client: { add() {}, search() {} } },
      "client and apiKey: exactly one of them must be given",
    ],
    [{ apiKey: "" }, "apiKey must be"],
    [{ client: {} }, "client must have the methods add, search"],
    [{ client: { add() {}, search() {} }, host: "http://x" }, "host cannot be combined with client"],
    [{ apiKey: "k", userId: 5 }, "userId must be"],
    [{ apiKey: "k", scopeToThread: "yes" }, "scopeToThread must be true or false"],
    [{ apiKey: "k", onFailure: "ignore" }, "onFailure must be"],
    [{ apiKey: "k", user: "u" }, 'unknown option "user"'],
  ])("a Mem0Memory of %o", async (options, problem) => {
    const error = await failureOf(() => new Mem0Memory(options as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });

  const extract = async () => [];
  test.each([
    [undefined, "stores must be an object with the methods open"],
    [{ stores, userId: "u" }, "extract must be a function"],
    [{ stores, extract }, "userId must be a non-empty string"],
    [{ stores: {}, userId: "u", extract }, "stores must have the methods open"],
    [{ stores, userId: "", extract }, "userId must be"],
    [{ stores, userId: "u".repeat(1_024), extract }, "userId must be at most 1024 bytes"],
    [{ stores, userId: "u", extract: {} }, "extract must be a function, or { model, prompt? }"],
    [{ stores, userId: "u", extract: { model, prompt: "" } }, "extract must be"],
    [{ stores, userId: "u", extract, onFailure: 1 }, "onFailure must be"],
    [{ stores, userId: "u", extract, key: 1 }, 'unknown option "key"'],
  ])("a StoreMemory of %o", async (options, problem) => {
    const error = await failureOf(() => new StoreMemory(options as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) });
  });
});

test("an agent has the given id or a new one, and the given name if any", () => {
  expect(new ChatAgent({ model }).id).toMatch(/^[0-9a-f-]{36}$/);
  expect(new ChatAgent({ model }).id).not.toBe(new ChatAgent({ model }).id);
  expect(new ChatAgent({ model }).name).toBeUndefined();
  expect(new ChatAgent({ model, id: "a", name: "Ann" })).toMatchObject({ id: "a", name: "Ann" });
});
