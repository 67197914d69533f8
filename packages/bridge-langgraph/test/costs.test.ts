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

test("a turn of two steps is 5 commits and 4 reads, in a process that knows the thread and in one that does not", async () => {
  const { driver, watched, saver } = watch();
  const options = { configurable: { thread_id: "t" }, durability: "sync" as const };
  for (let turn = 1; turn <= 30; turn++) {
    const other = turn % 2 ? { watched, saver } : watch(driver);
    other.watched.reset();
    await chat(other.saver).invoke({ messages: [`turn ${turn}`] }, options);
    if (turn === 1) {
      // The thread is new: the saver reads, registers and lists it, creates its log, and confirms the registration.
      expect(other.watched.commits).toHaveLength(8);
      expect(other.watched.reads).toHaveLength(4);
      expect(other.watched.entries).toEqual([
        "insertEntry langgraph:threads",
        "updateEntry langgraph:threads",
      ]);
      continue;
    }
    expect(other.watched.commits.filter((id) => id.startsWith("langgraph:log:"))).toHaveLength(3);
    expect(other.watched.commits.filter((id) => id.startsWith("langgraph:attachments:"))).toHaveLength(2);
    expect(other.watched.commits).toHaveLength(5);
    // Two reads of the latest checkpoint, and one read of the log after the writes of each task.
    expect(other.watched.reads).toHaveLength(4);
    expect(other.watched.entries).toEqual([]);
  }
});

test("with messages of 300 KB a turn needs one more commit for each of the two checkpoints that change them", async () => {
  const { driver, saver } = watch();
  const options = { configurable: { thread_id: "t" }, durability: "sync" as const };
  await chat(saver).invoke({ messages: ["x".repeat(300_000)] }, options);
  for (let turn = 2; turn <= 5; turn++) {
    const { watched, saver: next } = watch(driver);
    await chat(next).invoke({ messages: ["more"] }, options);
    expect(watched.commits).toHaveLength(7);
    // Reads of the log, the writes and the messages, and one read of the log after the writes of each task.
    expect(watched.reads).toHaveLength(5);
  }
});

test("the latest checkpoint is two reads, one by id one more read for each fourfold distance from the end", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  for (let n = 1_000; n < 2_000; n++) config = await putValues(saver, config, `${n}`, { n });
  const readsOf = async (id?: string) => {
    const { watched, saver: reader } = watch(driver);
    expect((await reader.getTuple(configOf("t", id)))?.checkpoint.id).toBe(id ?? "1999");
    expect(watched.commits).toEqual([]);
    return watched.reads.length;
  };
  expect(await readsOf()).toBe(2);
  expect(await readsOf("1999")).toBe(2);
  expect(await readsOf("1992")).toBe(2);
  expect(await readsOf("1991")).toBe(3);
  expect(await readsOf("1960")).toBe(3);
  expect(await readsOf("1900")).toBe(4);
  expect(await readsOf("1000")).toBe(8);
  const { watched, saver: reader } = watch(driver);
  expect(await reader.getTuple(configOf("t", "1999x"))).toBeUndefined();
  expect(watched.reads).toHaveLength(1);
});

test("a list of ten is the log and the attachments of each", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  for (let n = 1_000; n < 1_100; n++) config = await putValues(saver, config, `${n}`, { n });
  const { watched, saver: reader } = watch(driver);
  expect(await listed(reader.list(configOf(), { limit: 10 }))).toHaveLength(10);
  expect(watched.reads.filter(({ threadId }) => threadId.startsWith("langgraph:log:"))).toHaveLength(2);
  expect(watched.reads).toHaveLength(12);
});

test("a list of all threads is one request per hundred, and the registration and the log of each", async () => {
  const { driver, saver } = watch();
  for (let n = 100; n < 250; n++) await putValues(saver, configOf(`${n}`), `${n}`, { n });
  const { watched, saver: reader } = watch(driver);
  expect(await listed(reader.list({}, { limit: 1 }))).toHaveLength(1);
  await reader.flush();
  expect(watched.entries).toEqual(Array(2).fill("listEntries langgraph:threads"));
  // And the attachments of the one checkpoint.
  expect(watched.reads.length).toBe(2 * 150 + 1);
});

test("a list of one thread lists the thread again whose entry the backend has lost", async () => {
  const { driver, saver } = watch();
  await putValues(saver, configOf(), "1", { n: 1 });
  const index = createStores(driver).index("langgraph:threads");
  for (const { key, id } of await index.entriesOf("t")) await index.remove({ key, id });
  const { saver: reader } = watch(driver);
  const ofThread = { configurable: { thread_id: "t" } };
  expect(await listed(reader.list({}))).toHaveLength(0);
  expect(await listed(reader.list(ofThread))).toHaveLength(1);
  await reader.flush();
  expect(await listed(reader.list({}))).toHaveLength(1);
});

test("a deletion is one request per checkpoint, and eight more", async () => {
  const { driver, saver } = watch();
  let config = configOf();
  for (let n = 100; n < 200; n++) config = await putValues(saver, config, `${n}`, { n });
  const { watched, saver: other } = watch(driver);
  await other.deleteThread("t");
  const { reads, commits, deletions, entries } = watched;
  expect(reads.length + commits.length + deletions.length + entries.length).toBe(100 + 8);
});
