import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, listedIds, putValues, threadIds, valuesOf } from "./checkpoints.ts";

const LOG = "langgraph:log:t:";

/** Puts checkpoints with a growing list, a value that never changes, and writes. */
async function fill(saver: ScrollbackSaver, ids: readonly string[], namespace = "", threadId = "t") {
  let config = configOf(threadId, undefined, namespace);
  const all: string[] = [];
  for (const id of ids) {
    all.push(`${id} `.padEnd(100, "~"));
    config = await putValues(
      saver,
      config,
      id,
      { all, fixed: "f".repeat(1_000) },
      { all: all.length, fixed: 1 },
    );
    await saver.putWrites(config, [["all", `${id} `.padEnd(100, "+")]], "task");
  }
}

function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `${from + index}`);
}

test("keeps the newest checkpoints of each namespace as they were; what they do not need is gone at rest", async () => {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  await fill(saver, ids(100, 150));
  await fill(saver, ids(100, 110), "child");
  const before = await listed(saver.list(configOf(), { limit: 3 }));
  const size = JSON.stringify(await stores.open(LOG).read()).length;
  expect(await saver.prune({ threadId: "t", keep: 3 })).toBe(47 + 7);
  expect(await listed(saver.list(configOf()))).toEqual(before);
  expect(await listed(new ScrollbackSaver({ stores }).list(configOf()))).toEqual(before);
  expect(await listedIds(saver.list(configOf("t", undefined, "child")))).toEqual(["109", "108", "107"]);
  const rest = JSON.stringify(await stores.open(LOG).read());
  expect(rest.length).toBeLessThan(size / 3);
  expect(rest).not.toContain(`120 ${"+".repeat(10)}`);
  // Nothing is left to drop.
  expect(await saver.prune({ threadId: "t", keep: 3 })).toBe(0);
  // The thread goes on.
  await putValues(saver, configOf("t", "149"), "200", { all: ["new"] }, { all: 100 });
  expect(await valuesOf(new ScrollbackSaver({ stores }), configOf())).toEqual({ all: ["new"] });
});

test("branches that leave an old checkpoint much later share its values again", async () => {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  const all = ids(1_000, 1_400);
  const root = await putValues(saver, configOf(), "1", { all: ["dropped"] });
  const long = await putValues(saver, root, "2", { all }, { all: 2 });
  const fork = await putValues(saver, long, "3", { all: [...all, "3"] }, { all: 3 });
  for (let n = 4; n < 9; n++) await putValues(saver, fork, `${n}`, { all: [...all, `${n}`] }, { all: n });
  const size = async () => JSON.stringify(await stores.open(LOG).read()).length;
  const before = await size();
  const tuples = await listed(saver.list(configOf(), { limit: 7 }));
  expect(await saver.prune({ threadId: "t", keep: 7 })).toBe(1);
  expect(await size()).toBeLessThanOrEqual(before);
  expect(await listed(new ScrollbackSaver({ stores }).list(configOf()))).toEqual(tuples);
});

test("drops what is older than a time, of all threads, and never the newest checkpoint", async () => {
  const saver = new ScrollbackSaver({ stores: createMemoryStores() });
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    for (const [day, id] of ["1", "2", "3"].entries()) {
      vi.setSystemTime(Date.UTC(2026, 0, 1 + day));
      for (const threadId of ["t", "u"]) await putValues(saver, configOf(threadId), id, { id });
    }
    expect(await saver.prune({ olderThanMs: 10 * 86_400_000 })).toBe(0);
    expect(await saver.prune({ olderThanMs: 1.5 * 86_400_000 })).toBe(2);
    for (const threadId of ["t", "u"])
      expect(await listedIds(saver.list(configOf(threadId)))).toEqual(["3", "2"]);
    vi.setSystemTime(Date.UTC(2027, 0, 1));
    expect(await saver.prune({ olderThanMs: 0, keep: 2 })).toBe(0);
    expect(await saver.prune({ threadId: "t", olderThanMs: 0 })).toBe(1);
    expect(await listedIds(saver.list(configOf("t")))).toEqual(["3"]);
    expect(await listedIds(saver.list(configOf("u")))).toEqual(["3", "2"]);
  } finally {
    vi.useRealTimers();
  }
});

