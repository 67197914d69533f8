import type { ReadableStreamDefaultReader } from "node:stream/web";
import { STREAM_PREFIX } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import { MockLanguageModelV4 } from "ai/test";
import type { ModelPart } from "./scripted-model.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model whose words are the times at which it says them: one each `everyMs`, until `end` or its abort. */
export function clockModel(everyMs: number) {
  let isEnded = false;
  async function* parts(signal: AbortSignal | undefined): AsyncGenerator<ModelPart> {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "t" };
    while (!isEnded) {
      signal?.throwIfAborted();
      yield { type: "text-delta", id: "t", delta: `${Date.now()} ` };
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    yield { type: "text-end", id: "t" };
    yield { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage };
  }
  return {
    model: new MockLanguageModelV4({
      doStream: async ({ abortSignal }) => ({ stream: ReadableStream.from(parts(abortSignal)) }),
    }),
    end() {
      isEnded = true;
    },
  };
}

/** Reads an answer of {@link clockModel}: its words, and how long after each it arrived. */
export async function* timedWords(response: Response): AsyncGenerator<{ word: string; delay: number }> {
  const reader = response.body
    ?.pipeThrough(new TextDecoderStream())
    .getReader() as ReadableStreamDefaultReader<string>;
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const { type, delta } = JSON.parse(line.slice(6));
      if (type === "text-delta") yield { word: delta.trim(), delay: Date.now() - Number(delta) };
      if (type === "error") throw new Error("the answer ended with an error");
    }
  }
}

/** The text of running answers that the stores have. */
export async function storedStreams(stores: StoreFactory): Promise<string> {
  let text = "";
  for await (const { threadId } of stores.iterateThreads({ prefix: STREAM_PREFIX }))
    for (const { content } of await stores.open(threadId).listMessages()) text += content as string;
  return text;
}
