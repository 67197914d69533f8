import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { BaseCheckpointSaver, emptyCheckpoint, MemorySaver, TASKS } from "@langchain/langgraph-checkpoint";
import { createMemoryStores, createStores, MemoryDriver } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, listedIds, metadata, putValues, threadIds, valuesOf } from "./checkpoints.ts";

/** A saver, and others on the same stores as other processes would have. */
function connect(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
}

describe("pending writes", () => {
  test("are in the order of task path, task and index, by code point, however they came", async () => {
    const { saver } = connect();
    const config = await putValues(saver, configOf(), "1", {});
    const calls: [taskId: string, taskPath: string | undefined, channels: string[]][] = [
      ["a", "~__pregel_pull, z", ["a1", "a2"]],
      ["b", "\u{1F600}", ["b1"]],
      ["c", "\uFFFD", ["c1"]],
      ["z", undefined, ["z1"]],
      ["y", "~__pregel_pull, a", ["y1", "__error__"]],
      ["x", "~__pregel_pull, a", ["x1"]],
    ];
    for (const [taskId, taskPath, channels] of calls) {
      const writes = channels.map((channel): [string, unknown] => [channel, taskId]);
      await saver.putWrites(config, writes, taskId, taskPath);
    }
    const expected = ["z1", "x1", "__error__", "y1", "a1", "a2", "c1", "b1"];
    const tuple = await saver.getTuple(config);
    expect(tuple?.pendingWrites?.map(([, channel]) => channel)).toEqual(expected);
    const [fromList] = await listed(saver.list(configOf()));
    expect(fromList?.pendingWrites).toEqual(tuple?.pendingWrites);
    await putValues(saver, config, "2", {});
    const history = await saver.getDeltaChannelHistory({
      config: configOf("t", "2"),
      channels: ["y1", "a1"],
    });
    expect(history).toEqual({ y1: { writes: [["y", "y1", "y"]] }, a1: { writes: [["a", "a1", "a"]] } });
  });

  test("of a task that ran twice are those of the first run; of errors and interrupts the last ones", async () => {
    const { saver } = connect();
    const config = await putValues(saver, configOf(), "1", {});
    await saver.putWrites(
      config,
      [
        ["a", 1],
        ["__interrupt__", "first"],
      ],
      "task",
    );
    await saver.putWrites(
      config,
      [
        ["b", 2],
        ["__interrupt__", "second"],
      ],
      "task",
    );
    await saver.putWrites(config, [["a", 3]], "other");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([
      ["other", "a", 3],
      ["task", "__interrupt__", "second"],
      ["task", "a", 1],
    ]);
  });

  test("may come before their checkpoint, from another process, and are deleted though it never comes", async () => {
    const { saver, driver } = connect();
    const config = configOf("t", "1");
    await connect(driver).saver.putWrites(config, [["a", 1]], "task");
    expect(await saver.getTuple(config)).toBeUndefined();
    expect(await saver.getTuple(configOf())).toBeUndefined();
    await connect(driver).saver.putWrites(config, [["b", 2]], "task 2");
    await putValues(saver, configOf(), "1", {});
    await saver.putWrites(config, [["c", 3]], "task 3");
    expect((await saver.getTuple(config))?.pendingWrites?.map(([, channel]) => channel)).toEqual([
      "a",
      "b",
      "c",
    ]);
    await saver.putWrites(configOf("other", "9"), [["a", 1]], "task");
    await saver.deleteThread("t");
    await saver.deleteThread("other");
    const stores = createStores(driver);
    expect(await threadIds(stores)).toEqual(["langgraph:threads"]);
    expect(await stores.open("langgraph:threads").listMessages()).toEqual([]);
  });

  test("that are none write nothing", async () => {
    const { saver, watched } = connect();
    await saver.putWrites(configOf("t", "1"), [], "task");
    expect([...watched.commits, ...watched.reads]).toEqual([]);
  });
});