test("keeps writes of a checkpoint that is not there yet, and an interrupted run can go on", async () => {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  await fill(saver, ids(100, 104));
  await saver.putWrites(configOf("t", "200"), [["early", 1]], "task");
  await saver.prune({ threadId: "t", keep: 1 });
  await putValues(new ScrollbackSaver({ stores }), configOf("t", "103"), "200", { n: 1 });
  expect((await saver.getTuple(configOf("t", "200")))?.pendingWrites).toEqual([["task", "early", 1]]);

  const State = Annotation.Root({ answer: Annotation<string> });
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ answer: interrupt("Buy it?") }))
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  const ada = { configurable: { thread_id: "ada" } };
  await graph.invoke({}, ada);
  expect(await saver.prune({ threadId: "ada", keep: 1 })).toBeGreaterThan(0);
  const { Command } = await import("@langchain/langgraph");
  expect(await graph.invoke(new Command({ resume: "yes" }), ada)).toEqual({ answer: "yes" });
});

test("a process that dies between any two requests leaves all checkpoints, or those to keep", async () => {
  for (let writes = 0, isDead = true; isDead; writes++) {
    const driver = new MemoryDriver();
    const whole = new ScrollbackSaver({ stores: createStores(driver) });
    await fill(whole, ids(100, 120));
    await fill(whole, ids(100, 120), "child");
    const all = await listed(whole.list(configOf()));
    const watched = new WatchedDriver(driver);
    watched.writesLeft = writes;
    const dying = new ScrollbackSaver({ stores: createStores(watched) });
    isDead = await Promise.race([dying.prune({ keep: 2 }).then(() => false), watched.death.then(() => true)]);
    const stores = createStores(driver);
    const next = new ScrollbackSaver({ stores });
    const left = await listed(next.list(configOf()));
    expect([all, all.slice(0, 2)]).toContainEqual(left);
    await next.prune({ keep: 2 });
    expect(await listed(next.list(configOf()))).toEqual(all.slice(0, 2));
    await next.deleteThread("t");
    expect(await threadIds(stores)).toEqual([]);
  }
});

test("what another process writes meanwhile stays, and a reader of the old log gets the rest from the new one", async () => {
  const driver = new MemoryDriver();
  const watched = new WatchedDriver(driver);
  const saver = new ScrollbackSaver({ stores: createStores(watched) });
  const other = new ScrollbackSaver({ stores: createStores(driver) });
  await fill(other, ids(100, 200));
  watched.beforeCommit = async () => {
    await putValues(other, configOf("t", "199"), "200", { n: 200 });
  };
  const reading = other.list(configOf())[Symbol.asyncIterator]();
  expect((await reading.next()).value.checkpoint.id).toBe("199");
  expect(await saver.prune({ threadId: "t", keep: 50 })).toBe(51);
  const rest = [];
  for (let next = await reading.next(); !next.done; next = await reading.next())
    rest.push(next.value.checkpoint.id);
  // It has begun before 200 was written. Checkpoints that it had read already may be among the rest.
  expect(rest.slice(0, 48)).toEqual(ids(151, 199).reverse());
  expect(await listedIds(other.list(configOf()))).toEqual(ids(151, 201).reverse());
  // This process had cached the old log.
  await putValues(other, configOf("t", "200"), "201", { n: 201 });
  expect(await valuesOf(saver, configOf())).toEqual({ n: 201 });
});

