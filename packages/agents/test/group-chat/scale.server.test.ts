import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { AgentGroupChat } from "../../src/group-chat/index.ts";
import { actor, user } from "./cast.ts";

const TURNS = 400;
const newest = {
  settings: { newest: 10 },
  reduce: async (messages: readonly ChatMessage[]) => messages.slice(-10),
};

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const heapOf = () => {
  collect();
  return process.memoryUsage().heapUsed;
};

interface Measure {
  readonly ms: number;
  readonly bytes: number;
}

/** The time that a chat of four agents takes for a number of turns, and its content after them. */
async function measure(turns: number): Promise<Measure> {
  const agents = ["A", "B", "C", "D"].map((name) => ({
    ...actor(name),
    reducer: newest,
    async *invoke(): AsyncGenerator<ChatMessage> {
      yield { role: "assistant", content: Buffer.alloc(2_000, name).toString() };
    },
  }));
  const before = heapOf();
  const store = createMemoryStores().open();
  const chat = new AgentGroupChat({ agents, maximumIterations: turns, store });
  await chat.addMessages([user("Hi")]);
  // The CPU time of this process only, because other processes use the machine.
  const start = process.cpuUsage();
  for await (const _ of chat.invoke()) {
  }
  const { user: own, system } = process.cpuUsage(start);
  const ms = (own + system) / 1_000;
  const bytes = heapOf() - before;
  // The chat is referenced here, so that the measurement includes it.
  expect(await chat.getMessages()).toHaveLength(turns + 1);
  return { ms, bytes };
}

test("time and memory of a chat of 4 agents grow linearly with its turns", async () => {
  // The first run includes compiling and loading.
  await measure(TURNS);
  const small: Measure[] = [];
  const large: Measure[] = [];
  for (let round = 0; round < 5; round++) {
    small.push(await measure(TURNS / 4));
    large.push(await measure(TURNS));
  }
  // Four times the turns: a factor of 4 if linear, 16 if quadratic. The median, because the garbage of one round may be
  // collected in a later one.
  const middle = (list: readonly Measure[], of: keyof Measure) =>
    list.map((one) => one[of]).toSorted((a, b) => a - b)[2] ?? Number.NaN;
  const ratio = (of: keyof Measure) => middle(large, of) / middle(small, of);
  expect(ratio("ms")).toBeLessThan(8);
  expect(ratio("bytes")).toBeLessThan(8);
  expect(ratio("bytes"), "the measurement is valid").toBeGreaterThan(1);
});
