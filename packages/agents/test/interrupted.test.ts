import { type ChatMessage, createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import { approvalIn, asked, failureOf, lines, scripted, weatherCall, weatherTools } from "./models.ts";
import { WatchedDriver } from "./watched-driver.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());
const persistModes = ["onSuccess", "eachStep"] as const;
const both = Object.keys(ways).flatMap((way) => persistModes.map((persist) => [way, persist] as const));
const out = new Error("the model is out");

describe.each(both)('%s, persist "%s"', (way, persist) => {
  const runIt = ways[way as keyof typeof ways];

  test("the input is stored before the model is called", async () => {
    const seen: string[][] = [];
    const model = scripted(async () => {
      seen.push(await listOf("t"));
      return "Hello.";
    });
    const agent = new ChatAgent({ model, persist });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "Hi", { thread });
    await runIt(agent, [{ role: "user", content: "Bye" }], { thread });
    expect(seen).toEqual([["user: Hi"], ["user: Hi", "assistant: Hello.", "user: Bye"]]);
    expect(await listOf("t")).toHaveLength(4);
  });

  test("a failing model loses neither the input nor finished steps", async () => {
    const model = scripted(weatherCall("Ghent"), weatherCall("Bruges"), { error: out });
    const agent = new ChatAgent({ model, tools: weatherTools().tools, persist });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    expect(await failureOf(runIt(agent, "Compare", { thread }))).toBe(out);
    expect(await listOf("t")).toEqual([
      "user: Compare",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

  test("a retried run doubles nothing, and its tools do not run again", async () => {
    const weather = weatherTools();
    const model = scripted({ error: out }, weatherCall("Ghent"), { error: out }, "21 degrees.");
    const agent = new ChatAgent({
      model,
      tools: weather.tools,
      persist,
      contextProviders: [{ invoking: async () => ({ messages: [{ role: "user", content: "by the way" }] }) }],
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      // Simulates a restarted process.
      const thread = agent.getNewThread({ messageStore: stores.open("t") });
      const running = runIt(agent, "How warm?", { thread });
      if (attempt < 2) expect(await failureOf(running)).toBe(out);
      else await running;
    }
    expect(await listOf("t")).toEqual([
      "user: How warm?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
    expect(weather.asked).toEqual(["Ghent"]);
    expect(asked(model)).toEqual([
      "user: by the way",
      "user: How warm?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

  test("an approval whose run failed is retried in one exchange", async () => {
    const weather = weatherTools();
    const model = scripted(weatherCall("Ghent"), { error: out }, "21 degrees.");
    const agent = new ChatAgent({
      model,
      persist,
      tools: { weather: { ...weather.tools.weather, needsApproval: true } as never },
      contextProviders: [{ invoking: async () => ({ messages: [{ role: "user", content: "by the way" }] }) }],
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "How warm?", { thread });
    const approvalId = approvalIn(await stores.open("t").listMessages());
    const approval: ChatMessage = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved: true }],
    };
    expect(await failureOf(runIt(agent, approval, { thread }))).toBe(out);
    await runIt(agent, approval, { thread });
    expect(weather.asked).toEqual(["Ghent"]);
    expect(await listOf("t")).toEqual([
      "user: How warm?",
      "assistant: [tool-call] [tool-approval-request]",
      "tool: [tool-approval-response]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
    expect(asked(model)).toEqual([
      "user: How warm?",
      "user: by the way",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

  test("a retry whose answer was stored without a reply returns that answer, and asks no model", async () => {
    const driver = new WatchedDriver();
    driver.isRepeated = false;
    const lossy = createStores(driver);
    const weather = weatherTools();
    let calls = 0;
    const model = scripted(async () => {
      calls += 1;
      if (calls === 1) return weatherCall("Ghent");
      if (calls === 2) driver.repliesToLose = 1;
      return "21 degrees.";
    });
    const agent = new ChatAgent({ model, tools: weather.tools, persist });
    const input: ChatMessage = { id: "u1", role: "user", content: "How warm?" };
    const failed = await failureOf(
      runIt(agent, [input], { thread: agent.getNewThread({ messageStore: lossy.open("t") }) }),
    );
    expect(StoreError.is(failed, "UNAVAILABLE")).toBe(true);
    const stored = await lossy.open("t").listMessages();
    expect(lines(stored)).toEqual([
      "user: How warm?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ]);
    const thread = agent.getNewThread({ messageStore: lossy.open("t") });
    const result = await runIt(agent, [input], { thread });
    if (result) {
      expect(result).toMatchObject({ text: "21 degrees.", finishReason: "stop", usage: { totalTokens: 0 } });
      expect(lines(result.messages as ChatMessage[])).toEqual(lines(stored.slice(1)));
    }
    const deltas: string[] = [];
    for await (const part of agent.runStream([input], { thread }))
      if (part.type === "text-delta") deltas.push(part.text);
    expect(deltas.join("")).toBe("21 degrees.");
    expect(await lossy.open("t").listMessages()).toEqual(stored);
    expect([calls, weather.asked]).toEqual([2, ["Ghent"]]);
    expect(await runIt(agent, "And tomorrow?", { thread }).then(() => calls)).toBe(3);
  });

  test("a retry with ids after another run's turn doubles nothing, and the model gets the input last", async () => {
    const turns: (() => Promise<string>)[] = [
      async () => {
        await runIt(agent, { id: "a", role: "user", content: "A" }, { thread: "t" });
        return "too late";
      },
      async () => "to A",
      async () => "to B",
    ];
    const model = scripted(async () => (await turns.shift()?.()) ?? "too often");
    const agent = new ChatAgent({ model, persist, stores });
    const input: ChatMessage = { id: "b", role: "user", content: "B" };
    const error = await failureOf(runIt(agent, input, { thread: "t" }));
    expect(StoreError.is(error, "CONFLICT")).toBe(true);
    expect((error as Error).message).toContain(
      "the input stays stored, run again with messages of the same ids",
    );
    await runIt(agent, input, { thread: "t" });
    expect(asked(model)).toEqual(["user: A", "assistant: to A", "user: B"]);
    expect(await listOf("t")).toEqual(["user: B", "user: A", "assistant: to A", "assistant: to B"]);
  });

  test("the same text in a new turn or under another id is another message", async () => {
    const model = scripted("Yes?", "Yes!", { error: out }, "Once more.");
    const agent = new ChatAgent({ model, persist });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "Hello", { thread });
    await runIt(agent, "Hello", { thread });
    const message = (id: string): ChatMessage => ({ id, role: "user", content: "Hello" });
    await failureOf(runIt(agent, message("1"), { thread }));
    await runIt(agent, message("2"), { thread });
    expect(await listOf("t")).toEqual([
      "user: Hello",
      "assistant: Yes?",
      "user: Hello",
      "assistant: Yes!",
      "user: Hello",
      "user: Hello",
      "assistant: Once more.",
    ]);
  });

  test("a run without input continues with the stored input", async () => {
    const agent = new ChatAgent({ model: scripted({ error: out }, "Hello."), persist });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await failureOf(runIt(agent, "Hi", { thread }));
    await runIt(agent, [], { thread });
    expect(await listOf("t")).toEqual(["user: Hi", "assistant: Hello."]);
  });

  test("the model is not called if the store fails", async () => {
    const driver = new WatchedDriver();
    const model = scripted("Never.");
    const agent = new ChatAgent({ model, persist });
    const store = createStores(driver).open("t");
    const thread = agent.getNewThread({ messageStore: store });
    driver.commit = async () => {
      throw new Error("cut");
    };
    expect(await failureOf(runIt(agent, "Hi", { thread }))).toMatchObject({ code: "UNAVAILABLE" });
    expect(asked(model)).toEqual([]);
  });

  test("a failed write after a failed run is reported, and the run rejects with its own error", async () => {
    const errors: unknown[] = [];
    const driver = new WatchedDriver();
    const agent = new ChatAgent({
      model: scripted(async ({ prompt }) => {
        if (prompt.length < 2) return weatherCall("Ghent");
        await createStores(driver)
          .open("t")
          .addMessages([{ role: "user", content: "in between" }]);
        throw out;
      }),
      tools: weatherTools().tools,
      onError: (error, { source }) => errors.push([source, (error as { code?: string }).code]),
    });
    const thread = agent.getNewThread({ messageStore: createStores(driver).open("t") });
    expect(await failureOf(runIt(agent, "Hi", { thread }))).toBe(out);
    expect(errors).toEqual([["thread", "CONFLICT"]]);
  });
});

describe.each(Object.entries(ways))("%s that is aborted during a write", (_name, runIt) => {
  /** A store whose nth write is slow, and aborts the run when it begins. */
  function slowAt(nth: number, abort: AbortController) {
    const driver = new WatchedDriver();
    const commit = driver.commit.bind(driver);
    let writes = 0;
    driver.commit = async (request) => {
      if (++writes === nth) {
        abort.abort();
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      return await commit(request);
    };
    return createStores(driver);
  }

  test.each([1, 2])("finishes its write %i, and stores nothing twice", async (nth) => {
    const abort = new AbortController();
    stores = slowAt(nth, abort);
    const agent = new ChatAgent({
      model: scripted(weatherCall("Ghent"), "Never."),
      tools: weatherTools().tools,
      persist: "eachStep",
      persistPartial: true,
      onConflict: "append",
    });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const { signal } = abort;
    expect(await failureOf(runIt(agent, "Hi", { thread, signal }))).toMatchObject({ code: "ABORTED" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    const all = ["user: Hi", "assistant: [tool-call]", "tool: [tool-result]"];
    expect(await listOf("t")).toEqual(nth === 1 ? all.slice(0, 1) : all);
  });

  test("stores nothing if aborted before the write", async () => {
    const abort = new AbortController();
    const driver = new WatchedDriver();
    const read = driver.read.bind(driver);
    driver.read = async (request) => {
      abort.abort();
      return await read(request);
    };
    const agent = new ChatAgent({ model: scripted("Never.") });
    const thread = agent.getNewThread({ messageStore: createStores(driver).open("t") });
    const { signal } = abort;
    expect(await failureOf(runIt(agent, "Hi", { thread, signal }))).toMatchObject({ code: "ABORTED" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(driver.commits).toEqual([]);
  });
});
