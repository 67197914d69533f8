// Type-checked and run beside `ai` 6 by ai-6.deep.test.ts, like a user's program. Prints the model's prompts and the summary's.
import { reducingMiddleware, SummarizingReducer, TruncatingReducer } from "@scrollback/reducers";
import { createMemoryStores } from "@scrollback/store-core";
import { generateText, type ModelMessage, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

type Result = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;
const outcome: Pick<Result, "finishReason" | "usage"> = {
  finishReason: { unified: "stop", raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};
const saying = (text: string) =>
  new MockLanguageModelV3({
    doGenerate: async () => ({ ...outcome, content: [{ type: "text", text }], warnings: [] }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: text },
          { type: "text-end", id: "1" },
          { type: "finish", ...outcome },
        ],
      }),
    }),
  });
const textsOf = (prompt: readonly { role: string; content: unknown }[] | undefined) =>
  prompt?.map(({ role, content }) => {
    const parts = typeof content === "string" ? [{ text: content }] : (content as { text?: string }[]);
    return `${role}: ${parts.map(({ text }) => text).join("")}`;
  });

await using stores = createMemoryStores<ModelMessage>();
const store = stores.open();
await store.addMessages([
  { role: "user", content: "one" },
  { role: "assistant", content: "two" },
  { role: "user", content: "three" },
]);

const answering = saying("four");
const truncated = wrapLanguageModel({
  model: answering,
  middleware: reducingMiddleware(new TruncatingReducer({ targetCount: 1 })),
});
const { text, response } = await generateText({ model: truncated, messages: await store.listMessages() });
await store.addMessages(response.messages);

const summarizing = saying("they count");
const reducer = new SummarizingReducer({ model: summarizing, targetCount: 1, instructions: "Sum up." });
const streaming = saying("six");
const summarized = wrapLanguageModel({ model: streaming, middleware: reducingMiddleware(reducer) });
const messages = [...(await store.listMessages()), { role: "user", content: "five" } as const];
const streamed = await streamText({ model: summarized, messages }).text;

console.log(
  JSON.stringify({
    answers: [text, streamed],
    truncated: textsOf(answering.doGenerateCalls[0]?.prompt),
    summary: textsOf(summarizing.doGenerateCalls[0]?.prompt)?.[0],
    summarized: textsOf(streaming.doStreamCalls[0]?.prompt),
  }),
);
