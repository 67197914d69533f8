import { createUIMessageStream, tool, type UIMessage, type UIMessageChunk } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { type ModelPart, scriptedModel, scriptedTools } from "./scripted-model.ts";
import { read, serve, textIn, until, user } from "./serve.ts";
import { openTab, textOf } from "./ui-client.ts";

const slow = () => scriptedModel({ delayMs: 20 });
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");

test.concurrent("a model that is down: the question is stored, the client gets no error details, and a retry is answered", async () => {
  let isDown = true;
  const model = scriptedModel();
  await using server = await serve({
    async generate(turn) {
      if (isDown) throw new Error("secret: no connection");
      const { streamText } = await import("ai");
      return streamText({ model, messages: turn.modelMessages });
    },
  });
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "say hello" });
  expect(tab.error?.message).toBe("An error occurred.");
  expect((await server.stored("c"))?.map(textOf)).toEqual(["say hello"]);
  expect(server.errors).toMatchObject([{ message: "secret: no connection" }]);
  expect((await server.mine.get("c"))?.run).toBeUndefined();
  isDown = false;
  await tab.regenerate();
  expect(tab.lastText).toBe("hello ");
  expect(await server.stored("c")).toEqual(tab.plain);
});

test.concurrent("a model that fails immediately leaves an empty answer in the tab; the next message is accepted", async () => {
  await using server = await serve();
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "crash" });
  expect(tab.error?.message).toBe("An error occurred.");
  expect(tab.lastMessage).toMatchObject({ role: "assistant", parts: [] });
  expect((await server.stored("c"))?.map(textOf)).toEqual(["crash"]);
  await tab.sendMessage({ text: "say hello" });
  expect(tab.lastText).toBe("hello ");
  expect((await server.stored("c"))?.map(textOf)).toEqual(["crash", "say hello", "hello "]);
});

test.concurrent("a model that fails during an answer: the partial answer is stored as failed", async () => {
  await using server = await serve();
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "fail after one two" });
  expect(tab.error?.message).toBe("An error occurred.");
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ status: "failed", error: "An error occurred." });
  expect(textOf(page?.entries.at(-1)?.message)).toBe("one two ");
  expect(page?.entries.at(-1)?.message.parts).toMatchObject([{ type: "step-start" }, { state: "done" }]);
  expect(server.errors).toMatchObject([{ message: "secret: the model failed" }]);
  const { statuses, messages } = await server.get("/chats/c");
  expect(statuses[messages[1]?.id ?? ""]).toMatchObject({ status: "failed", error: "An error occurred." });
});

test.concurrent("stream.onError returns the text of errors; without it errors of tools are unchanged", async () => {
  const tools = { ...scriptedTools({ deleted: [] }) };
  const broken = {
    ...tools,
    lookUp: { ...tools.lookUp, execute: async () => Promise.reject(new Error("no entry")) },
  };
  await using plain = await serve({ tools: broken });
  await plain.post({ id: "c", message: user("q", "look up x") });
  expect(JSON.stringify(await plain.stored("c"))).toContain("no entry");
  await using reported = await serve({ tools: broken, stream: { onError: () => "Sorry." } });
  await reported.post({ id: "c", message: user("q", "look up x") });
  const texts = JSON.stringify((await reported.stored("c"))?.[1]?.parts[1]);
  expect(texts).toContain("Sorry.");
  expect(texts).not.toContain("no entry");
});

test.concurrent("stop: the answer so far is stored when the request returns, and the chat continues", async () => {
  await using server = await serve({ model: slow() });
  const tab = openTab(server.url, "c");
  const sent = tab.sendMessage({ text: `say ${words(10_000)}` });
  await until(() => tab.messages.length === 2 && tab.lastText.includes("word3"));
  expect(await (await server.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: true });
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ status: "stopped" });
  expect(textOf(page?.entries.at(-1)?.message)).toMatch(/^word0 word1 word2 word3 /);
  expect(page?.chat.run).toBeUndefined();
  await sent;
  expect(await server.stored("c")).toEqual(tab.plain);
  await tab.stop();
  expect(await (await server.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: false });
  expect((await server.send("POST", "/chat/none/stop")).status).toBe(404);
  await tab.sendMessage({ text: "say on" });
  expect(tab.lastText).toBe("on ");
  expect(server.errors).toEqual([]);
});

