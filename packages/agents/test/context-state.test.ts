import { type ChatMessage, createMemoryStores, StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentThread, ChatAgent, type ContextProvider, openaiResponses } from "../src/index.ts";
import { asked, failureOf, scripted } from "./models.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const json = (value: unknown) => JSON.parse(JSON.stringify(value));

describe("threadCreated", () => {
  const telling = (reported: string[]): ContextProvider => ({
    threadCreated: async (id) => void reported.push(id),
  });

  test("is called once, when a new thread gets its store, and not again after a restart", async () => {
    const reported: string[] = [];
    const agent = new ChatAgent({ model: scripted(() => "x"), contextProviders: [telling(reported)] });
    const thread = agent.getNewThread();
    await thread.serialize();
    expect(reported).toEqual([]);
    await agent.run("one", { thread });
    await agent.run("two", { thread });
    const id = thread.messageStore?.threadId;
    expect(reported).toEqual([id]);
    const resumed = await agent.deserializeThread(json(await thread.serialize()));
    await agent.run("three", { thread: resumed });
    expect(reported).toEqual([id]);
  });

  test("is called once for a thread with a store, before its first run, message or serialization", async () => {
    for (const first of ["run", "onNewMessages", "serialize"]) {
      const reported: string[] = [];
      const agent = new ChatAgent({ model: scripted(() => "x"), contextProviders: [telling(reported)] });
      const thread = agent.getNewThread({ messageStore: createMemoryStores().open("t") });
      if (first === "onNewMessages") await thread.onNewMessages(user("a"));
      if (first === "serialize") await thread.serialize();
      await Promise.all([1, 2].map(() => agent.run("one", { thread, onConflict: "append" })));
      expect(reported).toEqual(["t"]);
    }
  });

  test("is called before a state with the id is returned, and not by the process that restores it", async () => {
    const reported: string[] = [];
    const agent = new ChatAgent({ model: scripted(() => "x"), contextProviders: [telling(reported)] });
    const thread = agent.getNewThread({ messageStore: createMemoryStores().open("t") });
    const state = json(await thread.serialize());
    expect(reported).toEqual(["t"]);
    await agent.run("one", { thread: await agent.deserializeThread(state) });
    expect(reported).toEqual(["t"]);
  });

  test("is called with the service's id once it exists", async () => {
    const reported: string[] = [];
    const model = scripted(() => ({ text: "x", metadata: { openai: { responseId: "resp_1" } } }));
    const agent = new ChatAgent({
      model,
      serviceThread: openaiResponses,
      contextProviders: [telling(reported)],
    });
    const thread = agent.getNewThread();
    await agent.run("one", { thread });
    await agent.run("two", { thread });
    expect(reported).toEqual(["resp_1"]);
  });

  test("fails the run if it throws, and is called again by the next run", async () => {
    const reported: string[] = [];
    let broken = true;
    const agent = new ChatAgent({
      model: scripted(() => "x"),
      contextProviders: [
        telling(reported),
        {
          threadCreated: (id) => {
            if (broken) throw new Error("not now");
            reported.push(`second ${id}`);
          },
        },
      ],
    });
    const thread = agent.getNewThread({ messageStore: createMemoryStores().open("t") });
    expect(String(await failureOf(agent.run("one", { thread })))).toContain("not now");
    expect(await thread.messageStore?.listMessages()).toEqual([{ role: "user", content: "one" }]);
    broken = false;
    await agent.run("one", { thread });
    expect(reported).toEqual(["t", "second t"]);
  });
});

describe("the state of providers", () => {
  class Names implements ContextProvider {
    names: string[] = [];
    closed = 0;
    async invoking(messages: readonly ChatMessage[]) {
      for (const { content } of messages) this.names.push(String(content));
      return { instructions: `Known: ${this.names}` };
    }
    async serialize() {
      return { names: this.names };
    }
    async updateFromState(state: unknown) {
      const { names } = state as { names: string[] };
      if (!Array.isArray(names)) throw new Error("no names");
      this.names = [...names];
    }
    async close() {
      this.closed += 1;
    }
  }

  test("is kept in the thread's state, and restored in another process", async () => {
    const model = scripted(() => "x");
    const agentOf = () =>
      new ChatAgent({ model, contextProviders: [{ close: async () => {} }, new Names()] });
    const first = agentOf();
    const thread = first.getNewThread();
    await first.run("Alice", { thread });
    const state = json(await thread.serialize());
    expect(state.contextStates).toEqual([{ names: ["Alice"] }]);
    const second = agentOf();
    await second.run("Bob", { thread: await second.deserializeThread(state) });
    expect(asked(model)[0]).toBe("system: Known: Alice,Bob");
  });

  test("is separate for each thread if a function creates the providers, which are closed with the thread", async () => {
    const made: Names[] = [];
    const model = scripted(() => "x");
    const agent = new ChatAgent({
      model,
      contextProviders: () => {
        const names = new Names();
        made.push(names);
        return [names];
      },
    });
    const [a, b] = [agent.getNewThread(), agent.getNewThread()];
    await agent.run("Alice", { thread: a });
    await agent.run("Bob", { thread: b });
    expect(asked(model)[0]).toBe("system: Known: Bob");
    const resumed = await agent.deserializeThread(json(await a.serialize()));
    await agent.run("Carol", { thread: resumed });
    expect(asked(model)[0]).toBe("system: Known: Alice,Carol");
    await a[Symbol.asyncDispose]();
    await agent.run("a one-off");
    const foreign = new AgentThread();
    await agent.run("Dora", { thread: foreign });
    await foreign.close();
    await agent.close();
    expect(made.map(({ closed }) => closed)).toEqual([1, 0, 0, 1, 1]);
  });

  test("of providers shared by all threads is closed with the agent, not with a thread", async () => {
    const names = new Names();
    {
      await using agent = new ChatAgent({ model: scripted(() => "x"), contextProviders: [names] });
      await using thread = agent.getNewThread();
      await agent.run("Hi", { thread });
      await agent.run("Hi");
      await thread.close();
      expect(names.closed).toBe(0);
    }
    expect(names.closed).toBe(1);
  });

  test("fails with INVALID_STATE if a provider refuses it or the number of providers differs", async () => {
    const agent = new ChatAgent({ model: scripted(), contextProviders: [new Names()] });
    const state = { type: "scrollback.thread", version: 1 };
    const refused = await failureOf(agent.deserializeThread({ ...state, contextStates: [{}] }));
    expect(refused).toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining("contextStates[0]"),
      cause: expect.objectContaining({ message: "no names" }),
    });
    const more = await failureOf(agent.deserializeThread({ ...state, contextStates: [{}, {}] }));
    expect(StoreError.is(more, "INVALID_STATE")).toBe(true);
  });

  test("is rejected by serialize if it is not JSON", async () => {
    for (const bad of [10n, () => 1]) {
      const agent = new ChatAgent({
        model: scripted(),
        contextProviders: [{ serialize: async () => bad }],
      });
      expect(await failureOf(agent.getNewThread().serialize())).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: "contextProviders[0].serialize must return plain JSON",
      });
    }
  });
});
