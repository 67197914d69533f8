import type { ChatMessage } from "@scrollback/store-core";
import {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  streamText,
  tool,
  wrapLanguageModel,
} from "ai";
import type { MockLanguageModelV4 } from "ai/test";
import { describe, expect, test, vi } from "vitest";
import {
  type ChatReducer,
  MessageCountingReducer,
  reducingMiddleware,
  SummarizingReducer,
  TruncatingReducer,
} from "../src/index.ts";
import { callsTool, linesOf, saying, summarizer } from "./models.ts";
import { refusal, rejection } from "./rejection.ts";

const chat: ModelMessage[] = [
  { role: "user", content: "one" },
  { role: "assistant", content: "two" },
  { role: "user", content: "three" },
  { role: "assistant", content: "four" },
  { role: "user", content: "five" },
];
const tools = {
  look: tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => "seen" }),
};
const wrapped = (model: MockLanguageModelV4, reducer: ChatReducer) =>
  wrapLanguageModel({ model, middleware: reducingMiddleware(reducer) });

interface Call {
  model: LanguageModel;
  messages: ModelMessage[];
  instructions?: string;
  abortSignal?: AbortSignal;
}

/** The two ways to call a model, each with the model's prompts. */
const ways = [
  {
    name: "generateText",
    ask: async (call: Call) =>
      (await generateText({ ...call, tools, stopWhen: isStepCount(5), maxRetries: 0 })).text,
    promptsOf: (model: MockLanguageModelV4) => model.doGenerateCalls.map(({ prompt }) => prompt),
  },
  {
    name: "streamText",
    ask: async (call: Call) => {
      let failure: unknown;
      const onError = ({ error }: { error: unknown }) => {
        failure = error;
      };
      const result = streamText({ ...call, tools, stopWhen: isStepCount(5), maxRetries: 0, onError });
      let text = "";
      for await (const delta of result.textStream) text += delta;
      if (failure !== undefined) throw failure;
      return text;
    },
    promptsOf: (model: MockLanguageModelV4) => model.doStreamCalls.map(({ prompt }) => prompt),
  },
];

describe.each(ways)("reducingMiddleware in $name", ({ ask, promptsOf }) => {
  test("sends the reduced history to the model, and does not change the caller's", async () => {
    const model = saying("six");
    const messages = structuredClone(chat);
    const reducer = new TruncatingReducer({ targetCount: 3 });
    const text = await ask({ model: wrapped(model, reducer), messages, instructions: "Be brief." });
    expect(text).toBe("six");
    expect(promptsOf(model).map(linesOf)).toEqual([["system: Be brief.", "assistant: four", "user: five"]]);
    expect(messages).toEqual(chat);
  });

  test("passes on kept messages unchanged", async () => {
    const model = saying("seen it");
    const file = { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]) } as const;
    const providerOptions = { mock: { cached: true } };
    const messages: ModelMessage[] = [...chat, { role: "user", content: [file], providerOptions }];
    const given: ChatMessage[] = [];
    const newest: ChatReducer = {
      async reduce(prompt) {
        given.push(...prompt);
        return prompt.slice(-1);
      },
    };
    await ask({ model: wrapped(model, newest), messages });
    expect(promptsOf(model)[0]?.[0]).toBe(given.at(-1));
    expect(promptsOf(model)[0]).toEqual([
      { role: "user", content: [{ ...file, data: { type: "data", data: file.data } }], providerOptions },
    ]);
  });

  test("reduces at every step of a tool loop", async () => {
    const model = saying(callsTool("x"), callsTool("y"), "done");
    const reducer = new MessageCountingReducer({ targetCount: 4, keepToolMessages: true });
    expect(await ask({ model: wrapped(model, reducer), messages: chat.slice(2) })).toBe("done");
    expect(promptsOf(model).map(linesOf)).toEqual([
      ["user: three", "assistant: four", "user: five"],
      ["assistant: four", "user: five", "assistant: (tool-call)", "tool: (tool-result)"],
      ["assistant: (tool-call)", "tool: (tool-result)", "assistant: (tool-call)", "tool: (tool-result)"],
    ]);
  });

  test("sends a summary as text to the model, and summarises only new messages", async () => {
    const model = saying("answer");
    const { model: summarizes, requests } = summarizer();
    const reducer = new SummarizingReducer({ model: summarizes, targetCount: 1 });
    const asking = wrapped(model, reducer);
    await ask({ model: asking, messages: chat });
    const more: ModelMessage[] = [
      ...chat,
      { role: "assistant", content: "six" },
      { role: "user", content: "seven" },
    ];
    await ask({ model: asking, messages: more });
    expect(promptsOf(model)).toEqual([
      [
        { role: "assistant", content: [{ type: "text", text: "summary 1" }] },
        { role: "user", content: [{ type: "text", text: "five" }], providerOptions: undefined },
      ],
      [
        { role: "assistant", content: [{ type: "text", text: "summary 2" }] },
        { role: "user", content: [{ type: "text", text: "seven" }], providerOptions: undefined },
      ],
    ]);
    expect(requests.map(({ messages }) => linesOf(messages))).toEqual([
      ["user: one", "assistant: two", "user: three", "assistant: four"],
      ["assistant: summary 1", "user: five", "assistant: six"],
    ]);
  });

  test("converts messages that a reducer created to prompt messages", async () => {
    const model = saying("answer");
    const providerOptions = { mock: { cached: true } };
    const made: ChatMessage[] = [
      {
        role: "system",
        content: [
          { type: "text", text: "Be " },
          { type: "text", text: "brief." },
        ],
      },
      {
        id: "1",
        role: "user",
        content: "hello",
        metadata: { any: "thing" },
        createdAt: new Date(),
        providerOptions,
      },
      { role: "assistant", content: [{ type: "reasoning", text: "hm" }] },
      { role: "user", content: "and?" },
    ];
    await ask({ model: wrapped(model, { reduce: async () => made }), messages: chat });
    expect(promptsOf(model)[0]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "hello" }], providerOptions },
      { role: "assistant", content: [{ type: "reasoning", text: "hm" }] },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ]);
  });

  test("passes the call's abort signal to the reducer", async () => {
    const signals: unknown[] = [];
    const reducer: ChatReducer = {
      reduce: async (messages, options) => {
        signals.push(options?.signal);
        return [...messages];
      },
    };
    const { signal } = new AbortController();
    await ask({ model: wrapped(saying("six"), reducer), messages: chat, abortSignal: signal });
    expect(signals[0]).toBeInstanceOf(AbortSignal);
    expect((signals[0] as AbortSignal).aborted).toBe(false);
  });

  test("fails the call with the reducer's error, and does not call the model", async () => {
    const failure = new Error("no summary today");
    const model = saying("six");
    const reducer = { reduce: () => Promise.reject(failure) };
    expect(await rejection(ask({ model: wrapped(model, reducer), messages: chat }))).toBe(failure);
    expect(promptsOf(model)).toEqual([]);
  });

  test.each([
    [undefined, "messages must be an array"],
    [[{ role: "bot", content: "" }], "messages[0]: role"],
  ])("refuses an invalid history from a reducer: %j", async (reduced, problem) => {
    const reducer = { reduce: async () => reduced as unknown as ChatMessage[] };
    const error = await refusal(() => ask({ model: wrapped(saying("six"), reducer), messages: chat }));
    expect(error.message).toContain("reducingMiddleware: what reducer.reduce returned");
    expect(error.message).toContain(problem);
  });
});

