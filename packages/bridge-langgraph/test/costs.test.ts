import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues } from "./checkpoints.ts";

function watch(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
}

const State = Annotation.Root({
  messages: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
});

/** A chat with one node: a turn has two steps, LangGraph's first step and the node. */
function chat(checkpointer: ScrollbackSaver) {
  return new StateGraph(State)
    .addNode("answer", () => ({ messages: ["answer"] }))
    .addEdge(START, "answer")
    .compile({ checkpointer });
}

test("a turn of two steps is 5 commits and 1 read, in a process that knows the thread and in one that does not", async () => {
  const { driver, watched, saver } = watch();
  const options = { configurable: { thread_id: "t" }, durability: "sync" as const };
  for (let turn = 1; turn <= 30; turn++) {
    const other = turn % 2 ? { watched, saver } : watch(driver);
    other.watched.reset();
    await chat(other.saver).invoke({ messages: [`turn ${turn}`] }, options);
    if (turn === 1) {
      // The thread is new: the saver reads, registers and creates its log, and registers it again.
      expect(other.watched.commits).toHaveLength(8);
      expect(other.watched.reads).toHaveLength(2);
      continue;
    }
    // Three checkpoints, and the writes of two tasks.
    expect(other.watched.commits).toHaveLength(5);
    expect(other.watched.reads.length).toBeLessThanOrEqual(turn === 2 || turn % 2 ? 1 : 2);
  }
});

test("large messages cost no request: they are parts in the commit of the checkpoint that adds them", async () => {
  const { driver, saver } = watch();
  const options = { configurable: { thread_id: "t" }, durability: "sync" as const };
  await chat(saver).invoke({ messages: ["x".repeat(3_000_000)] }, options);
  for (let turn = 2; turn <= 5; turn++) {
    const { watched, saver: next } = watch(driver);
    await chat(next).invoke({ messages: ["more"] }, options);
    expect(watched.commits).toHaveLength(5);
    expect(watched.reads.length).toBeLessThanOrEqual(2);
  }
});

test("the latest of 1,000 checkpoints is two reads at 1 MB of state, one by id one more read for each fourfold distance from the end", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  const all: string[] = [];
  for (let n = 1_000; n < 2_000; n++) {
    all.push(`${n}`.padEnd(1_000, "."));
    config = await putValues(saver, config, `${n}`, { all });
  }
  const readsOf = async (id?: string) => {
    const { watched, saver: reader } = watch(driver);
    const tuple = await reader.getTuple(configOf("t", id));
    expect(tuple?.checkpoint.id).toBe(id ?? "1999");
    expect(tuple?.checkpoint.channel_values.all).toHaveLength(Number(tuple?.checkpoint.id) - 999);
    expect(watched.commits).toEqual([]);
    return watched.reads.length;
  };
  expect(await readsOf()).toBe(2);
  expect(await readsOf("1999")).toBe(2);
  expect(await readsOf("1990")).toBe(2);
  expect(await readsOf("1960")).toBe(3);
  expect(await readsOf("1900")).toBe(4);
  expect(await readsOf("1000")).toBe(6);
  const { watched, saver: reader } = watch(driver);
  expect(await reader.getTuple(configOf("t", "1999x"))).toBeUndefined();
  expect(watched.reads).toHaveLength(1);
});

test("a list reads the log, without a request for each checkpoint", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  for (let n = 1_000; n < 1_100; n++) config = await putValues(saver, config, `${n}`, { n });
  const { watched, saver: reader } = watch(driver);
  expect(await listed(reader.list(configOf(), { limit: 10 }))).toHaveLength(10);
  expect(watched.reads).toHaveLength(1);
  expect(await listed(reader.list(configOf()))).toHaveLength(100);
  expect(watched.reads).toHaveLength(4);
});

test("a list of all threads is the registration and the log of each", async () => {
  const { driver, saver } = watch();
  for (let n = 100; n < 250; n++) await putValues(saver, configOf(`${n}`), `${n}`, { n });
  const { watched, saver: reader } = watch(driver);
  expect(await listed(reader.list({}, { limit: 1 }))).toHaveLength(1);
  expect(watched.reads.length).toBe(2 * 150);
});

test("a deletion is three requests, however many checkpoints there are", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  for (let n = 100; n < 200; n++) config = await putValues(saver, config, `${n}`, { n });
  const { watched, saver: other } = watch(driver);
  await other.deleteThread("t");
  const { reads, commits, deletions, entries } = watched;
  expect([reads, commits, deletions, entries].map(({ length }) => length)).toEqual([1, 0, 2, 0]);
});

test("a call of a subgraph reads no names of the calls before it", async () => {
  const driver = new MemoryDriver();
  const read = driver.read.bind(driver);
  let names = 0;
  driver.read = async (request) => {
    const page = await read(request);
    if (request.threadId === "langgraph:thread:t") names += page.entries.length;
    return page;
  };
  const { saver } = watch(driver);
  for (let call = 0; call < 20; call++)
    await putValues(saver, configOf("t", undefined, `sub:${call}`), "1", { call });
  expect(names).toBe(0);
});
