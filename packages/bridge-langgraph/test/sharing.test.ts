import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { MemorySaver } from "@langchain/langgraph-checkpoint";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, putValues, valuesOf } from "./checkpoints.ts";

const LOG = "langgraph:log:t:";
const thread = { configurable: { thread_id: "t" } };

/** A chat without repeated words, so that nothing is shared by chance: each message has 405 characters. */
function textOf(turn: number, who: string): string {
  return Array.from({ length: 45 }, (_, place) => `${who}${turn}-${place}`.padEnd(9, "~")).join("");
}

/** A chat with one node, which keeps the last `window` messages, or all. */
function chat(checkpointer: MemorySaver | ScrollbackSaver, window = Number.POSITIVE_INFINITY) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => {
      const removed = messages.slice(0, Math.max(0, messages.length + 1 - window));
      const removals = removed.map(({ id = "" }) => new RemoveMessage({ id }));
      return { messages: [...removals, new AIMessage(textOf(messages.length, "a"))] };
    })
    .addEdge(START, "answer")
    .compile({ checkpointer });
}

async function say(checkpointer: ScrollbackSaver, turn: number, window?: number): Promise<void> {
  await chat(checkpointer, window).invoke({ messages: [new HumanMessage(textOf(turn, "u"))] }, thread);
}

/** The encoded size of the messages of the log that a function adds. */
async function added(stores: StoreFactory, write: () => Promise<void>): Promise<number> {
  const before = (await stores.open(LOG).read({ limit: 0 })).count;
  await write();
  const { entries } = await stores.open(LOG).read();
  return JSON.stringify(entries.slice(before).map(({ message }) => message)).length;
}

describe("sharing", () => {
  test("a turn with 810 bytes of text takes less than 7.5 kB at rest, and the last of many as much as turn 20", async () => {
    const turns = rounds(80, 200);
    const directory = await mkdtemp(join(tmpdir(), "sharing-"));
    try {
      const sizes = new Map<number, number>();
      const stores = createSqliteStores({ url: `sqlite:${join(directory, "a.db")}` });
      await stores.setup();
      const saver = new ScrollbackSaver({ stores });
      for (let turn = 1; turn <= turns; turn++) {
        const isMeasured = turn === 20 || turn === turns;
        if (isMeasured) sizes.set(turn, await added(stores, () => say(saver, turn)));
        else await say(saver, turn);
      }
      const { values } = await chat(new ScrollbackSaver({ stores })).getState(thread);
      expect(values.messages).toHaveLength(2 * turns);
      await stores.close();
      expect(statSync(join(directory, "a.db")).size).toBeLessThan(7_500 * turns);
      expect((sizes.get(turns) ?? 0) / (sizes.get(20) ?? 1)).toBeLessThan(1.1);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("a list that loses its beginning and gains an end each turn is not stored again", async () => {
    const stores = createMemoryStores();
    const saver = new ScrollbackSaver({ stores });
    const sizes: number[] = [];
    for (let turn = 1; turn <= 60; turn++) sizes.push(await added(stores, () => say(saver, turn, 40)));
    // The state has 40 messages of 700 bytes each.
    expect(Math.max(...sizes.slice(30))).toBeLessThan(1.5 * Math.max(...sizes.slice(5, 15)));
    const { values } = await chat(new ScrollbackSaver({ stores })).getState(thread);
    expect(values.messages).toHaveLength(40);
  });

  test("a pending write that a checkpoint contains, and an input that a write contains, is stored once", async () => {
    const stores = createMemoryStores();
    await say(new ScrollbackSaver({ stores }), 1);
    const stored = JSON.stringify(await stores.open(LOG).listMessages());
    expect(stored.split(textOf(1, "u"))).toHaveLength(2);
    expect(stored.split(textOf(1, "a"))).toHaveLength(2);
  });

  test("a reader of a small value of a long log reads little", async () => {
    const stores = createMemoryStores();
    const saver = new ScrollbackSaver({ stores });
    let config = configOf();
    const long = "x".repeat(300);
    for (let n = 1_000; n < 1_400; n++)
      config = await putValues(saver, config, `${n}`, { n, long }, { n, long: 1 });
    const { entries } = await stores.open(LOG).read();
    const [last] = entries.slice(-1).map(({ message }) => message as { metadata?: unknown });
    const found = /"long",\{[^}]*"from":(\d+)/.exec(JSON.stringify(last?.metadata));
    // Either it is stored in this message, or not far back.
    expect(Number(found?.[1] ?? 399)).toBeGreaterThan(390);
    expect(await valuesOf(new ScrollbackSaver({ stores }), configOf())).toEqual({ n: 1_399, long });
  });

  test("with gzip the same thread takes less", async () => {
    const sizeOf = async (stores: StoreFactory) => {
      const saver = new ScrollbackSaver({ stores });
      for (let turn = 1; turn <= 5; turn++) await say(saver, turn);
      const { values } = await chat(new ScrollbackSaver({ stores })).getState(thread);
      expect(values.messages).toHaveLength(10);
      const { thread: content } = await stores.open(LOG).serialize();
      return JSON.stringify(content?.messages).length;
    };
    const plain = await sizeOf(createMemoryStores());
    expect(await sizeOf(createMemoryStores({ codec: gzipCodec() }))).toBeLessThan(0.8 * plain);
  });
});
