import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { Mem0Memory } from "../src/index.ts";
import { useMem0 } from "./mem0-scene.ts";
import { apiKey } from "./mem0-server.ts";
import { asked, failureOf, scripted, weatherCall } from "./models.ts";

// Turns off the client's telemetry. The client reads the variable when it is loaded.
vi.hoisted(() => {
  process.env.MEM0_TELEMETRY = "false";
});

const header = "## Memories\nConsider the following memories when answering user questions:";

const mem0 = useMem0();
const { memoryOf, agentWith } = mem0;

describe("a memory", () => {
  test("of one thread is known in another, as one message before the input, and is stored in neither", async () => {
    const { agent, model } = agentWith(memoryOf({}));
    await agent.run("I like green tea.", { thread: agent.getNewThread() });
    await agent.run("My green bike is new.", { thread: agent.getNewThread() });
    const thread = agent.getNewThread();
    await agent.run("What green things do I have?", { thread });
    expect(asked(model)).toEqual([
      `user: ${header}\nI like green tea.\nMy green bike is new.`,
      "user: What green things do I have?",
    ]);
    expect(await thread.messageStore?.listMessages()).toHaveLength(2);
    expect(mem0.reported).toEqual([]);
  });

  test("is the text of user, model and application messages, without tool messages and blank ones", async () => {
    const model = scripted(weatherCall("Ghent"), "21 degrees.");
    const { agent } = agentWith(memoryOf({}), model);
    await agent.run([
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "  \n" },
      {
        role: "user",
        content: [
          { type: "text", text: "How warm" },
          { type: "text", text: "is it?" },
        ],
      },
      { role: "tool", content: "a tool's words" },
    ]);
    expect(mem0.server.added).toEqual([
      {
        messages: [
          { role: "system", content: "Answer briefly." },
          { role: "user", content: "How warm\nis it?" },
          { role: "assistant", content: "21 degrees." },
        ],
        user_id: "alice",
      },
    ]);
  });

  test("is not created by a failed run", async () => {
    const { agent } = agentWith(memoryOf({}), scripted({ error: new Error("out") }));
    await failureOf(agent.run("I like tea."));
    expect(mem0.server.added).toEqual([]);
  });
});

describe("a search", () => {
  test("is for the text of the new input", async () => {
    const { agent } = agentWith(memoryOf({}));
    const thread = agent.getNewThread();
    await agent.run("one", { thread });
    await agent.run(
      [
        { role: "user", content: "two" },
        { role: "user", content: "three" },
      ],
      { thread },
    );
    expect(mem0.server.searches.map(({ query }) => query)).toEqual(["one", "two\nthree"]);
  });

  test("is not sent for a blank query", async () => {
    const { agent, model } = agentWith(memoryOf({}));
    await agent.run(" \n ");
    expect(mem0.server.searches).toEqual([]);
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  test("accepts a plain list as the reply", async () => {
    mem0.server.answersLists = true;
    const { agent, model } = agentWith(memoryOf({}));
    await agent.run("I like green tea.");
    await agent.run("Which tea is green?");
    expect(asked(model)[0]).toBe(`user: ${header}\nI like green tea.`);
  });

  test("without results injects nothing", async () => {
    const { agent, model } = agentWith(memoryOf({}));
    await agent.run("Which tea is green?");
    expect(asked(model)).toEqual(["user: Which tea is green?"]);
  });

  test("puts its results under the given header", async () => {
    const { agent, model } = agentWith(memoryOf({ header: "You know:" }));
    await agent.run("I like green tea.");
    await agent.run("Which tea is green?");
    expect(asked(model)[0]).toBe("user: You know:\nI like green tea.");
  });

  test("that hangs ends with the run's signal", async () => {
    mem0.server.hangs = true;
    const { agent } = agentWith(memoryOf({}));
    const error = await failureOf(agent.run("Hi", { signal: AbortSignal.timeout(50) }));
    expect(StoreError.is(error, "ABORTED")).toBe(true);
  });
});

describe("scopes", () => {
  test("a run without any id fails", async () => {
    const memory = new Mem0Memory({ apiKey, host: mem0.server.url });
    const { agent, model } = agentWith(memory);
    expect(await failureOf(agent.run("Hi"))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("userId, agentId, applicationId and threadId"),
    });
    expect(model.doGenerateCalls).toHaveLength(0);
  });

  test.each([
    [{ userId: "u" }, { user_id: "u" }, [{ user_id: "u" }]],
    [{ agentId: "a" }, { agent_id: "a" }, [{ agent_id: "a" }]],
    [{ applicationId: "p" }, { app_id: "p" }, [{ app_id: "p" }]],
    [{ threadId: "t" }, { run_id: "t" }, [{ run_id: "t" }]],
    [
      { userId: "u", agentId: "a", applicationId: "p", threadId: "t" },
      { user_id: "u", agent_id: "a", app_id: "p", run_id: "t" },
      [{ user_id: "u" }, { app_id: "p" }, { run_id: "t" }],
    ],
  ])("%o saves with %o and searches by %o", async (ids, saved, filters) => {
    const { agent, model } = agentWith(new Mem0Memory({ apiKey, host: mem0.server.url, ...ids }));
    await agent.run("I like green tea.");
    await agent.run("Which tea is green?");
    const { messages: _messages, ...scope } = mem0.server.added[0] ?? { messages: [] };
    expect(scope).toEqual(saved);
    expect(mem0.server.searches[0]?.filters).toEqual({ AND: filters });
    expect(asked(model)[0]).toContain("I like green tea.");
  });
});

describe("scopeToThread", () => {
  const scoped = () => new Mem0Memory({ apiKey, host: mem0.server.url, scopeToThread: true });

  test("keeps memories in the thread, also after a restart", async () => {
    const stores = createMemoryStores();
    const { agent } = agentWith(scoped());
    const thread = agent.getNewThread({ messageStore: stores.open("t1") });
    await agent.run("I like green tea.", { thread });
    expect(mem0.server.added[0]).toMatchObject({ run_id: "t1" });
    const state = JSON.parse(JSON.stringify(await thread.serialize()));
    const { agent: later, model } = agentWith(scoped());
    await later.run("Which tea is green?", { thread: await later.deserializeThread(state) });
    expect(asked(model)).toContain(`user: ${header}\nI like green tea.`);
    const { agent: other, model: elsewhere } = agentWith(scoped());
    await other.run("Which tea is green?", { thread: other.getNewThread() });
    expect(asked(elsewhere)).toEqual(["user: Which tea is green?"]);
  });

  test("serves one thread: a run on another, new or restored, fails", async () => {
    const stores = createMemoryStores();
    const { agent } = agentWith(scoped());
    const thread = agent.getNewThread({ messageStore: stores.open("t1") });
    await agent.run("Hi", { thread });
    const other = agent.getNewThread({ messageStore: stores.open("t2") });
    expect(await failureOf(agent.run("Hi", { thread: other }))).toMatchObject({ code: "CONFLICT" });
    await agent.run("Still me", { thread });
    const { agent: second } = agentWith(scoped());
    const elsewhere = second.getNewThread({ messageStore: stores.open("t3") });
    await second.run("Hi", { thread: elsewhere });
    const state = await elsewhere.serialize();
    expect(await failureOf(agent.deserializeThread(state))).toMatchObject({
      code: "INVALID_STATE",
      cause: { code: "CONFLICT" },
    });
  });

  test("needs a thread", async () => {
    const { agent } = agentWith(scoped());
    expect(await failureOf(agent.run("Hi"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