test.concurrent("stop with the id of another run stops nothing", async () => {
  await using server = await serve({ model: slow() });
  const answered = server.post({ id: "c", message: user("q", `say ${words(10)}`) });
  await until(async () => (await server.mine.get("c"))?.run);
  const stopped = await server.send("POST", "/chat/c/stop", { runId: "earlier" });
  expect(await stopped.json()).toEqual({ stopped: false });
  expect(textIn((await answered).chunks)).toContain("word9");
});

test.concurrent("a model that hangs and ignores its signal: stop works, and the lease is released", async () => {
  await using server = await serve({ generate: () => new ReadableStream() });
  const answered = server.post({ id: "c", message: user("q") });
  await until(async () => (await server.mine.get("c"))?.run);
  expect(await (await server.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: true });
  expect((await answered).chunks).toMatchObject([{ type: "start" }, { type: "abort" }]);
  expect((await server.mine.get("c"))?.run).toBeUndefined();
  expect(await server.stored("c")).toEqual([user("q")]);
  await using scripted = await serve();
  const hanging = scripted.post({ id: "c", message: user("q", "hang") });
  await until(async () => (await scripted.mine.get("c"))?.run);
  await scripted.send("POST", "/chat/c/stop");
  await hanging;
  expect(await scripted.stored("c")).toEqual([user("q", "hang")]);
});

test.concurrent("a tool interrupted by stop is stored as one that may have run, and providers accept the history", async () => {
  const tools = scriptedTools({ deleted: [] }, { lookUpMs: 100_000 });
  await using server = await serve({ tools });
  const answered = server.post({ id: "c", message: user("q", "look up x") });
  await until(async () => (await server.newest("c")).includes("input-available"));
  await server.send("POST", "/chat/c/stop");
  await answered;
  const [, stored] = (await server.stored("c")) ?? [];
  expect(stored?.parts[1]).toMatchObject({
    state: "output-error",
    errorText: "Interrupted; it may have run.",
  });
  const next = await server.post({ id: "c", message: user("q2", "say next") });
  expect(textIn(next.chunks)).toBe("next ");
});

test.concurrent("closing a tab neither stops nor delays an answer", async () => {
  await using server = await serve({ model: slow() });
  const controller = new AbortController();
  const body = JSON.stringify({ id: "c", message: user("q", `say ${words(20)}`) });
  const { signal } = controller;
  const response = await fetch(`${server.url}/api/chat`, { method: "POST", body, signal });
  await response.body?.getReader().read();
  controller.abort();
  await until(
    async () => (await server.mine.get("c"))?.messageCount === 2 && !(await server.mine.get("c"))?.run,
  );
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ status: "complete" });
  expect(textOf(page?.entries.at(-1)?.message)).toBe(`${words(20)} `);

  const deaf = await fetch(`${server.url}/api/chat`, {
    method: "POST",
    body: JSON.stringify({
      id: "d",
      message: user("q", `say ${"x".repeat(300_000)} ${"y".repeat(300_000)} end`),
    }),
  });
  await until(async () =>
    (await server.stored("d"))?.length === 2 ? !(await server.mine.get("d"))?.run : false,
  );
  expect(textOf((await server.stored("d"))?.[1]).length).toBeGreaterThan(600_000);
  expect(textIn((await read(deaf)).chunks)).toContain("end ");
  expect(server.errors).toEqual([]);
});

test.concurrent("an answer is stored while it is generated", async () => {
  await using server = await serve({ model: slow() });
  const answered = server.post({ id: "c", message: user("q", `say ${words(50)}`) });
  const partial = await until(async () => {
    const entry = (await server.mine.read("c"))?.entries[1];
    return entry?.status === "partial" && (textOf(entry.message) || undefined);
  });
  expect(partial).toMatch(/^word0 /);
  await answered;
});

