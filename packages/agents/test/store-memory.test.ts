import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { ChatAgent, StoreMemory } from "../src/index.ts";
import type { ExtractFunction } from "../src/memory/extract.ts";
import { asked, failureOf, lines, prompts, scripted } from "./models.ts";
import { WatchedDriver } from "./watched-driver.ts";

const header = "## Memories\nConsider the following memories when answering user questions:";
/** Stores the text after "remember" in the user's messages. */
const extract: ExtractFunction = async ({ request }) =>
  request.flatMap(({ content }) => /remember (.+)/.exec(String(content))?.[1] ?? []);

describe("StoreMemory", () => {
  test("facts about a user are known in every thread, and are stored in none", async () => {
    const stores = createMemoryStores();
    const model = scripted(() => "Fine.");
    const agentFor = (userId: string) =>
      new ChatAgent({ model, stores, contextProviders: [new StoreMemory({ stores, userId, extract })] });
    const alice = agentFor("alice");
    await alice.run("remember Alice likes tea", { thread: alice.getNewThread() });
    await alice.run("remember Alice lives in Ghent", { thread: alice.getNewThread() });
    const thread = alice.getNewThread();
    await alice.run("What do I like?", { thread });
    expect(asked(model)).toEqual([
      `user: ${header}\nAlice likes tea\nAlice lives in Ghent`,
      "user: What do I like?",
    ]);
    expect(lines((await thread.messageStore?.listMessages()) ?? [])).toEqual([
      "user: What do I like?",
      "assistant: Fine.",
    ]);
    await agentFor("bob").run("What do I like?");
    expect(asked(model), "the memory knows nothing about another user").toEqual(["user: What do I like?"]);
  });

  test("nothing is injected without facts, and no fact is added twice", async () => {
    const stores = createMemoryStores();
    const model = scripted(() => "Fine.");
    const memory = new StoreMemory({ stores, userId: "u", extract, header: "Known:" });
    const agent = new ChatAgent({ model, contextProviders: [memory] });
    await agent.run("Hi");
    expect(asked(model)).toEqual(["user: Hi"]);
    await agent.run("remember tea");
    await agent.run("remember tea");
    expect(await memory.facts()).toEqual(["tea"]);
    expect(asked(model)[0]).toBe("user: Known:\ntea");
  });

  test("concurrent writers lose and double no fact", async () => {
    const driver = new WatchedDriver();
    const stores = createStores(driver);
    const agents = Array.from(
      { length: 8 },
      () =>
        new ChatAgent({
          model: scripted(() => "Fine."),
          contextProviders: [new StoreMemory({ stores, userId: "u", extract })],
        }),
    );
    await Promise.all(
      agents.flatMap((agent, index) => [agent.run(`remember fact ${index}`), agent.run("remember common")]),
    );
    const facts = await new StoreMemory({ stores, userId: "u", extract }).facts();
    expect(facts.sort()).toEqual(["common", ...agents.map((_, index) => `fact ${index}`)]);
  });

  test("a model can extract the facts: one per line, requested by the prompt", async () => {
    const stores = createMemoryStores();
    const extractor = scripted("- Alice likes tea.\n\n  * Alice is 30.\nAlice likes tea.\n", "", "");
    const memory = new StoreMemory({
      stores,
      userId: "u",
      extract: { model: extractor, prompt: "Take notes." },
    });
    const agent = new ChatAgent({ model: scripted(() => "Noted."), contextProviders: [memory] });
    await agent.run("I like tea, and I am 30");
    expect(await memory.facts()).toEqual(["Alice likes tea.", "Alice is 30."]);
    expect(asked(extractor)).toEqual([
      "system: Take notes.",
      "user: user: I like tea, and I am 30\n\nassistant: Noted.",
    ]);
    await agent.run("Bye");
    expect(await memory.facts()).toHaveLength(2);
    const plain = new StoreMemory({ stores, userId: "u", extract: { model: extractor } });
    await new ChatAgent({ model: scripted("x"), contextProviders: [plain] }).run("Hi");
    expect(asked(extractor)[0]).toContain("One short, complete sentence a line");
    expect(prompts(extractor)).toHaveLength(3);
  });

  test("a failed run stores no fact", async () => {
    const stores = createMemoryStores();
    const memory = new StoreMemory({ stores, userId: "u", extract });
    const agent = new ChatAgent({ model: scripted({ error: new Error("out") }), contextProviders: [memory] });
    await failureOf(agent.run("remember tea"));
    expect(await memory.facts()).toEqual([]);
  });

  test('a failed read or save is reported and fails no run, except a failed read with onFailure "throw"', async () => {
    const stores = createMemoryStores();
    const memory = new StoreMemory({ stores, userId: "u", extract });
    const strict = new StoreMemory({ stores, userId: "u", extract, onFailure: "throw" });
    await stores.close();
    const reported: [unknown, string][] = [];
    const options = {
      model: scripted(() => "Fine."),
      onError: (error: unknown, { source }: { source: string }) => void reported.push([error, source]),
    };
    const agent = new ChatAgent({ ...options, contextProviders: [memory] });
    expect((await agent.run("remember tea")).text).toBe("Fine.");
    expect(reported.map(([, source]) => source)).toEqual([
      "contextProviders[0].invoking",
      "contextProviders[0].invoked",
    ]);
    expect(reported.every(([error]) => StoreError.is(error, "CLOSED"))).toBe(true);
    const other = new ChatAgent({ ...options, contextProviders: [strict] });
    expect(await failureOf(other.run("Hi"))).toMatchObject({ code: "CLOSED" });
    expect(options.model.doGenerateCalls).toHaveLength(1);
  });

  test("a read that is aborted with the run's signal is not reported", async () => {
    const driver = new WatchedDriver();
    driver.read = () => new Promise(() => {});
    const reported: unknown[] = [];
    const agent = new ChatAgent({
      model: scripted("never"),
      onError: (error) => void reported.push(error),
      contextProviders: [new StoreMemory({ stores: createStores(driver), userId: "u", extract })],
    });
    const error = await failureOf(agent.run("Hi", { signal: AbortSignal.timeout(20) }));
    expect(StoreError.is(error, "ABORTED")).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(reported).toEqual([]);
  });
});
