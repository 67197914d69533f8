import { BaseCheckpointSaver, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, listedIds, metadata, putValues, valuesOf } from "./checkpoints.ts";

/** A saver, and others on the same stores, as in other processes. */
function connect(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
}

describe("lists", () => {
  test("have the highest id first across all namespaces, for any order of writes", async () => {
    const { saver, driver } = connect();
    const ids = ["05", "01", "09", "03", "07"];
    for (const id of ids)
      await putValues(saver, configOf("t", undefined, id < "05" ? "child" : ""), id, { id });
    await putValues(saver, configOf("u"), "08", {});
    expect(await listedIds(saver.list(configOf("t")))).toEqual(["09", "07", "05"]);
    expect(await listedIds(saver.list({ configurable: { thread_id: "t" } }))).toEqual([
      "09",
      "07",
      "05",
      "03",
      "01",
    ]);
    expect(await listedIds(saver.list({}))).toEqual(["09", "08", "07", "05", "03", "01"]);
    const late = connect(driver).saver;
    await putValues(late, configOf("t"), "02", { late: true });
    for (const one of [saver, late, connect(driver).saver]) {
      expect(await listedIds(one.list(configOf("t")))).toEqual(["09", "07", "05", "02"]);
      expect((await one.getTuple(configOf("t")))?.checkpoint.id).toBe("09");
      expect(await valuesOf(one, configOf("t", "02"))).toEqual({ late: true });
    }
  });

  test("accept before, filter, limit and a checkpoint id, and thread_ts for checkpoint_id", async () => {
    const { saver } = connect();
    for (let n = 10; n < 60; n++) {
      const checkpoint = { ...emptyCheckpoint(), id: `${n}` };
      const source = n % 2 ? "input" : "loop";
      const tagged = { ...metadata, source, step: n, tags: { n } } as const;
      await saver.put(configOf(), checkpoint, tagged, {});
    }
    const ids = (options: Parameters<typeof saver.list>[1]) => listedIds(saver.list(configOf(), options));
    expect(await ids({ before: configOf("t", "13") })).toEqual(["12", "11", "10"]);
    expect(await ids({ before: { configurable: { thread_ts: "12" } } })).toEqual(["11", "10"]);
    expect(await ids({ filter: { source: "input" }, limit: 2 })).toEqual(["59", "57"]);
    expect(await ids({ filter: { step: 40, source: "loop" } })).toEqual(["40"]);
    expect(await ids({ filter: { tags: { n: 44 } } })).toEqual(["44"]);
    expect(await ids({ filter: { absent: 1 } })).toEqual([]);
    expect(await ids({ limit: 0 })).toEqual([]);
    expect(await ids({ limit: 100 })).toHaveLength(50);
    expect(await listedIds(saver.list(configOf("t", "33")))).toEqual(["33"]);
    const tuple = await saver.getTuple({ configurable: { thread_id: "t", thread_ts: "12" } });
    expect(tuple?.config).toEqual(configOf("t", "12"));
  });
});

test("the history of delta channels equals that of LangGraph's own walk", async () => {
  const { saver, driver } = connect();
  const walk = BaseCheckpointSaver.prototype.getDeltaChannelHistory;
  let config = configOf();
  for (let n = 10; n < 60; n++) {
    // A seed at some checkpoints, one of them large; ids that are not ascending; a branch that must be ignored.
    const values = n % 13 === 0 ? { [n % 2 ? "a" : "b"]: n === 39 ? "x".repeat(50_000) : n } : {};
    const parent = config;
    config = await putValues(saver, parent, `${n % 7 === 0 ? "z" : "m"}${n}`, values);
    await saver.putWrites(
      config,
      [
        ["a", n],
        ["b", -n],
      ],
      "task",
    );
    const branch = await putValues(saver, parent, `n${n}`, { a: "branch" });
    await saver.putWrites(branch, [["a", "branch"]], "task");
  }
  for (const one of [saver, connect(driver).saver]) {
    for (const channels of [["a"], ["a", "b"], ["b", "none"], []]) {
      const expected = await walk.call(one, { config, channels });
      expect(await one.getDeltaChannelHistory({ config, channels })).toEqual(expected);
    }
  }
  const none = { a: { writes: [] } };
  expect(await saver.getDeltaChannelHistory({ config: configOf("none"), channels: ["a"] })).toEqual(none);
  expect(await saver.getDeltaChannelHistory({ config: {}, channels: ["a"] })).toEqual(none);
});

