import { ChatStore } from "@scrollback/chats";
import { type Codec, createMemoryStores, jsonCodec, StoreError } from "@scrollback/store-core";
import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { beginTurn, uiMessages } from "../src/index.ts";
import { storableMessage } from "../src/streams/storable.ts";
import { serve, textIn, user } from "./serve.ts";

const cycle: { self?: unknown } = {};
cycle.self = cycle;
const deep = (levels: number) => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};
const throwing = {
  toJSON() {
    throw new Error("no");
  },
};
const values = {
  bigint: { rows: 3n },
  cycle,
  throwing,
  function: () => 1,
  symbol: Symbol("1"),
  deep: deep(3_000),
  "deeper than JSON": deep(100_000),
};
const rows = Object.entries(values);

/** What the model's stream contains beside a text. */
async function answered(chunks: (value: unknown) => readonly object[], value: unknown) {
  const text = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "hello" },
    { type: "text-end", id: "t" },
  ];
  const server = await serve({
    generate: () => ReadableStream.from([...chunks(value), ...text, { type: "finish" }] as UIMessageChunk[]),
  });
  const answer = await server.post({ id: "c", message: user("q") });
  const page = await server.mine.read("c");
  const next = await server.post({
    id: "c",
    message: user("q2"),
    parentId: page?.entries.at(-1)?.message.id,
  });
  const { errors } = server;
  await server[Symbol.asyncDispose]();
  return { answer, page, next, errors };
}

const call = { toolCallId: "x", toolName: "lookUp" };
const input = { ...call, type: "tool-input-available", input: {} };
const output = { type: "tool-output-available", toolCallId: "x" };

test.each(rows)(
  "a tool output that is not JSON (%s) becomes a tool error, and the rest is stored",
  async (_, value) => {
    const { answer, page, next, errors } = await answered(
      (one) => [input, { ...output, output: one }],
      value,
    );
    const [entry] = page?.entries.slice(-1) ?? [];
    expect(entry).toMatchObject({ status: "complete" });
    expect(entry?.message.parts).toMatchObject([
      { state: "output-error", toolCallId: "x" },
      { text: "hello" },
    ]);
    expect(page?.chat).not.toHaveProperty("run");
    expect(answer.chunks).toContainEqual(
      expect.objectContaining({ type: "tool-output-error", toolCallId: "x" }),
    );
    expect(textIn(answer.chunks)).toBe("hello");
    expect(next.status).toBe(200);
    expect(errors).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/tool-output-available.output is not JSON/) }),
    );
  },
);

test.each<[string, (value: unknown) => readonly object[], object[]]>([
  [
    "a preliminary output",
    (value) => [input, { ...output, output: value, preliminary: true }, { ...output, output: 1 }],
    [{ output: 1 }],
  ],
  ["an input", (value) => [{ ...input, input: value }], [{ state: "output-error", input: null }]],
  ["data", (data) => [{ type: "data-mood", data }], []],
  ["metadata of the start", (messageMetadata) => [{ type: "start", messageMetadata }], []],
  ["metadata of the message", (messageMetadata) => [{ type: "message-metadata", messageMetadata }], []],
  [
    "provider metadata",
    (providerMetadata) => [
      { ...input, providerMetadata },
      { ...output, output: 1 },
    ],
    [{ output: 1 }],
  ],
])("%s that is not JSON is left out, and the rest is stored", async (_, chunks, parts) => {
  for (const [, value] of rows) {
    const { page, next, errors } = await answered(chunks, value);
    expect(page?.entries.at(-1)?.message.parts).toMatchObject([...parts, { text: "hello" }]);
    expect(page?.entries.at(-1)).toMatchObject({ status: "complete" });
    expect(next.status).toBe(200);
    expect(errors).not.toEqual([]);
  }
});

test("a chunk that is not an object fails the answer, and releases the lease", async () => {
  for (const value of [undefined, null, "text"]) {
    const { page, next } = await answered((one) => [input, one as object], value);
    expect(page?.chat).not.toHaveProperty("run");
    expect(next.status).toBe(200);
  }
});

test("beginTurn without pipe: an output that is not JSON becomes a tool error", async () => {
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages() });
  const mine = chats.of("ada");
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const { ui } = await beginTurn<UIMessage>({ chats: mine, body: { id: "c", message: user("q") }, onError });
  const part = { ...call, type: "dynamic-tool", state: "output-available", input: {} };
  const responseMessage = {
    ...{ id: "a", role: "assistant", metadata: { rows: 3n } },
    parts: rows.map(([, value]) => ({ ...part, output: value })),
  };
  await ui.onStepEnd({ responseMessage } as never);
  await ui.onEnd({ responseMessage, isAborted: false, finishReason: "stop" } as never);
  const page = await mine.read("c");
  expect(page?.chat).not.toHaveProperty("run");
  const failed = { ...call, type: "dynamic-tool", state: "output-error", input: {} };
  expect(page?.entries.at(-1)?.message.parts).toMatchObject(rows.map(() => failed));
  expect(page?.entries.at(-1)?.message).not.toHaveProperty("metadata");
  expect(errors).not.toEqual([]);
  await chats.flush();
});

test("a message that is JSON is the same text, and levels that a store takes are kept", () => {
  const message = { id: "a", role: "assistant", parts: [{ type: "data-x", data: deep(890) }] } as UIMessage;
  const errors: unknown[] = [];
  expect(storableMessage(message, (error) => errors.push(error))).toEqual(message);
  expect(errors).toEqual([]);
});

test("an answer that the check of the store refuses ends its run as failed", async () => {
  const check = (one: unknown) => ((one as UIMessage).role === "assistant" ? "is refused" : undefined);
  await using server = await serve({ store: { check } });
  await server.post({ id: "c", message: user("q", "say hello") });
  const page = await server.mine.read("c");
  expect(page?.chat).not.toHaveProperty("run");
  expect(page?.entries.at(-1)).toMatchObject({ status: "failed", error: "the answer is not valid" });
  expect(server.errors).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
});

test.each(["INVALID_ARGUMENT", "TOO_LARGE"] as const)(
  "an answer of which the store refuses every part with %s releases its lease",
  async (code) => {
    const codec: Codec = {
      ...jsonCodec,
      encode(value) {
        const text = jsonCodec.encode(value);
        if (text.includes("refused")) throw new StoreError(code, "is refused");
        return text;
      },
    };
    const chats = new ChatStore<UIMessage>({ stores: createMemoryStores({ codec }), ...uiMessages() });
    const mine = chats.of("ada");
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const { ui } = await beginTurn<UIMessage>({
      chats: mine,
      body: { id: "c", message: user("q") },
      onError,
    });
    const responseMessage = { id: "a", role: "assistant", parts: [{ type: "text", text: "refused" }] };
    await ui.onEnd({ responseMessage, isAborted: false, finishReason: "stop" } as never);
    const page = await mine.read("c");
    expect(page?.chat).not.toHaveProperty("run");
    expect(page?.entries).toHaveLength(1);
    expect(errors).toMatchObject([{ code }, { code }]);
    await chats.flush();
  },
);