test("aborts a reduction in progress with the call", async () => {
  const controller = new AbortController();
  const model = saying("six");
  const reducer = new SummarizingReducer({ model: () => new Promise(() => undefined), targetCount: 1 });
  const call = generateText({
    model: wrapped(model, reducer),
    messages: chat,
    abortSignal: controller.signal,
  });
  const failed = rejection(call);
  controller.abort();
  expect(await failed).toMatchObject({ code: "ABORTED" });
  expect(model.doGenerateCalls).toEqual([]);
});

test("the model gets no tool result whose call a reducer has cut off; a warning says so once", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const model = saying(callsTool("a"), callsTool("b"), "done");
  const reducer: ChatReducer = {
    reduce: async (messages) => [...messages.slice(0, 1), ...messages.slice(2)],
  };
  await generateText({
    model: wrapped(model, reducer),
    messages: chat.slice(0, 1),
    tools,
    stopWhen: isStepCount(5),
  });
  expect(model.doGenerateCalls.map(({ prompt }) => prompt.map(({ role }) => role))).toEqual([
    ["user"],
    ["user", "assistant", "tool"],
    ["user", "assistant", "tool"],
  ]);
  expect(warn.mock.calls.filter(([text]) => String(text).includes("the result a"))).toHaveLength(1);
  vi.restoreAllMocks();
});

test.each<[string, ChatReducer]>([
  ["drops tool messages", new MessageCountingReducer({ targetCount: 4 })],
  ["keeps less than an exchange", new MessageCountingReducer({ targetCount: 1, keepToolMessages: true })],
  ["keeps the results alone", { reduce: async (messages) => messages.slice(-1) }],
  ["keeps nothing", { reduce: async () => [] }],
])("a reducer that %s: the model sees the results that it continues from", async (_, reducer) => {
  const model = saying(callsTool("x"), callsTool("y"), "done");
  const { text } = await generateText({
    ...{ model: wrapped(model, reducer), messages: chat, tools, stopWhen: isStepCount(5), maxRetries: 0 },
  });
  expect(text).toBe("done");
  const [, second, third] = model.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt.slice(-2)));
  for (const [prompt, input] of [
    [second, "x"],
    [third, "y"],
  ])
    expect(prompt).toMatch(new RegExp(`"tool-call".*${input}.*"tool-result"`));
});