test("similar names of threads, namespaces, checkpoints and savers are separate", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const names = [
    "a",
    "a:b",
    "b",
    "",
    "*",
    "{x}",
    "a/b",
    "é😀",
    "%61",
    "#",
    "__proto__",
    "log",
    "thread",
    "x".repeat(400),
    `${"x".repeat(399)}y`,
  ];
  const savers = [new ScrollbackSaver({ stores }), new ScrollbackSaver({ stores, prefix: "langgraph:log" })];
  const places = savers.flatMap((saver, which) =>
    names.flatMap((thread) => names.map((namespace) => ({ saver, which, thread: thread || "-", namespace }))),
  );
  for (const { saver, which, thread, namespace } of places) {
    const config = await putValues(saver, configOf(thread, undefined, namespace), "1", {
      which,
      thread,
      namespace,
    });
    await saver.putWrites(config, [["at", `${which} ${thread} ${namespace}`]], "task");
  }
  for (const { saver, which, thread, namespace } of places) {
    const tuple = await saver.getTuple(configOf(thread, undefined, namespace));
    expect(tuple?.checkpoint.channel_values).toEqual({ which, thread, namespace });
    expect(tuple?.pendingWrites).toEqual([["task", "at", `${which} ${thread} ${namespace}`]]);
  }
  const [first, second] = savers;
  if (!first || !second) throw new Error("two savers");
  expect(await listed(first.list({}))).toHaveLength(places.length / 2);
  for (const thread of new Set(names.map((name) => name || "-"))) await first.deleteThread(thread);
  expect(await listed(first.list({}))).toEqual([]);
  expect(await listed(second.list({}))).toHaveLength(places.length / 2);
});

test("invalid ids are refused before any request, and so are stores that trim", async () => {
  const { saver, watched } = connect();
  const checkpoint = emptyCheckpoint();
  const invalid = [
    () => saver.put({}, checkpoint, metadata, {}),
    () => saver.put(configOf(""), checkpoint, metadata, {}),
    () => saver.put(configOf("\uD800"), checkpoint, metadata, {}),
    () => saver.put(configOf("t", undefined, "\uD800"), checkpoint, metadata, {}),
    () => saver.put({ configurable: { thread_id: 1 } }, checkpoint, metadata, {}),
    () => saver.put({ configurable: { thread_id: "t", checkpoint_ns: 1 } }, checkpoint, metadata, {}),
    () => saver.put(configOf(), { ...checkpoint, id: "" }, metadata, {}),
    () => saver.putWrites(configOf(), [["a", 1]], "task"),
    () => saver.putWrites({ configurable: { checkpoint_id: "1" } }, [["a", 1]], "task"),
    () => saver.putWrites(configOf("t", "1"), [["a", 1]], ""),
    () => saver.getTuple({ configurable: { thread_id: "t", checkpoint_id: 1 } }),
    () => saver.getTuple(configOf("x".repeat(1_025))),
    () => listed(saver.list({ configurable: { thread_id: null } })),
    () => saver.deleteThread(""),
    () => saver.getDeltaChannelHistory({ config: configOf(""), channels: ["a"] }),
  ];
  for (const call of invalid) await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const serde = { dumpsTyped: () => Promise.reject(new Error("unknown type")), loadsTyped: async () => 0 };
  const refusing = new ScrollbackSaver({ stores: createStores(watched), serde });
  await expect(putValues(refusing, configOf(), "1", { a: 1 })).rejects.toThrow("unknown type");
  await expect(refusing.putWrites(configOf("t", "1"), [["a", 1]], "task")).rejects.toThrow("unknown type");
  expect([...watched.commits, ...watched.reads]).toEqual([]);

  const stores = createMemoryStores();
  const options = [
    undefined,
    {},
    { stores: {} },
    { stores, prefix: "" },
    { stores, prefix: "\uD800" },
    { stores, serde: {} },
    { stores, ttlMs: 1 },
    { stores: createMemoryStores({ maxMessages: 10 }) },
  ];
  for (const one of options) {
    expect(() => new ScrollbackSaver(one as never)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("the stores stay open, and serializing the saver does not show them", async () => {
  const stores = createMemoryStores();
  {
    const saver = new ScrollbackSaver({ stores });
    await putValues(saver, configOf(), "1", { n: 1 });
    expect(JSON.stringify({ saver })).not.toContain("log");
  }
  expect(await valuesOf(new ScrollbackSaver({ stores }), configOf())).toEqual({ n: 1 });
});
