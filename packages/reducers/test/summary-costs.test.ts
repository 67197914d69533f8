import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { SummarizingReducer } from "../src/index.ts";
import { CACHE_SIZE, summaryMessage } from "../src/summary.ts";
import { assistant, history, idsOf, user } from "./messages.ts";
import { linesOf, saying, summarizer } from "./models.ts";

/** `turns` questions and answers, the same ones each time. */
const chat = (turns: number): ChatMessage[] =>
  Array.from({ length: turns }, (_, turn) => [user(`question ${turn}`), assistant(`answer ${turn}`)]).flat();

describe("a caller that passes the full history each time", () => {
  test("makes one model call per reduction, and sends each message once", async () => {
    const model = saying("the story so far");
    const reducer = new SummarizingReducer({ model, targetCount: 4, threshold: 4 });
    const turns = 40;
    let reductions = 0;
    for (let turn = 1; turn <= turns; turn++) {
      const before = model.doGenerateCalls.length;
      const reduced = await reducer.reduce(chat(turn));
      const calls = model.doGenerateCalls.length - before;
      expect(calls).toBeLessThanOrEqual(1);
      reductions += calls;
      expect(reduced.length).toBeLessThanOrEqual(1 + 4 + 4);
      expect(reduced.slice(-4)).toEqual(chat(turn).slice(-4));
    }
    // Each reduction needs at least five messages, so the reducer must wait between two of them.
    expect(reductions).toBeGreaterThan(5);
    expect(reductions).toBeLessThanOrEqual((2 * turns) / 5);

    const sent = model.doGenerateCalls.map(({ prompt }) => linesOf(prompt).slice(1, -1));
    for (const [index, lines] of sent.entries()) {
      expect(lines[0] === "assistant: the story so far").toBe(index > 0);
    }
    const asked = sent.flatMap((lines, index) => lines.slice(index === 0 ? 0 : 1));
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked).toEqual(linesOf(chat(turns)).slice(0, asked.length));
  });

  test("is recognised by role, author and content, not by ids and times", async () => {
    const { model, requests } = summarizer();
    const reducer = new SummarizingReducer({ model, targetCount: 2 });
    const stamped = (from: number) =>
      chat(3).map((message, index) => ({ ...message, id: `${from + index}`, createdAt: new Date(from) }));
    await reducer.reduce(stamped(1));
    await reducer.reduce(stamped(2));
    expect(requests).toHaveLength(1);
  });

  test("is not mistaken for another", async () => {
    const { model, requests } = summarizer();
    const reducer = new SummarizingReducer({ model, targetCount: 1 });
    const others: ChatMessage[][] = [
      [user("one"), assistant("two"), user("three")],
      [user("one"), assistant("TWO"), user("three")],
      [user("one"), { ...assistant("two"), authorName: "Ann" }, user("three")],
      [user("one"), { ...user("two"), authorName: "Ann" }, user("three")],
      [user("onetwo"), user("three")],
      [summaryMessage("a"), user("one"), assistant("two"), user("three")],
      [summaryMessage("b"), user("one"), assistant("two"), user("three")],
    ];
    for (const messages of others) await reducer.reduce(messages);
    expect(requests.map(({ messages }) => messages)).toEqual(others.map((messages) => messages.slice(0, -1)));
  });

  test("does not get a summary of messages that it removed", async () => {
    const { model, requests } = summarizer();
    const reducer = new SummarizingReducer({ model, targetCount: 2 });
    await reducer.reduce(chat(2));
    await reducer.reduce(chat(5));
    // The cached summary of the first four turns would leave fewer than targetCount messages.
    const reduced = await reducer.reduce(chat(4));
    expect(requests).toHaveLength(3);
    expect(requests[2]?.messages.map(({ content }) => content)).toEqual([
      "summary 1",
      "question 1",
      "answer 1",
      "question 2",
      "answer 2",
    ]);
    expect(reduced.slice(1)).toEqual(chat(4).slice(-2));
  });

  test("sends no summarised message again if the history is a kept summary and more", async () => {
    const { model, requests } = summarizer();
    const reducer = new SummarizingReducer({ model, targetCount: 1 });
    const kept = history("m u a u");
    await reducer.reduce(kept);
    const reduced = await reducer.reduce([...kept, assistant("a4")]);
    expect(idsOf(reduced)).toBe("[summary 2] [a4]");
    expect(requests.map(({ messages }) => idsOf(messages))).toEqual(["m0 u1 a2", "[summary 1] u3"]);
    await reducer.reduce(history("u a u"));
    expect(requests).toHaveLength(3);
  });
});

test("messages that cannot be encoded are summarised again each time, without an error", async () => {
  const { model, requests } = summarizer();
  const reducer = new SummarizingReducer({ model, targetCount: 1 });
  const odd = [{ type: "chart", draw: () => undefined }] as unknown as ChatMessage["content"];
  const messages: ChatMessage[] = [user("one"), { role: "assistant", content: odd }, user("three")];
  await reducer.reduce(messages);
  expect(idsOf(await reducer.reduce(messages))).toBe("[summary 2] [three]");
  expect(requests).toHaveLength(2);
});

test("the number of remembered summaries is bounded, by last use", async () => {
  const { model, requests } = summarizer();
  const reducer = new SummarizingReducer({ model, targetCount: 1 });
  const reduce = (name: string) => reducer.reduce([user(name), user("last")]);
  for (let number = 0; number < CACHE_SIZE; number++) await reduce(`chat ${number}`);
  await reduce("chat 0");
  expect(requests).toHaveLength(CACHE_SIZE);
  await reduce("one more");
  await reduce("chat 0");
  expect(requests).toHaveLength(CACHE_SIZE + 1);
  await reduce("chat 1");
  expect(requests).toHaveLength(CACHE_SIZE + 2);
});