describe("values", () => {
  test("of the branches of a fork differ, though their versions are the same", async () => {
    const { saver } = connect();
    const root = await putValues(saver, configOf(), "1", { answer: "none", topic: "tram" });
    const first = await putValues(saver, root, "2", { answer: "first" }, { answer: 2 });
    const second = await putValues(saver, root, "3", { answer: "second" }, { answer: 2 });
    const versions = { answer: 2, topic: 1, other: 1 };
    for (const [parent, id, answer] of [
      [first, "4", "first"],
      [second, "5", "second"],
    ] as const) {
      const values = { answer, topic: "tram", other: id };
      const checkpoint = { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions };
      const child = await saver.put(parent, checkpoint, metadata, { other: 1 });
      expect(await valuesOf(saver, child)).toEqual(values);
    }
    expect(await valuesOf(saver, first)).toEqual({ answer: "first" });
    expect(await valuesOf(saver, second)).toEqual({ answer: "second" });
  });

  test("of a copy are its own, and what is said to be written is, whatever its version", async () => {
    const { saver } = connect();
    const root = await putValues(saver, configOf(), "1", { a: 1, b: 1 });
    await putValues(saver, root, "2", { a: 2, b: 1 }, { a: 2, b: 1 });
    // LangGraph puts a copy of a checkpoint under that one's parent, with no new versions.
    const copy = {
      ...emptyCheckpoint(),
      id: "3",
      channel_values: { a: 2, b: 1 },
      channel_versions: { a: 2, b: 1 },
    };
    expect(await valuesOf(saver, await saver.put(root, copy, metadata, {}))).toEqual({ a: 2, b: 1 });
    const same = await putValues(saver, root, "4", { a: 3 }, { a: 1 });
    expect(await valuesOf(saver, same)).toEqual({ a: 3 });
    const first = { ...copy, id: "5", channel_values: { a: 1, c: 1 }, channel_versions: { a: 1, c: 1 } };
    expect(await valuesOf(saver, await saver.put(configOf(), first, metadata, {}))).toEqual({ a: 1 });
  });

  test("of every kind come back as LangGraph's serializer has them", async () => {
    const { saver } = connect();
    const values = {
      "": "empty name",
      __proto__x: { constructor: 1, "a.b": "$set" },
      bytes: Uint8Array.of(0, 255, 128, 10),
      noBytes: new Uint8Array(),
      map: new Map<unknown, unknown>([
        ["k", new Set([1])],
        [2, undefined],
      ]),
      nothing: undefined,
      none: null,
      pattern: /a+/giu,
      error: new Error("broken"),
      nested: [[{ bytes: Uint8Array.of(1, 2, 3) }]],
      text: '\u0000\u2028\uFEFF𝒳 "quoted" \\',
      messages: [
        new HumanMessage("Hi"),
        new AIMessage({ content: "Ho", tool_calls: [{ name: "f", args: {}, id: "1" }] }),
      ],
    };
    const config = await putValues(saver, configOf(), "1", values);
    const read = (await saver.getTuple(config))?.checkpoint.channel_values;
    expect(JSON.stringify(read?.messages)).toBe(JSON.stringify(values.messages));
    expect({ ...read, messages: 0 }).toEqual({ ...values, messages: 0 });
    expect(read?.bytes).toBeInstanceOf(Uint8Array);
    const writes = Object.entries(values).filter(([channel]) => channel !== "messages");
    await saver.putWrites(config, writes, "task");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual(
      writes.map(([channel, value]) => ["task", channel, value]),
    );
  });

  test("of 17 MiB and more are stored, as text, as bytes, and as writes", async () => {
    const { saver, driver } = connect();
    const values = {
      // A pair of surrogates on every even place, so that a part ends inside one.
      text: `x${"😀".repeat(4.5 * 1_024 ** 2)}`,
      bytes: new Uint8Array(17 * 1_024 ** 2).fill(7),
      small: 1,
    };
    const config = await putValues(saver, configOf(), "1", values);
    await saver.putWrites(
      config,
      [
        ["text", values.text],
        ["bytes", values.bytes],
        ["small", 1],
      ],
      "task",
    );
    const tuple = await connect(driver).saver.getTuple(config);
    const read = tuple?.checkpoint.channel_values;
    expect(read?.text === values.text && read.small === 1).toBe(true);
    expect(Buffer.compare(read?.bytes as Uint8Array, values.bytes)).toBe(0);
    expect(read?.bytes).not.toBeInstanceOf(Buffer);
    const written = Object.fromEntries(
      tuple?.pendingWrites?.map(([, channel, value]) => [channel, value]) ?? [],
    );
    expect(written.text === values.text && written.small === 1).toBe(true);
    expect(Buffer.compare(written.bytes as Uint8Array, values.bytes)).toBe(0);
  }, 120_000);

  test("that are large and do not change are stored once", async () => {
    const { saver, watched, driver } = connect();
    const long = "x".repeat(100_000);
    let config = await putValues(saver, configOf(), "1000", { long, n: 0 });
    watched.reset();
    for (let n = 1; n <= 20; n++) {
      const checkpoint = {
        ...emptyCheckpoint(),
        ...{ id: `${1000 + n}`, channel_values: { long, n }, channel_versions: { long: 1, n: n + 1 } },
      };
      config = await saver.put(config, checkpoint, metadata, { n: n + 1 });
    }
    expect(watched.commits).toEqual(Array(20).fill("langgraph:log:t:"));
    expect(await valuesOf(connect(driver).saver, configOf())).toEqual({ long, n: 20 });
  });

  test("that the config's parent should have are stored where the parent is not there", async () => {
    const { saver } = connect();
    const checkpoint = {
      ...emptyCheckpoint(),
      id: "2",
      channel_values: { a: 1, b: 2 },
      channel_versions: { a: 1, b: 1 },
    };
    const config = await saver.put(configOf("t", "gone"), checkpoint, metadata, { b: 1 });
    expect(await valuesOf(saver, config)).toEqual({ a: 1, b: 2 });
  });

  test("that are missing are an error, not an absent channel", async () => {
    const { saver, driver } = connect();
    const stores = createStores(driver);
    const root = await putValues(saver, configOf(), "1", {});
    const config = await putValues(saver, root, "2", { long: "x".repeat(100_000) });
    await stores.deleteThread("langgraph:attachments:t::1");
    await expect(saver.getTuple(config)).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(listed(saver.list(configOf()))).rejects.toMatchObject({ code: "CORRUPT" });
  });

  test("go through a serializer of one's own, which may encrypt", async () => {
    const turn = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
    const plain = new MemorySaver().serde;
    const serde: typeof plain = {
      async dumpsTyped(value) {
        const [type, bytes] = await plain.dumpsTyped(value);
        return [`turned+${type}`, turn(bytes)];
      },
      async loadsTyped(type, data) {
        if (typeof data === "string") throw new Error("bytes were dumped");
        return await plain.loadsTyped(type.replace("turned+", ""), turn(data));
      },
    };
    const stores = createMemoryStores();
    const saver = new ScrollbackSaver({ stores, serde });
    const config = await putValues(saver, configOf(), "1", { secret: "tram", long: "tram".repeat(50_000) });
    await saver.putWrites(config, [["secret", "tram"]], "task");
    const tuple = await saver.getTuple(config);
    expect(tuple).toMatchObject({ metadata, pendingWrites: [["task", "secret", "tram"]] });
    expect(tuple?.checkpoint.channel_values).toEqual({ secret: "tram", long: "tram".repeat(50_000) });
    for (const threadId of await threadIds(stores))
      expect(JSON.stringify(await stores.open(threadId).read())).not.toContain("tram");
  });
});

