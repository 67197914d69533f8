import { type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  interrupt,
  type Messages,
  messagesDeltaReducer,
  Overwrite,
  START,
  StateGraph,
} from "@langchain/langgraph";
import {
  type BaseCheckpointSaver,
  type CheckpointMetadata,
  emptyCheckpoint,
  MemorySaver,
} from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listedIds } from "./checkpoints.ts";
import { collect, withNamedIds } from "./story.ts";

const config = { configurable: { thread_id: "t" } };

const messages = new DeltaChannel<BaseMessage[], Messages>(
  (state, writes) => messagesDeltaReducer(state, writes),
  { snapshotFrequency: 4 },
);
const words = new DeltaChannel<string[], string[]>((all, more) => all.concat(...more), {
  snapshotFrequency: 7,
});

const State = Annotation.Root({
  messages: () => messages,
  words: () => words,
  n: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  asks: Annotation<boolean>,
});

function build(checkpointer: BaseCheckpointSaver) {
  const child = new StateGraph(State)
    .addNode("note", ({ n }) => ({ words: [`child ${n}`] }))
    .addEdge(START, "note")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("answer", ({ n, messages }) => ({
      n: 1,
      messages: [
        new HumanMessage({ id: `answer ${n}`, content: `${n} 😀 "answer"`.repeat(20) }),
        ...(n % 3 === 2 ? messages.slice(0, 1).map(({ id = "" }) => new RemoveMessage({ id })) : []),
      ],
      words: n % 5 === 4 ? new Overwrite([`again from ${n}`]) : [`word ${n}`],
    }))
    .addNode("ask", ({ asks }) => ({ words: asks ? [String(interrupt("?"))] : [] }))
    .addNode("child", child)
    .addNode("beside", ({ n }) => ({ words: [`beside ${n}`] }))
    .addEdge(START, "answer")
    .addEdge("answer", "ask")
    .addEdge("answer", "beside")
    .addEdge("ask", "child")
    .compile({ checkpointer });
}

