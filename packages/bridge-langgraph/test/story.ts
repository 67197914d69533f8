import { Annotation, Command, END, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";

export type Durability = "sync" | "async" | "exit";

const State = Annotation.Root({
  topic: Annotation<string>,
  words: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  facts: Annotation<unknown>,
  verdict: Annotation<string>,
});

/** A graph with a fan-out of three tasks, values of many kinds, a large value that rarely changes, and an interrupt. */
function build(checkpointer: BaseCheckpointSaver) {
  const inner = new StateGraph(State)
    .addNode("polish", ({ topic }) => ({ words: [`polished ${topic}`] }))
    .addEdge(START, "polish")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("plan", ({ topic }) => ({
      words: [`plan ${topic}`],
      facts: {
        seen: new Set(["a"]),
        by: new Map([["k", [1, undefined]]]),
        at: /x+/gi,
        long: "é".repeat(50_000),
      },
    }))
    .addNode("work", ({ topic }: { topic: string }) => ({ words: [topic] }))
    .addNode("approve", ({ words }) => ({ verdict: interrupt(`${words.length} words?`) }))
    .addNode("inner", inner)
    .addNode("finish", ({ verdict }) => ({ words: [`${verdict}!`] }))
    .addEdge(START, "plan")
    .addConditionalEdges(
      "plan",
      ({ topic }) => [1, 2, 3].map((n) => new Send("work", { topic: `${topic} ${n}` })),
      ["work"],
    )
    .addEdge("work", "approve")
    .addEdge("approve", "inner")
    .addEdge("inner", "finish")
    .addEdge("finish", END)
    .compile({ checkpointer });
}

export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of all) found.push(one);
  return found;
}

/** Two turns of a conversation with interrupts, forks and edits; every step has its own saver, as in a new process. */
export async function tellStory(
  connect: () => BaseCheckpointSaver,
  durability: Durability,
): Promise<unknown[]> {
  const config = { configurable: { thread_id: "story" } };
  const options = { ...config, durability };
  const graph = () => build(connect());
  const steps: (() => Promise<unknown>)[] = [
    () => graph().getState(config),
    () => graph().invoke({ topic: "tram" }, options),
    () => graph().getState(config, { subgraphs: true }),
    () => graph().invoke(new Command({ resume: "yes" }), options),
    () => graph().getState(config),
    () => graph().invoke({ topic: "boat" }, options),
    () => graph().invoke(new Command({ resume: "no" }), options),
    () => collect(graph().getStateHistory(config)),
    () => collect(graph().getStateHistory(config, { limit: 2 })),
    () => collect(graph().getStateHistory(config, { filter: { source: "input" } })),
    async () => {
      const [, , third] = await collect(graph().getStateHistory(config));
      return await collect(graph().getStateHistory(config, { before: third?.config ?? {} }));
    },
    async () => {
      // A fork from the first turn, resumed with another answer, and a second fork from the same checkpoint.
      const history = await collect(graph().getStateHistory(config));
      const asked = history.filter(({ next }) => next.includes("approve")).at(-1);
      const first = await graph().invoke(new Command({ resume: "fork a" }), { ...options, ...asked?.config });
      const second = await graph().invoke(new Command({ resume: "fork b" }), {
        ...options,
        ...asked?.config,
      });
      return [first, second, await graph().getState(config)];
    },
    async () => {
      // Two branches with different values at the same versions, resumed with different answers, in turns.
      const history = await collect(graph().getStateHistory(config));
      const asked = history.find(({ next }) => next.includes("approve"))?.config ?? config;
      const left = await graph().updateState(asked, { topic: "left", words: ["l"] }, "work");
      const right = await graph().updateState(asked, { topic: "right", words: ["r"] }, "work");
      const ends = [
        await graph().invoke(new Command({ resume: "to the left" }), { ...options, ...left }),
        await graph().invoke(new Command({ resume: "to the right" }), { ...options, ...right }),
      ];
      return [ends, await graph().getState(left), await graph().getState(right)];
    },
    async () => {
      const edited = await graph().updateState(config, { words: ["edited"] }, "finish");
      return [edited, await graph().getState(edited), await graph().getState(config)];
    },
    async () => {
      const history = await collect(graph().getStateHistory(config));
      const copies: unknown[] = [];
      for (const place of [1, Math.floor(history.length / 2), history.length - 1]) {
        const source = history[place]?.config ?? config;
        const copy = await graph().updateState(source, null, "__copy__");
        copies.push(await graph().getState(copy));
      }
      return copies;
    },
    () => collect(graph().getStateHistory(config)),
    async () => byNamespace(await collect(connect().list(config))),
    async () => {
      await connect().deleteThread("story");
      return [await graph().getState(config), await collect(connect().list(config))];
    },
  ];
  const told: unknown[] = [];
  for (const step of steps) told.push(await step());
  return told.map((one, index) => withNamedIds(one, index));
}

/** MemorySaver lists one namespace after the other; other savers list by id. */
export function byNamespace(tuples: readonly CheckpointTuple[]): CheckpointTuple[][] {
  const found = new Map<string, CheckpointTuple[]>();
  for (const tuple of tuples.toSorted((a, b) => (a.checkpoint.id < b.checkpoint.id ? -1 : 1))) {
    const namespace = String(tuple.config.configurable?.checkpoint_ns);
    found.set(namespace, [...(found.get(namespace) ?? []), tuple]);
  }
  return [...found.values()];
}

/** Numbers the ids by their first appearance and removes the times, so that two equal stories compare as equal. */
export function withNamedIds(told: unknown, step: number): unknown {
  const names = new Map<string, string>();
  const nameOf = (id: string) => {
    const name = names.get(id) ?? `id ${names.size}`;
    names.set(id, name);
    return name;
  };
  const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g;
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return value.replaceAll(uuid, nameOf);
    if (Array.isArray(value)) return value.map(walk);
    if (value instanceof Set || value instanceof Map || value instanceof RegExp) return value;
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => key !== "ts" && key !== "createdAt");
    return Object.fromEntries(entries.map(([key, inner]) => [walk(key), walk(inner)]));
  };
  return { step, told: walk(told) };
}
