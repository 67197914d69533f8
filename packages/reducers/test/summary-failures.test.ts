import { setTimeout as sleep } from "node:timers/promises";
import { APICallError } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, test } from "vitest";
import { SummarizingReducer } from "../src/index.ts";
import type { SummaryRequest } from "../src/summary-model.ts";
import { history, idsOf } from "./messages.ts";
import { saying } from "./models.ts";
import { refusal, rejection } from "./rejection.ts";

describe("failure", () => {
  const failure = new Error("out of tokens");
  const failing = () => Promise.reject(failure);
  const messages = history("s u a s u");

  test("of the model rejects the reduction with the same error", async () => {
    const reducer = new SummarizingReducer({ model: failing, targetCount: 1 });
    expect(await rejection(reducer.reduce(messages))).toBe(failure);
    const throwing = new SummarizingReducer({ model: failing, targetCount: 1, onFailure: "throw" });
    expect(await rejection(throwing.reduce(messages))).toBe(failure);
    const model = new MockLanguageModelV4({ doGenerate: failing });
    expect(await rejection(new SummarizingReducer({ model, targetCount: 1 }).reduce(messages))).toBe(failure);
  });

  test("of a retried language model is its last error", async () => {
    let calls = 0;
    const overloaded = () =>
      new APICallError({
        message: `overloaded ${++calls}`,
        url: "https://model.invalid",
        requestBodyValues: {},
        isRetryable: true,
        responseHeaders: { "retry-after-ms": "1" },
      });
    const model = new MockLanguageModelV4({ doGenerate: () => Promise.reject(overloaded()) });
    const error = await rejection(new SummarizingReducer({ model, targetCount: 1 }).reduce(messages));
    expect(APICallError.isInstance(error) && error.message).toBe("overloaded 3");
  });

  test('with "keep" returns the input unreduced', async () => {
    const reducer = new SummarizingReducer({ model: failing, targetCount: 1, onFailure: "keep" });
    const reduced = await reducer.reduce(messages);
    expect(reduced).toEqual(messages);
    expect(reduced).not.toBe(messages);
  });

  test.each(["", "  \n\t "])("includes an empty summary: %j", async (empty) => {
    for (const model of [async () => empty, saying(empty)]) {
      const reducer = new SummarizingReducer({ model, targetCount: 1 });
      const error = await refusal(() => reducer.reduce(messages), "UNAVAILABLE");
      expect(error.message).toContain("model returned an empty summary");
      expect(error.retryable).toBe(true);
      const keeping = new SummarizingReducer({ model, targetCount: 1, onFailure: "keep" });
      expect(await keeping.reduce(messages)).toEqual(messages);
    }
  });

  test("includes an answer that is not text", async () => {
    const model = async () => ({ text: "they met" }) as unknown as string;
    const error = await refusal(() => new SummarizingReducer({ model, targetCount: 1 }).reduce(messages));
    expect(error.message).toContain("result of model must be a string");
    const keeping = new SummarizingReducer({ model, targetCount: 1, onFailure: "keep" });
    expect(await keeping.reduce(messages)).toEqual(messages);
  });

  test("is not remembered: the next reduction calls the model again", async () => {
    let calls = 0;
    const model = async () => (++calls === 1 ? "" : "they met");
    const reducer = new SummarizingReducer({ model, targetCount: 1, onFailure: "keep" });
    expect(await reducer.reduce(messages)).toEqual(messages);
    expect(idsOf(await reducer.reduce(messages))).toBe("s0 [they met] u4");
  });
});

describe("cancellation", () => {
  const messages = history("u a u");

  test.each(["throw", "keep"] as const)(
    "reaches the model and rejects, with onFailure %j",
    async (onFailure) => {
      let reached: unknown;
      const reach = async (signal: AbortSignal | undefined) => {
        await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
        reached = signal?.reason;
        throw new Error("stopped");
      };
      const models = [
        (_: SummaryRequest, { signal }: { signal: AbortSignal | undefined }) => reach(signal),
        new MockLanguageModelV4({ doGenerate: ({ abortSignal }) => reach(abortSignal) }),
      ];
      for (const model of models) {
        const controller = new AbortController();
        const reducer = new SummarizingReducer({ model, targetCount: 1, onFailure });
        const call = refusal(() => reducer.reduce(messages, { signal: controller.signal }), "ABORTED");
        await sleep(5);
        const reason = new Error("enough");
        controller.abort(reason);
        expect((await call).cause).toBe(reason);
        await sleep(5);
        expect(reached).toBe(reason);
      }
    },
  );

  test("rejects promptly, also if the model ignores it", async () => {
    const model = () => new Promise<string>(() => undefined);
    const reducer = new SummarizingReducer({ model, targetCount: 1, onFailure: "keep" });
    const controller = new AbortController();
    const call = refusal(() => reducer.reduce(messages, { signal: controller.signal }), "ABORTED");
    controller.abort();
    expect((await call).code).toBe("ABORTED");
  });

  test("rejects also if there is nothing to summarise", async () => {
    const reducer = new SummarizingReducer({ model: async () => "", targetCount: 9 });
    await refusal(() => reducer.reduce(messages, { signal: AbortSignal.abort() }), "ABORTED");
  });
});