test.concurrent("a step is stored when it ends, before the next one", async () => {
  let stored: UIMessage[] | undefined;
  await using server = await serve({
    store: { beatMs: 10_000, leaseMs: 30_000 },
    generate: () =>
      createUIMessageStream({
        async execute({ writer }) {
          writer.write({ type: "start-step" });
          for (const delta of ["one ", "two "]) {
            writer.write({ type: "text-start", id: delta });
            writer.write({ type: "text-delta", id: delta, delta });
            writer.write({ type: "text-end", id: delta });
          }
          writer.write({ type: "finish-step" });
          await until(async () => (await server.mine.get("c"))?.messageCount === 2);
          stored = await server.stored("c");
        },
      }),
  });
  await server.post({ id: "c", message: user("q") });
  expect(textOf(stored?.[1])).toBe("one |two ");
});

test.concurrent("a save that fails at the end is reported; the last beat stays, and the run is lost", async () => {
  await using server = await serve({ model: slow(), store: { leaseMs: 1_500 } });
  const answered = server.post({ id: "c", message: user("q", `say ${words(12)}`) });
  await until(async () => {
    const found = await server.mine.read("c");
    return found?.entries.at(-1)?.status === "partial" && found.chat.run?.state === "running";
  });
  const failing = server.failWrites();
  await answered;
  failing.stop();
  expect(server.errors).toContainEqual(expect.objectContaining({ code: "UNAVAILABLE" }));
  const lost = await until(async () => {
    const chat = await server.mine.get("c");
    return chat?.run?.state === "lost" && chat;
  });
  expect(lost.messageCount).toBe(2);
  const { messages, statuses } = await server.get("/chats/c");
  expect(statuses[messages[1]?.id ?? ""]).toMatchObject({ status: "failed" });
  expect(messages[1]?.parts.at(-1)).toMatchObject({ state: "done" });
});

test.concurrent("an end that fails temporarily is retried: the whole answer is stored", async () => {
  // The end is retried for as long.
  await using server = await serve({ model: slow(), store: { leaseMs: 60_000 } });
  const answered = server.post({ id: "c", message: user("q", `say ${words(12)}`) });
  await until(async () => (await server.stored("c"))?.length === 2);
  const failing = server.failWrites();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  failing.stop();
  const { chunks } = await answered;
  expect(chunks.at(-1)).toMatchObject({ type: "finish" });
  const page = await server.mine.read("c");
  expect(page?.chat).not.toHaveProperty("run");
  expect(page?.entries.at(-1)).toMatchObject({ status: "complete" });
  expect(textOf(page?.entries.at(-1)?.message)).toBe(`${words(12)} `);
});

test.concurrent("an answer too large for the store: its beginning is stored as failed, the client gets an error, and the lease is released", async () => {
  const text = "\u0001".repeat(3 * 1_024 * 1_024);
  await using server = await serve({
    generate: ({ messages }) =>
      ReadableStream.from(
        ["a", ...(messages.length > 1 ? [] : [text])].flatMap((delta, index) => [
          { type: "text-start" as const, id: `${index}` },
          { type: "text-delta" as const, id: `${index}`, delta },
          { type: "text-end" as const, id: `${index}` },
        ]),
      ),
  });
  const { chunks } = await server.post({ id: "c", message: user("q") });
  expect(chunks.at(-1)).toMatchObject({ type: "error" });
  expect(server.errors).toContainEqual(expect.objectContaining({ code: "TOO_LARGE" }));
  const page = await server.mine.read("c");
  expect(page?.chat).not.toHaveProperty("run");
  expect(page?.entries.at(-1)).toMatchObject({ status: "failed", error: expect.stringMatching(/too large/) });
  const [first, second] = page?.entries.at(-1)?.message.parts ?? [];
  expect(first).toMatchObject({ text: "a" });
  expect(text.startsWith((second as { text: string }).text)).toBe(true);
  expect((second as { text: string }).text.length).toBeGreaterThan(600_000);
  expect((await server.post({ id: "c", message: user("next") })).status).toBe(200);
  expect((await server.mine.read("c"))?.entries.at(-1)).toMatchObject({ status: "complete" });
});

const huge = "A".repeat(17 * 1_024 ** 2);
const call = { type: "tool-input-available", toolCallId: "k", toolName: "x", input: {} } as const;
const error = { type: "tool-x", state: "output-error", errorText: expect.stringMatching(/too large/) };