test("text of a serializer keeps its first character, also a byte order mark", async () => {
  const plain = new MemorySaver().serde;
  const serde: typeof plain = {
    dumpsTyped: async (value) =>
      typeof value === "string" ? ["text", new TextEncoder().encode(value)] : await plain.dumpsTyped(value),
    loadsTyped: async (type, data) =>
      type === "text" ? Buffer.from(data).toString() : await plain.loadsTyped(type, data),
  };
  const saver = new ScrollbackSaver({ stores: createMemoryStores(), serde });
  const values = { short: "\uFEFFa", long: `\uFEFF${"a".repeat(3 * 1_024 ** 2)}`, empty: "" };
  expect(await valuesOf(saver, await putValues(saver, configOf(), "1", values))).toEqual(values);
});

describe("lists", () => {
  test("have the highest id first over all namespaces, whatever the order of the writes", async () => {
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

  test("take before, filter, limit and a checkpoint id, and thread_ts for checkpoint_id", async () => {
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

  test("have a checkpoint that was put twice once, as it was put last", async () => {
    const { saver } = connect();
    await putValues(saver, configOf(), "1", { n: 1 });
    await putValues(saver, configOf(), "2", { n: 2 });
    await putValues(saver, configOf(), "2", { n: 3 });
    await putValues(saver, configOf(), "1", { n: 4 });
    expect(await listedIds(saver.list(configOf()))).toEqual(["2", "1"]);
    expect(await valuesOf(saver, configOf("t", "2"))).toEqual({ n: 3 });
    expect(await valuesOf(saver, configOf("t", "1"))).toEqual({ n: 4 });
  });
});

test("the history of delta channels is that of LangGraph's own walk", async () => {
  const { saver, driver } = connect();
  const walk = BaseCheckpointSaver.prototype.getDeltaChannelHistory;
  let config = configOf();
  for (let n = 10; n < 60; n++) {
    // A seed now and then, once a large one; ids that do not rise; a branch to be left out.
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

test("a checkpoint of an old version has the sends of its parent", async () => {
  const { saver } = connect();
  const old = (id: string, versions: Record<string, number>) => ({
    ...emptyCheckpoint(),
    v: 1,
    id,
    channel_versions: versions,
  });
  const parent = await saver.put(configOf(), old("1", {}), metadata, {});
  await saver.putWrites(parent, [[TASKS, "b"]], "task b");
  await saver.putWrites(
    parent,
    [
      [TASKS, "a"],
      ["other", 1],
    ],
    "task a",
  );
  const child = await saver.put(parent, old("2", { x: 3, y: 7 }), metadata, {});
  expect((await saver.getTuple(child))?.checkpoint).toMatchObject({
    channel_values: { [TASKS]: ["a", "b"] },
    channel_versions: { x: 3, y: 7, [TASKS]: 7 },
  });
  expect((await saver.getTuple(parent))?.checkpoint.channel_values).toEqual({});
});

test("names of threads, namespaces, checkpoints and savers never meet", async () => {
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

test("what cannot be an id is refused before any request, and so are stores that cut", async () => {
  const { saver, watched } = connect();
  const checkpoint = emptyCheckpoint();
  const wrong = [
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
  for (const call of wrong) await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
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
    { stores: createMemoryStores({ ttlMs: 1_000 }) },
  ];
  for (const one of options) {
    expect(() => new ScrollbackSaver(one as never)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("the stores stay open, and serializing the saver shows nothing of them", async () => {
  const stores = createMemoryStores();
  {
    await using saver = new ScrollbackSaver({ stores });
    await putValues(saver, configOf(), "1", { n: 1 });
    expect(JSON.stringify({ saver })).not.toContain("log");
  }
  expect(await valuesOf(new ScrollbackSaver({ stores }), configOf())).toEqual({ n: 1 });
});
