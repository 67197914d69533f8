import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, metadata, putValues, valuesOf } from "./checkpoints.ts";

/** A saver, and others on the same stores, as in other processes. */
function connect(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
}

describe("values", () => {
  test("of the branches of a fork differ under equal versions", async () => {
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

  test("of a copy are its own, and values listed in newVersions are written, with any version", async () => {
    const { saver } = connect();
    const root = await putValues(saver, configOf(), "1", { a: 1, b: 1 });
    await putValues(saver, root, "2", { a: 2, b: 1 }, { a: 2, b: 1 });
    // LangGraph puts a copy of a checkpoint under the original's parent, without new versions.
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

  test("of every kind are read as LangGraph's serializer returns them", async () => {
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
      // The offset of 1 makes a part end inside a surrogate pair.
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

  test.each(["serializer that returns the given array", "serializer that reuses its array"])(
    "of bytes are those of the call, and of each read its own, with a %s",
    async (kind) => {
      const plain = new MemorySaver().serde;
      const reused = new Uint8Array(1_000);
      const serde: typeof plain = {
        dumpsTyped: async (value) => {
          if (!(value instanceof Uint8Array)) return await plain.dumpsTyped(value);
          reused.set(value);
          return ["own", reused];
        },
        loadsTyped: async (type, data) => (type === "own" ? data : await plain.loadsTyped(type, data)),
      };
      const driver = new MemoryDriver();
      const open = () =>
        new ScrollbackSaver({
          stores: createStores(driver),
          ...(kind.includes("reuses") && { serde }),
        });
      const saver = open();
      // One array that is changed in place, and an instance of a class whose slices share memory.
      for (const image of [new Uint8Array(1_000), Buffer.alloc(1_000)]) {
        let config = configOf(image.constructor.name);
        const configs: (typeof config)[] = [];
        for (let color = 0xf1; color <= 0xf4; color++) {
          image.fill(color);
          const put = putValues(saver, config, `${color}`, { image }, { image: color });
          image.fill(0xff);
          config = await put;
          configs.push(config);
          image.fill(color);
          const write = saver.putWrites(config, [["image", image]], "task");
          image.fill(0xff);
          await write;
          for (const reader of [saver, open()])
            for (let reads = 0; reads < 2; reads++) {
              const tuple = await reader.getTuple(config);
              const read = [tuple?.checkpoint.channel_values.image, tuple?.pendingWrites?.[0]?.[2]];
              expect(read).toEqual(Array(2).fill(new Uint8Array(1_000).fill(color)));
              for (const one of read) if (one instanceof Uint8Array) one.fill(0xee);
            }
        }
        for (const [index, one] of configs.entries())
          expect(await valuesOf(saver, one)).toEqual({ image: new Uint8Array(1_000).fill(0xf1 + index) });
      }
    },
  );

  test("that are missing are an error, not an absent channel", async () => {
    const { saver, driver } = connect();
    const stores = createStores(driver);
    const root = await putValues(saver, configOf(), "1", {});
    const config = await putValues(saver, root, "2", { long: "x".repeat(3_000_000) });
    const log = stores.open("langgraph:log:t:");
    const messages = await log.listMessages();
    // A part is lost, as after a change of the database by hand.
    await log.replaceMessages(messages.filter((_, index) => index !== 2));
    await expect(saver.getTuple(config)).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(listed(saver.list(configOf()))).rejects.toMatchObject({ code: "CORRUPT" });
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