test.each<[string, UIMessageChunk[], object[]]>([
  [
    "output",
    [call, { type: "tool-output-available", toolCallId: "k", output: huge }],
    [{ ...error, input: {} }],
  ],
  ["input", [{ ...call, input: huge }], [{ ...error, input: null }]],
  ["data", [{ type: "data-huge", data: [huge] }], []],
  ["metadata", [{ type: "start", messageMetadata: { huge } }], []],
])(
  "an answer with a %s too large for the store: the rest is stored as failed, and the lease is released",
  async (_, huge, parts) => {
    const text = [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "rest" },
      { type: "text-end", id: "1" },
    ] as const;
    for (const more of parts.length > 0 ? [text] : [[], text]) {
      await using server = await serve({
        generate: () => ReadableStream.from<UIMessageChunk>([...huge, ...more]),
      });
      await server.post({ id: "c", message: user("q") });
      const page = await server.mine.read("c");
      expect(page?.chat).not.toHaveProperty("run");
      const stored = [...parts, ...more.slice(0, 1).map(() => ({ type: "text", text: "rest" }))];
      const answer = page?.entries[1];
      if (stored.length > 0) expect(answer).toMatchObject({ status: "failed", message: { parts: stored } });
      else expect(answer).toBeUndefined();
    }
  },
);

test.each<[string, UIMessageChunk[]]>([
  ["before the next step", [{ type: "finish-step" }, { type: "start-step" }, { type: "finish" }]],
  ["at the finish", [{ type: "finish" }]],
  ["at the end of the stream", []],
])("texts that a stream leaves open are ended %s, for the client as in the store", async (_, rest) => {
  await using server = await serve({
    generate: () =>
      ReadableStream.from<UIMessageChunk>([
        ...([{ type: "start" }, { type: "start-step" }] as const),
        ...([
          { type: "reasoning-start", id: "0" },
          { type: "text-start", id: "0" },
        ] as const),
        ...([{ type: "text-delta", id: "0", delta: "words" }] as const),
        ...rest,
      ]),
  });
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "q" });
  const stored = await server.stored("c");
  expect(stored).toEqual(tab.plain);
  expect(stored?.[1]?.parts.filter((part) => "state" in part)).toMatchObject([
    { type: "reasoning", state: "done" },
    { type: "text", state: "done" },
  ]);
  const { chunks } = await server.post({ id: "c", message: user("again") });
  const types = chunks.map(({ type }) => type);
  const [first] = rest;
  // Without a finish, an error follows.
  const end = types.indexOf(first?.type ?? "error");
  expect(types.slice(end - 2, end)).toEqual(["reasoning-end", "text-end"]);
});

test("an error without a text ends the answer as failed", async () => {
  const chunks = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "a" },
    { type: "error" },
  ];
  await using server = await serve({ generate: () => ReadableStream.from(chunks as UIMessageChunk[]) });
  await server.post({ id: "c", message: user("q") });
  expect((await server.mine.read("c"))?.entries[1]).toMatchObject({
    ...{ status: "failed", error: "An error occurred." },
    message: { parts: [{ type: "text", text: "a", state: "done" }] },
  });
});

test.concurrent("outputs of tools that are not JSON are stored as the client receives them", async () => {
  const tools = { ...scriptedTools({ deleted: [] }) };
  const dated = {
    ...tools,
    lookUp: {
      ...tools.lookUp,
      execute: async () => ({ at: new Date(0), url: new URL("http://a/"), none: undefined }),
    },
  };
  await using server = await serve({ tools: dated as never });
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "look up x" });
  expect(await server.stored("c")).toEqual(tab.plain);
  expect(JSON.stringify(await server.stored("c"))).toContain("1970-01-01T00:00:00.000Z");
  expect(server.errors).toEqual([]);
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finished = (unified: "stop" | "length" | "other" | "error" | "tool-calls"): ModelPart => ({
  type: "finish",
  finishReason: { unified, raw: undefined },
  usage,
});
const half: ModelPart[] = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "The rules are: first" },
];
const input: ModelPart[] = [
  { type: "tool-input-start", id: "k", toolName: "lookUp" },
  { type: "tool-input-delta", id: "k", delta: '{"word":' },
];
const scripted = (parts: readonly ModelPart[]) =>
  new MockLanguageModelV4({ doStream: async () => ({ stream: ReadableStream.from([...parts]) }) });

