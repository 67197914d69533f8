import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import {
  type ChatReducer,
  MessageCountingReducer,
  reducingMiddleware,
  SummarizingReducer,
  TokenBudgetReducer,
  TruncatingReducer,
  withReducer,
} from "../src/index.ts";
import { history } from "./messages.ts";
import { refusal } from "./rejection.ts";

const model = async () => "a summary";
const countTokens = () => 1;
const store = createMemoryStores().open();
const reducer = new TruncatingReducer({ targetCount: 3 });

/** The constructors, for options of any type. */
const made: Record<string, (options: never) => unknown> = {
  MessageCountingReducer: (options) => new MessageCountingReducer(options),
  TruncatingReducer: (options) => new TruncatingReducer(options),
  SummarizingReducer: (options) => new SummarizingReducer(options),
  TokenBudgetReducer: (options) => new TokenBudgetReducer(options),
  withReducer: (options) => withReducer(store, reducer, options),
};

const wrongCounts = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3", null, undefined];
const wrongThresholds = [-1, 0.5, Number.NaN, "0", null];

const invalid: [string, unknown, string][] = [
  ...wrongCounts.flatMap((count): [string, unknown, string][] => [
    ["MessageCountingReducer", { targetCount: count }, "targetCount must be a positive integer"],
    ["TruncatingReducer", { targetCount: count }, "targetCount must be a positive integer"],
    ["SummarizingReducer", { targetCount: count, model }, "targetCount must be a positive integer"],
    ["TokenBudgetReducer", { maxTokens: count, countTokens }, "maxTokens must be a positive integer"],
  ]),
  ...wrongThresholds.flatMap((threshold): [string, unknown, string][] => [
    ["TruncatingReducer", { targetCount: 3, threshold }, "threshold must be an integer of 0 or more"],
    ["SummarizingReducer", { targetCount: 3, model, threshold }, "threshold must be an integer of 0 or more"],
  ]),
  [
    "MessageCountingReducer",
    { targetCount: 3, keepToolMessages: "yes" },
    "keepToolMessages must be true or false",
  ],
  ["SummarizingReducer", { targetCount: 3 }, "model must be a language model of the AI SDK or a function"],
  ["SummarizingReducer", { targetCount: 3, model: "" }, "model must be"],
  ["SummarizingReducer", { targetCount: 3, model: { modelId: "x" } }, "model must be"],
  [
    "SummarizingReducer",
    { targetCount: 3, model, instructions: "" },
    "instructions must be a non-empty string",
  ],
  [
    "SummarizingReducer",
    { targetCount: 3, model, onFailure: "ignore" },
    `onFailure must be "throw" or "keep"`,
  ],
  ["TokenBudgetReducer", { maxTokens: 3 }, "countTokens must be a function"],
  ["TokenBudgetReducer", { maxTokens: 3, countTokens: 4 }, "countTokens must be a function"],
  ["withReducer", { when: "always" }, `when must be "beforeList" or "afterAdd"`],
  ["withReducer", {}, `when must be "beforeList" or "afterAdd"`],
  ["withReducer", { when: "afterAdd", onError: "log" }, "onError must be a function"],
  ...Object.keys(made).flatMap((name): [string, unknown, string][] => [
    [name, { target: 3 }, `unknown option "target"`],
    [name, undefined, "must be"],
    [name, null, "must be"],
    [name, 3, "options must be an object"],
  ]),
];

test.each(invalid)("%s rejects %j: %s", async (name, options, problem) => {
  const { message } = await refusal(() => made[name]?.(options as never));
  expect(message).toContain(`${name}: `);
  expect(message).toContain(problem);
});

test.each([
  ["MessageCountingReducer", { targetCount: 1, keepToolMessages: undefined }],
  ["TruncatingReducer", { targetCount: 1, threshold: 0 }],
  ["SummarizingReducer", { targetCount: 1, threshold: 0, model: "openai/gpt-5", onFailure: "keep" }],
  ["TokenBudgetReducer", { maxTokens: 1, countTokens }],
  ["withReducer", { when: "afterAdd", onError: undefined }],
])("%s accepts %j", (name, options) => {
  expect(made[name]?.(options as never)).toBeDefined();
});

test.each([undefined, null, {}, { reduce: true }])("%j is not a reducer", async (wrongReducer) => {
  const given = wrongReducer as unknown as ChatReducer;
  expect((await refusal(() => withReducer(store, given, { when: "afterAdd" }))).message).toContain(
    "withReducer: reducer must",
  );
  expect((await refusal(() => reducingMiddleware(given))).message).toContain(
    "reducingMiddleware: reducer must",
  );
});

test.each([undefined, null, {}, { addMessages() {}, listMessages() {} }])(
  "%j is not a store",
  async (wrongStore) => {
    const { message } = await refusal(() => withReducer(wrongStore as never, reducer, { when: "afterAdd" }));
    expect(message).toContain("withReducer: store must");
  },
);

const reducers: [string, ChatReducer][] = [
  ["MessageCountingReducer", new MessageCountingReducer({ targetCount: 2 })],
  ["TruncatingReducer", new TruncatingReducer({ targetCount: 2 })],
  ["SummarizingReducer", new SummarizingReducer({ targetCount: 2, model })],
  ["TokenBudgetReducer", new TokenBudgetReducer({ maxTokens: 2, countTokens })],
];

describe.each(reducers)("%s.reduce", (name, one) => {
  test.each([
    [undefined, undefined, "messages must be an array"],
    [{ 0: "u" }, undefined, "messages must be an array"],
    [[...history("u a"), { role: "bot", content: "" }], undefined, "messages[2]: role"],
    [[...history("u"), undefined], undefined, "messages[1]: must be an object"],
    [[{ role: "user", content: [{ type: "text" }] }], undefined, "messages[0]: content[0].text"],
    [[], { signal: "stop" }, "signal must be an AbortSignal"],
    [[], { limit: 3 }, `unknown option "limit"`],
  ])("refuses invalid input by name: %j %j", async (messages, options, problem) => {
    const { message } = await refusal(() => one.reduce(messages as never, options as never));
    expect(message).toContain(`${name}.reduce: `);
    expect(message).toContain(problem);
  });

  test("rejects with ABORTED and the reason if the signal is already aborted", async () => {
    const reason = new Error("enough");
    const aborted = { signal: AbortSignal.abort(reason) };
    const error = await refusal(() => one.reduce(history("u a u a u"), aborted), "ABORTED");
    expect(error.cause).toBe(reason);
  });
});