test("checks its options before any request", async () => {
  const saver = new ScrollbackSaver({ stores: createMemoryStores() });
  for (const options of [
    undefined,
    {},
    { threadId: "t" },
    { keep: 0 },
    { keep: 1.5 },
    { olderThanMs: -1 },
    { threadId: "", keep: 1 },
    { keep: 1, all: true },
  ])
    await expect(saver.prune(options as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("drops the calls of subgraphs with the checkpoints that they belong to, not those that may go on", async () => {
  const State = Annotation.Root({
    steps: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  });
  const inner = new StateGraph(State).addNode("x", () => ({ steps: ["x"] })).addEdge(START, "x");
  const middle = new StateGraph(State)
    .addNode("inner", inner.compile())
    .addNode("ask", ({ steps }) => ({ steps: steps.includes("ask") ? [String(interrupt("?"))] : [] }))
    .addEdge(START, "inner")
    .addEdge("inner", "ask");
  const stateful = new StateGraph(State).addNode("y", () => ({ steps: ["y"] })).addEdge(START, "y");
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  const graph = new StateGraph(State)
    .addNode("middle", middle.compile())
    .addNode("stateful", stateful.compile({ checkpointer: true }))
    .addEdge(START, "middle")
    .addEdge("middle", "stateful")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "t" } };
  const logs = async () => (await threadIds(stores)).filter((id) => id.startsWith(LOG)).length;
  const registered = async () => {
    const messages = await stores.open("langgraph:thread:t").listMessages();
    return new Set(messages.map(({ metadata }) => metadata)).size;
  };
  for (let turn = 1; turn <= 5; turn++) await graph.invoke({ steps: [`${turn}`] }, config);
  // The thread, the stateful subgraph, and for each turn the calls of the others.
  expect([await logs(), await registered()]).toEqual([12, 12]);
  const before = await graph.getState(config, { subgraphs: true });
  await saver.prune({ threadId: "t", keep: 1 });
  expect([await logs(), await registered()]).toEqual([2, 2]);
  expect(await graph.getState(config, { subgraphs: true })).toEqual(before);
  // The interrupted call of the newest checkpoint stays. The call that this one has ended does not.
  for (const step of ["6", "ask"]) await graph.invoke({ steps: [step] }, config);
  const asked = await graph.getState(config, { subgraphs: true });
  expect(await new ScrollbackSaver({ stores }).prune({ threadId: "t", keep: 1 })).toBeGreaterThan(3);
  expect(await graph.getState(config, { subgraphs: true })).toEqual(asked);
  expect([await logs(), await registered()]).toEqual([3, 3]);
  const { steps } = await graph.invoke(new Command({ resume: "yes" }), config);
  expect(steps.slice(-2)).toEqual(["yes", "y"]);
  await saver.prune({ keep: 1 });
  expect([await logs(), await registered()]).toEqual([2, 2]);
  expect(await saver.prune({ keep: 1 })).toBe(0);
  await saver.deleteThread("t");
  expect(await threadIds(stores)).toEqual([]);
});

test("drops calls of subgraphs while the thread runs, without loss", async () => {
  const State = Annotation.Root({
    steps: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  });
  const stores = createMemoryStores();
  const connect = () => new ScrollbackSaver({ stores });
  const pruner = connect();
  const child = new StateGraph(State)
    .addNode("x", async () => {
      await pruner.prune({ threadId: "t", keep: 1 });
      return { steps: ["x"] };
    })
    .addNode("ask", () => ({ steps: [String(interrupt("?"))] }))
    .addEdge(START, "x")
    .addEdge("x", "ask");
  const graph = (saver: ScrollbackSaver) =>
    new StateGraph(State)
      .addNode("child", child.compile())
      .addNode("last", async () => {
        await pruner.prune({ threadId: "t", keep: 1 });
        return { steps: ["last"] };
      })
      .addEdge(START, "child")
      .addEdge("child", "last")
      .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "t" } };
  const saver = connect();
  for (let turn = 1; turn <= 5; turn++) {
    await graph(turn % 2 ? saver : connect()).invoke({ steps: [`${turn}`] }, config);
    await pruner.prune({ threadId: "t", keep: 1 });
    const resumed = await graph(connect()).invoke(new Command({ resume: "yes" }), config);
    expect(resumed.steps.slice(-3)).toEqual(["x", "yes", "last"]);
  }
  await connect().deleteThread("t");
  expect(await threadIds(stores)).toEqual([]);
});