test.each<[string, ModelPart[]]>([
  ["in a text", half],
  ["in a text, with an unknown reason", [...half, finished("other")]],
  ["with an error that no chunk tells of", [...half, { type: "text-end", id: "t" }, finished("error")]],
  ["in the input of a tool", [...half, { type: "text-end", id: "t" }, ...input]],
  [
    "in the input of a tool, by its length",
    [...half, { type: "text-end", id: "t" }, ...input, finished("length")],
  ],
])("a model's stream that ends %s: failed, reported, and an error for the client", async (_, parts) => {
  await using server = await serve({ model: scripted(parts) });
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "Name the rules" });
  expect(tab.error?.message).toBe("An error occurred.");
  expect(server.errors).toMatchObject([{ code: "UNAVAILABLE" }]);
  const { messages, statuses } = await server.get("/chats/c");
  expect(statuses[messages[1]?.id ?? ""]).toMatchObject({ status: "failed", error: expect.any(String) });
  expect(textOf(messages[1])).toBe("The rules are: first");
  expect(JSON.stringify(messages)).not.toContain("streaming");
  await tab.sendMessage({ text: "go on" });
  expect((await server.stored("c"))?.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

test.each<[string, ModelPart[]]>([
  ["to its end", [...half, { type: "text-end", id: "t" }, finished("stop")]],
  ["to the maximum length", [...half, { type: "text-end", id: "t" }, finished("length")]],
])("a model's stream that goes %s is complete", async (_, parts) => {
  await using server = await serve({ model: scripted(parts) });
  await openTab(server.url, "c").sendMessage({ text: "Name the rules" });
  const { messages, statuses } = await server.get("/chats/c");
  expect(statuses[messages[1]?.id ?? ""]).toMatchObject({ status: "complete" });
  expect(server.errors).toEqual([]);
});

test.each<[string, UIMessageChunk[], string]>([
  [
    "without a finish, in a step",
    [{ type: "start-step" }, { type: "text-start", id: "t" }, { type: "text-end", id: "t" }],
    "failed",
  ],
  [
    "without a finish, in a text",
    [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "x" },
    ],
    "failed",
  ],
  [
    "without a finish, its parts whole",
    [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "x" },
      { type: "text-end", id: "t" },
    ],
    "complete",
  ],
  [
    "with a finish without a reason",
    [
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "x" },
      { type: "finish" },
    ],
    "complete",
  ],
])("an application's stream %s", async (_, chunks, status) => {
  await using server = await serve({ generate: () => ReadableStream.from(chunks) });
  await server.post({ id: "c", message: user("q") });
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)?.message.role === "user" ? "failed" : page?.entries.at(-1)?.status).toBe(
    status,
  );
  expect(server.errors).toHaveLength(status === "failed" ? 1 : 0);
});

test("what comes behind an error part is stored too, so that a tool which ran is not run again", async () => {
  const paid: string[] = [];
  let steps = 0;
  const model = new MockLanguageModelV4({
    async doStream() {
      const error: ModelPart = { type: "error", error: new Error("cut") };
      const call: ModelPart = { type: "tool-call", toolCallId: "k", toolName: "pay", input: "{}" };
      const words: ModelPart[] = [...half, { type: "text-end", id: "t" }];
      const parts: ModelPart[] =
        steps++ === 0 ? [...words, error, call, finished("tool-calls")] : [...words, finished("stop")];
      return { stream: ReadableStream.from(parts) };
    },
  });
  const pay = tool({ inputSchema: z.object({}), execute: async () => void paid.push("once") });
  await using server = await serve({ model, tools: { pay } });
  await openTab(server.url, "c").sendMessage({ text: "pay" });
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ status: "failed", error: "An error occurred." });
  const types = page?.entries.at(-1)?.message.parts.map(({ type }) => type);
  expect(types).toEqual(["step-start", "text", "tool-pay", "step-start", "text"]);
  await openTab(server.url, "c", { messages: (await server.stored("c")) ?? [] }).sendMessage({
    text: "go on",
  });
  expect(JSON.stringify(model.doStreamCalls.at(-1)?.prompt)).toContain("tool-result");
  expect(paid).toEqual(["once"]);
});