const step = fc.record({
  kind: fc.constantFrom("invoke" as const, "invoke" as const, "resume" as const, "update" as const),
  asks: fc.boolean(),
  /** The entry of the history to fork from, if any. */
  fork: fc.option(fc.nat(2), { nil: undefined, freq: 2 }),
  durability: fc.constantFrom("sync" as const, "async" as const, "exit" as const),
  /** The number of checkpoints that stay after the step. */
  keep: fc.option(fc.constantFrom(1, 3), { nil: undefined, freq: 2 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(checkpointer: BaseCheckpointSaver, one: Step, index: number): Promise<unknown> {
  const graph = build(checkpointer);
  const history = one.fork === undefined ? [] : await collect(graph.getStateHistory(config, { limit: 3 }));
  const from = history[one.fork ?? 0]?.config ?? config;
  const options = { ...from, durability: one.durability };
  const said = { messages: [new HumanMessage({ id: `said ${index}`, content: "hello ".repeat(20) })] };
  try {
    if (one.kind === "update") return await graph.updateState(from, { ...said, words: ["edited"] }, "answer");
    if (one.kind === "resume") return await graph.invoke(new Command({ resume: "yes" }), options);
    return await graph.invoke({ ...said, asks: one.asks }, options);
  } catch (error) {
    return String(error);
  }
}

async function readAll(checkpointer: BaseCheckpointSaver, limit: number): Promise<unknown> {
  const graph = build(checkpointer);
  return {
    state: await graph.getState(config, { subgraphs: true }),
    history: await collect(graph.getStateHistory(config, { limit })),
  };
}

test(
  "channels of deltas are exact, and stay so after old checkpoints were dropped",
  async () => {
    let dropped = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), async (steps) => {
        const own = new MemorySaver();
        const stores = createMemoryStores();
        // The checkpoints that no call has dropped: at most these are compared, and forked from.
        let limit = 1_000;
        for (const [index, one] of steps.entries()) {
          // Each step has its own saver, as in a new process.
          const connect = () => new ScrollbackSaver({ stores });
          const fork = one.fork === undefined || one.fork >= limit ? undefined : one.fork;
          const before = await collect(connect().list(config));
          const expected = [await run(own, { ...one, fork }, index), await readAll(own, limit)];
          const found = [await run(connect(), { ...one, fork }, index), await readAll(connect(), limit)];
          expect(withNamedIds(found, index)).toEqual(withNamedIds(expected, index));
          if ((await collect(connect().list(config))).length > before.length) limit += 1;
          if (one.keep === undefined) continue;
          const kept = await readAll(connect(), one.keep);
          dropped += await connect().prune({ threadId: "t", keep: one.keep });
          expect(await readAll(connect(), one.keep)).toEqual(kept);
          expect(await connect().prune({ threadId: "t", keep: one.keep })).toBe(0);
          limit = Math.min(limit, one.keep);
        }
        await new ScrollbackSaver({ stores }).deleteThread("t");
        expect((await stores.listThreads()).threads).toEqual([]);
      }),
      { numRuns: rounds(15, 200), seed: 41 },
    );
    expect(dropped).toBeGreaterThan(0);
  },
  rounds(60_000, 600_000),
);

const drops: Readonly<Record<string, (saver: ScrollbackSaver) => Promise<unknown>>> = {
  "a prune after another turn": async (saver) => {
    for (const word of ["fast", "faster"]) await listGraph(saver).invoke({ words: [word] }, config);
    await saver.prune({ threadId: "t", keep: 1 });
  },
  "a deletion of the thread": (saver) => saver.deleteThread("t"),
};

/** A graph with a node that adds a word, after `ready`. */
function listGraph(checkpointer: BaseCheckpointSaver, ready: () => Promise<unknown> = async () => {}) {
  const list = new DeltaChannel<string[], string[]>((all, more) => all.concat(...more), {
    // The two quick turns make a snapshot, the slow one does not.
    snapshotFrequency: 5,
  });
  return new StateGraph(Annotation.Root({ words: () => list, never: () => list }))
    .addNode("add", async () => {
      await ready();
      return { words: ["added"] };
    })
    .addNode("more", () => ({ words: ["more"] }))
    .addEdge(START, "add")
    .addEdge("add", "more")
    .compile({ checkpointer });
}

test.each(Object.entries(drops))(
  "a run fails if %s drops what its channel of deltas is made of, and can be repeated",
  async (_, drop) => {
    for (const durability of ["sync", "async", "exit"] as const) {
      const saver = new ScrollbackSaver({ stores: createMemoryStores() });
      for (const word of ["1", "2"]) await listGraph(saver).invoke({ words: [word] }, config);
      const [inNode, dropped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const run = listGraph(saver, async () => {
        inNode.resolve();
        await dropped.promise;
      }).invoke({ words: ["slow"] }, { ...config, durability });
      const slow = run.catch((error: unknown) => error);
      await inNode.promise;
      await drop(saver);
      dropped.resolve();
      expect(await slow).toMatchObject({ code: "CONFLICT" });
      const before = ((await listGraph(saver).getState(config)).values.words ?? []) as string[];
      if (drop === drops["a prune after another turn"])
        expect(before.filter((word) => word === "added")).toHaveLength(4);
      const { words } = await listGraph(saver).invoke({ words: ["slow"] }, config);
      expect(words).toEqual([...before, "slow", "added", "more"]);
    }
  },
);

test("only a checkpoint with a channel of deltas that was written needs its parent", async () => {
  const counted = (channels: readonly string[], rest = {}) =>
    ({
      ...{ source: "loop", step: 1, parents: {}, ...rest },
      counters_since_delta_snapshot: Object.fromEntries(channels.map((channel) => [channel, [1, 1]])),
    }) as CheckpointMetadata;
  const saver = new ScrollbackSaver({ stores: createMemoryStores() });
  const put = (id: string, parent: string | undefined, metadata: CheckpointMetadata, versions = {}) =>
    saver.put(configOf("t", parent), { ...emptyCheckpoint(), id, channel_versions: versions }, metadata, {});
  await put("1", undefined, counted(["a"]));
  await expect(put("3", "2", counted(["a"]))).rejects.toMatchObject({ code: "CONFLICT" });
  await put("3", "2", counted([]));
  await put("4", "2", counted(["a"], { delta_writes_versioned: true }));
  expect(await listedIds(saver.list(configOf()))).toEqual(["4", "3", "1"]);
});

test("a checkpoint that stays only for its descendants is not seen, and a run that began from it fails", async () => {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  const put = (id: string, parent: string | undefined, counted: readonly string[], values = {}) =>
    saver.put(
      configOf("t", parent),
      { ...emptyCheckpoint(), id, channel_values: values, channel_versions: { a: 1, b: 1 } },
      {
        ...{ source: "loop", step: 1, parents: {} },
        counters_since_delta_snapshot: Object.fromEntries(counted.map((channel) => [channel, [1, 1]])),
      } as CheckpointMetadata,
      values,
    );
  const history = (id: string) =>
    new ScrollbackSaver({ stores }).getDeltaChannelHistory({
      config: configOf("t", id),
      channels: ["a", "b"],
    });
  await put("1", undefined, ["a"], { b: 1 });
  await put("2", "1", ["b"], { a: 2 });
  await put("3", "2", ["a", "b"]);
  // The value of b is one further back than that of a.
  await put("4", "3", ["a"], { b: 4 });
  await saver.putWrites(configOf("t", "3"), [["a", 3]], "task");
  const before = await history("4");
  expect(before.a).toEqual({ seed: 2, writes: [["task", "a", 3]] });
  expect(await saver.prune({ threadId: "t", keep: 1 })).toBe(3);
  expect(await listedIds(saver.list(configOf()))).toEqual(["4"]);
  for (const id of ["1", "2", "3"]) {
    expect(await saver.getTuple(configOf("t", id))).toBeUndefined();
    expect(await listedIds(saver.list(configOf("t", id)))).toEqual([]);
    await expect(put("5", id, ["b"])).rejects.toMatchObject({ code: "CONFLICT" });
  }
  expect((await history("4")).a).toEqual(before.a);
  // What is missing is not absent.
  await expect(history("3")).rejects.toMatchObject({ code: "CORRUPT" });
  await put("6", "3", [], { a: 6, b: 6 });
  expect(await saver.prune({ threadId: "t", keep: 2 })).toBe(0);
  expect(await saver.prune({ threadId: "t", keep: 1 })).toBe(1);
  expect((await stores.open("langgraph:log:t:").read({ limit: 0 })).count).toBe(1);
});
