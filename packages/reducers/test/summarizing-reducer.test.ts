import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { SUMMARY_INSTRUCTIONS, SummarizingReducer } from "../src/index.ts";
import type { SummaryRequest } from "../src/summary-model.ts";
import { assistant, history, idsOf, user } from "./messages.ts";
import { linesOf, saying, summarizer } from "./models.ts";

/** The result of a reduction, and the messages that the model summarised: "nothing" without a model call. */
async function summarized(letters: string, targetCount: number, threshold?: number) {
  const { model, requests } = summarizer();
  const reducer = new SummarizingReducer({
    model,
    targetCount,
    ...(threshold !== undefined && { threshold }),
  });
  const reduced = idsOf(await reducer.reduce(history(letters)));
  expect(requests.length).toBeLessThanOrEqual(1);
  return { reduced, asked: requests[0] ? idsOf(requests[0].messages) : "nothing" };
}

test.each([
  ["u a u a u a u", 3, 1, "u0 a1 u2 a3", "[summary 1] u4 a5 u6", "four are summed up, three stay"],
  ["u a u q:x r:x Y:x a", 2, 0, "u0 a1 u2", "[summary 1] q3 r4 Y5 a6", "a whole tool exchange is kept"],
  ["u a u a", 4, 0, "nothing", "u0 a1 u2 a3", "nothing to summarise up to targetCount"],
  ["u a u a u", 3, 2, "nothing", "u0 a1 u2 a3 u4", "nor up to targetCount + threshold"],
  ["u a u a u a", 3, 2, "u0 a1", "[summary 1] u2 a3 u4 a5", "more than that is cut, back to a question"],
  ["s u a u", 1, 0, "u1 a2", "s0 [summary 1] u3", "the system message is set aside"],
  ["u s a s u", 1, 0, "u0 a2", "s1 [summary 1] u4", "other system messages are dropped"],
  ["s u s a", 2, 0, "nothing", "s0 u1 a3", "also when nothing is summarised"],
  ["s u a s", 2, 0, "nothing", "s0 u1 a2", "and they are not counted"],
  ["", 1, 0, "nothing", "", "an empty history stays empty"],
  [
    "u a u a a a",
    2,
    0,
    "u0 a1 u2 a3",
    "[summary 1] a4 a5",
    "no question within the threshold: targetCount stay",
  ],
  ["u a u a a a", 2, 1, "u0 a1 u2 a3", "[summary 1] a4 a5", "nor one message further"],
  ["u a u a a a", 2, 2, "u0 a1", "[summary 1] u2 a3 a4 a5", "but then"],
  ["u a a u a", 2, 1, "u0 a1 a2", "[summary 1] u3 a4", "a part that begins at a question does not grow"],
  ["u a c:x r:x a", 1, 0, "u0 a1", "[summary 1] c2 r3 a4", "it grows rather than cut behind tool content"],
  ["u a c:x r:x a", 2, 0, "u0 a1", "[summary 1] c2 r3 a4", "or inside it"],
  ["u c:x r:x a a", 1, 0, "u0 a3", "[summary 1] a4", "what tools said is left out"],
  ["u q:x y:x r:x a u", 1, 0, "u0 a4", "[summary 1] u5", "with approvals"],
  ["u c:x r:x", 1, 0, "u0", "[summary 1] c1 r2", "however far it grows"],
  ["c:x r:x c:y r:y", 1, 0, "nothing", "c0 r1 c2 r3", "all of it, if need be: a cut of 0"],
  ["c:x r:x a u", 1, 0, "a2", "[summary 1] u3", "the exchange is covered all the same"],
  [
    "c:x r:x u a u",
    3,
    0,
    "nothing",
    "c0 r1 u2 a3 u4",
    "tool content before the cut keeps it from being made",
  ],
  ["u a c:x r:x u a a", 1, 3, "u0 a1", "[summary 1] u4 a5 a6", "back to a question"],
  ["u a q:x Y:x r:x a a", 1, 4, "u0 a1 a5", "[summary 1] a6", "an approval is no question"],
  ["s m u a", 2, 0, "nothing", "s0 m1 u2 a3", "an earlier summary keeps its position"],
  ["s u a m u a", 2, 0, "nothing", "s0 m3 u4 a5", "and replaces the messages before it"],
  ["u m a m u a u", 1, 0, "m3 u4 a5", "[summary 1] u6", "the last one of several"],
])(
  "%s, targetCount %i, threshold %i: summarises %s into %s (%s)",
  async (letters, target, threshold, asked, reduced) => {
    expect(await summarized(letters, target, threshold)).toEqual({ asked, reduced });
    if (threshold === 0) expect(await summarized(letters, target)).toEqual({ asked, reduced });
  },
);

