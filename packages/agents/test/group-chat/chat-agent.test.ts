import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentGroupChat } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { asked, failureOf, scripted, weatherCall, weatherTools } from "../models.ts";
import { actor, call, dialogue, listen, result, told, user } from "./cast.ts";

describe("a ChatAgent", () => {
  const ask = (model: ReturnType<typeof scripted>, name = "Writer") =>
    new ChatAgent({
      model,
      name,
      id: name.toLowerCase(),
      instructions: `Be ${name}.`,
      tools: weatherTools().tools,
    });

  test("its messages have its name; its instructions go to its model and are not stored", async () => {
    const model = scripted("A bicycle.", "Two.");
    const writer = ask(model);
    const store = createMemoryStores().open("t");
    const chat = new AgentGroupChat({ agents: [writer], store });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["Writer: A bicycle."]);
    expect(asked(model)).toEqual(["system: Be Writer.", "user: Hi"]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["system: Be Writer.", "user: Hi", "assistant: A bicycle."]);
    const stored = await store.listMessages();
    expect(dialogue(stored)).toEqual(["user: Hi", "Writer: A bicycle.", "Writer: Two."]);
    expect(JSON.stringify([stored, await store.serialize(), await told(chat, writer)])).not.toContain(
      "Be Writer",
    );
  });

  test("rejects an empty conversation", async () => {
    const chat = new AgentGroupChat({ agents: [ask(scripted("x"))] });
    expect(await failureOf(listen(chat.invoke()))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "input: must hold a message; the conversation is empty",
    });
  });

  test("sees other agents' messages as user messages with their names, and their tool calls as text", async () => {
    const model = scripted("Fine.");
    const reviewer = ask(model, "Reviewer");
    const other = actor("Writer", [
      [call("Ghent"), result("Ghent"), { role: "assistant", content: "It is warm." }],
    ]);
    const chat = new AgentGroupChat({ agents: [other, reviewer], maximumIterations: 2 });
    await chat.addMessages([user("Hi")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual([
      "system: Be Reviewer.",
      "user: Hi",
      'user: Writer: (asks weather: {"city":"Ghent"})',
      'user: Writer: (weather gave: "warm")',
      "user: Writer: It is warm.",
    ]);
  });

  test("each step of a tool run enters the history whole, before the next step begins", async () => {
    const store = createMemoryStores().open("t");
    const seen: unknown[] = [];
    const model = scripted(async () => {
      seen.push(dialogue(await store.listMessages()));
      return seen.length === 1 ? weatherCall("Ghent") : "Warm.";
    });
    const writer = ask(model);
    const chat = new AgentGroupChat({ agents: [writer], store });
    await chat.addMessages([user("Hi")]);
    expect(await listen(chat.invoke())).toEqual(["Writer: Warm."]);
    expect(seen).toEqual([["user: Hi"], ["user: Hi", "Writer: [tool-call]", "Writer: [tool-result]"]]);
    expect(asked(model)).toEqual([
      "system: Be Writer.",
      "user: Hi",
      "assistant: [tool-call]",
      "tool: [tool-result]",
    ]);
  });

  test("a tool call that waits for approval ends the turn, visibly, and continues after a user's approval", async () => {
    const { tools, asked: cities } = weatherTools();
    const model = scripted(weatherCall("Ghent", "c1"), "Warm.");
    const needing = { weather: { ...tools.weather, needsApproval: true } } as typeof tools;
    const writer = new ChatAgent({ model, name: "W", tools: needing });
    const chat = new AgentGroupChat({ agents: [writer] });
    await chat.addMessages([user("Hi")]);
    const asking = [];
    for await (const message of chat.invoke()) asking.push(message);
    const request = asking.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter((part) => part.type === "tool-approval-request"),
    )[0];
    expect(cities).toEqual([]);
    const approved = {
      type: "tool-approval-response" as const,
      approvalId: request?.approvalId ?? "",
      approved: true,
    };
    await chat.addMessages([{ role: "tool", content: [approved] }]);
    expect(await listen(chat.invoke())).toEqual(["W: Warm."]);
    expect(cities).toEqual(["Ghent"]);
  });

  test("its context providers receive the messages after its own last message", async () => {
    const queries: string[][] = [];
    const writer = new ChatAgent({
      model: scripted("one", "two"),
      name: "Writer",
      contextProviders: [{ invoking: async (messages) => void queries.push(dialogue(messages)) }],
    });
    const chat = new AgentGroupChat({ agents: [writer] });
    await chat.addMessages([user("1")]);
    await listen(chat.invoke());
    await chat.addMessages([user("2")]);
    await listen(chat.invoke());
    expect(queries).toEqual([["user: 1"], ["user: 2"]]);
  });

  test("its reducer is the channel's, and is called once per turn", async () => {
    let reductions = 0;
    const model = scripted("one", "two", "three");
    const reducer = {
      reduce: async (messages: readonly ReturnType<typeof user>[]) => {
        reductions += 1;
        return messages.slice(-1);
      },
    };
    const chat = new AgentGroupChat({ agents: [new ChatAgent({ model, name: "W", reducer })] });
    await chat.addMessages([user("1"), user("2")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["user: 2"]);
    await chat.addMessages([user("3")]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["user: 3"]);
    await listen(chat.invoke());
    expect(asked(model)).toEqual(["assistant: two"]);
    expect(reductions).toBe(3);
  });
});
