import { strictEqual } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import { convertToModelMessages, simulateReadableStream, streamText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { type DeltaFigures, rounded } from "../figures.ts";
import type { LoadEffort } from "../load.ts";
import { measureInTurn } from "./windows.ts";

/** The lengths of the answers: their difference shows the cost of deltas without the fixed cost of a turn. */
const SHORT = 10;
const LONG = 510;
const WORD = "harbour ";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type ModelPart = Streamed extends ReadableStream<infer Part> ? Part : never;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Answers at once with the number of deltas that the question requests. */
const model = new MockLanguageModelV4({
  async doStream({ prompt }) {
    const question = prompt.at(-1);
    const part = question?.role === "user" ? question.content[0] : undefined;
    const count = part?.type === "text" ? Number(part.text) : Number.NaN;
    const deltas = Array.from(
      { length: count },
      (): ModelPart => ({ type: "text-delta", id: "t", delta: WORD }),
    );
    const chunks: ModelPart[] = [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "t" },
      ...deltas,
      { type: "text-end", id: "t" },
      { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
    ];
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
  },
});

/** A route that stores nothing. */
async function plainRoute(request: Request): Promise<Response> {
  const { message } = (await request.json()) as { message: UIMessage };
  const messages = await convertToModelMessages([message]);
  return streamText({ model, messages }).toUIMessageStreamResponse();
}

/**
 * The server's processor time for a streamed answer with `createChatHandler`, and with `streamText` alone. Both are read to the
 * end.
 */
export async function measureDeltas(
  stores: StoreFactory,
  effort: LoadEffort,
  signal: AbortSignal,
): Promise<DeltaFigures> {
  const chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
  const handler = createChatHandler<UIMessage>({ chats, model });
  const handlerRoute = (request: Request) => handler.handle(request, { owner: "deltas" });
  const routes = [
    { name: "plain", route: plainRoute },
    { name: "handler", route: handlerRoute },
  ] as const;
  try {
    for (const { route } of routes) strictEqual(await wordsOf(await route(requestOf(LONG))), LONG);
    const results = await measureInTurn(
      routes.flatMap(({ name, route }) =>
        [SHORT, LONG].map((length) => ({
          name: `${name} ${length}` as const,
          prepare() {
            const request = requestOf(length);
            return async () => {
              const { body } = await route(request);
              if (body) for await (const _ of body);
            };
          },
          // The handler finishes storing after its response.
          ...(name === "handler" && { flush: () => chats.flush() }),
        })),
      ),
      effort,
      signal,
    );
    const costOf = (name: "plain" | "handler") => {
      const [short, long] = [SHORT, LONG].map((length) => results[`${name} ${length}`]);
      if (!short || !long) throw new Error("an answer was not measured");
      return {
        answers: long.calls,
        shortCpuMicros: short.cpuMicros,
        longCpuMicros: long.cpuMicros,
        deltaCpuMicros: rounded((long.cpuMicros - short.cpuMicros) / (LONG - SHORT)),
      };
    };
    return { short: SHORT, long: LONG, plain: costOf("plain"), handler: costOf("handler") };
  } finally {
    await handler.close({ wait: true });
    await chats.flush();
  }
}

function requestOf(length: number): Request {
  const message = { id: randomUUID(), role: "user", parts: [{ type: "text", text: String(length) }] };
  return new Request("http://localhost/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: randomUUID(), message, trigger: "submit-message" }),
  });
}

/** The number of deltas in a response. */
async function wordsOf(response: Response): Promise<number> {
  const text = await response.text();
  return text.split('"type":"text-delta"').length - 1;
}