test("tool content before a cut is also covered: it does not reappear when the history grows", async () => {
  const { model, requests } = summarizer();
  const reducer = new SummarizingReducer({ model, targetCount: 1 });
  await reducer.reduce(history("u c:x r:x a u"));
  expect(idsOf(await reducer.reduce(history("u c:x r:x a u a")))).toBe("[summary 2] a5");
  expect(requests.map(({ messages }) => idsOf(messages))).toEqual(["u0 a3", "[summary 1] u4"]);
});

test("tool content without other messages to summarise is dropped without a model call", async () => {
  // The earlier summary ends directly before an exchange, like the summary of another reducer.
  const reduced = await summarized("m c:x r:x u a u", 1);
  expect(reduced).toEqual({ asked: "m0 u3 a4", reduced: "[summary 1] u5" });
  expect(await summarized("m c:x r:x u", 1)).toEqual({ asked: "nothing", reduced: "m0 c1 r2 u3" });
  expect(await summarized("m p:x u a a", 2, 1)).toEqual({ asked: "nothing", reduced: "m0 u2 a3 a4" });
});

describe("the request", () => {
  test("uses the given instructions instead", async () => {
    const { model, requests } = summarizer();
    const instructions = "Zwei Sätze.";
    await new SummarizingReducer({ model, targetCount: 1, instructions }).reduce(history("u a u"));
    expect(requests[0]?.instructions).toBe(instructions);
  });

  test("passes the original messages and the signal to a function", async () => {
    const messages = history("u a u");
    const { signal } = new AbortController();
    const calls: [SummaryRequest, { signal: AbortSignal | undefined }][] = [];
    const model = async (...call: (typeof calls)[number]) => {
      calls.push(call);
      return "summary";
    };
    await new SummarizingReducer({ model, targetCount: 1 }).reduce(messages, { signal });
    expect(calls[0]?.[0].messages[0]).toBe(messages[0]);
    expect(calls[0]?.[1].signal).toBe(signal);
  });

  test("is sent to a language model as a system message, the messages, and a final user message", async () => {
    const model = saying("they met");
    const reduced = await new SummarizingReducer({ model, targetCount: 1 }).reduce(history("m u a u"));
    expect(idsOf(reduced)).toBe("[they met] u3");
    expect(model.doGenerateCalls).toHaveLength(1);
    expect(linesOf(model.doGenerateCalls[0]?.prompt)).toEqual([
      `system: ${SUMMARY_INSTRUCTIONS}`,
      "assistant: m0",
      "user: u1",
      "assistant: a2",
      "user: Write the summary now.",
    ]);
  });

  test("sends only parts that the AI SDK accepts: text, files and images, no reasoning, no unknown parts", async () => {
    const model = saying("they met");
    const file = { type: "file", mediaType: "text/plain", data: "aGk=" } as const;
    const chart = { type: "chart", points: [1] };
    const image = { type: "image", image: new Uint8Array([137, 80, 78, 71]) } as const;
    const messages = [
      { role: "user", content: [{ type: "text", text: "look" }, file, image, chart] },
      {
        role: "assistant",
        content: [{ type: "reasoning", text: "hm" }, image, { type: "text", text: "ok" }],
      },
      { role: "assistant", content: [{ type: "reasoning", text: "hm" }] },
      { role: "user", content: "and?", providerOptions: { mock: { cached: true } } },
      { role: "user", content: "well?" },
    ] as ChatMessage[];
    await new SummarizingReducer({ model, targetCount: 1 }).reduce(messages);
    const prompt = model.doGenerateCalls[0]?.prompt ?? [];
    expect(linesOf(prompt).slice(1, -1)).toEqual(["user: look (file) (file)", "assistant: ok", "user: and?"]);
    expect(prompt[3]?.providerOptions).toEqual({ mock: { cached: true } });
  });
});

describe("the summary", () => {
  test("is an assistant's message, marked in its metadata", async () => {
    const reducer = new SummarizingReducer({ model: async () => "they met", targetCount: 1 });
    const [summary] = await reducer.reduce(history("u a u"));
    expect(summary).toEqual({
      role: "assistant",
      content: "they met",
      metadata: { type: "scrollback.summary" },
    });
  });

  test("is not confused with other messages with metadata", async () => {
    const { model, requests } = summarizer();
    const metadata = [null, "scrollback.summary", {}, { type: "summary" }, ["type"]];
    const messages: ChatMessage[] = metadata.map((one) => ({ ...assistant("a"), metadata: one }));
    messages.push({ ...user("u"), metadata: { type: "scrollback.summary" } }, user("u"));
    await new SummarizingReducer({ model, targetCount: 1 }).reduce(messages);
    expect(requests[0]?.messages).toEqual(messages.slice(0, -1));
  });
});
