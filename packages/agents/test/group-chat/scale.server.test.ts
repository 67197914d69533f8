import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { AgentGroupChat } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { prompts, scripted } from "../models.ts";
import { actor, listen, user } from "./cast.ts";

const TURNS = 400;
const newest = {
  settings: { newest: 10 },
  reduce: async (messages: readonly ChatMessage[]) => messages.slice(-10),
};
const heapOf = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** How long a chat of four agents takes for so many turns, and what it holds then. */
async function measure(turns: number): Promise<{ ms: number; bytes: number; messages: number }> {
  const before = heapOf();
  const agents = ["A", "B", "C", "D"].map((name) => ({
    ...actor(name),
    reducer: newest,
    async *invoke(): AsyncGenerator<ChatMessage> {
      yield { role: "assistant", content: `${name} ${"x".repeat(1_000)}` };
    },
  }));
  const store = createMemoryStores().open();
  const chat = new AgentGroupChat({ agents, maximumIterations: turns, store });
  await chat.addMessages([user("Hi")]);
  const start = performance.now();
  await listen(chat.invoke());
  const ms = performance.now() - start;
  const bytes = heapOf() - before;
  return { ms, bytes, messages: (await chat.getMessages()).length };
}

test("time and memory of a chat of 4 agents grow with its turns, and not with their square", async () => {
  await measure(TURNS);
  const ratios: { time: number; memory: number }[] = [];
  for (let round = 0; round < 3; round++) {
    const small = await measure(TURNS / 4);
    const large = await measure(TURNS);
    expect([small.messages, large.messages]).toEqual([TURNS / 4 + 1, TURNS + 1]);
    ratios.push({ time: large.ms / small.ms, memory: large.bytes / small.bytes });
  }
  // Four times the turns: 4 when linear, 16 when quadratic. The best of three, as a machine that does other things adds only.
  console.log(
    ratios.map(({ time, memory }) => `time ${time.toFixed(1)}, memory ${memory.toFixed(1)}`).join("; "),
  );
  expect(Math.min(...ratios.map(({ time }) => time))).toBeLessThan(8);
  if (globalThis.gc) expect(Math.min(...ratios.map(({ memory }) => memory))).toBeLessThan(8);
});

test("with reducers on the channels, models see bounded input, however long the chat; the history stays whole", async () => {
  const models = ["A", "B", "C", "D"].map((name) => ({ name, model: scripted(() => `${name} says it`) }));
  const agents = models.map(({ name, model }) => new ChatAgent({ id: name, name, model, reducer: newest }));
  const chat = new AgentGroupChat({ agents, maximumIterations: TURNS });
  await chat.addMessages([user("Hi")]);
  await listen(chat.invoke());
  const sizes = models.flatMap(({ model }) => prompts(model).map((prompt) => prompt.length));
  expect(sizes).toHaveLength(TURNS);
  expect(Math.max(...sizes)).toBe(10);
  expect(await chat.getMessages()).toHaveLength(TURNS + 1);
  for (const agent of agents) expect((await chat.getMessages(agent)).length).toBeLessThanOrEqual(14);
});
