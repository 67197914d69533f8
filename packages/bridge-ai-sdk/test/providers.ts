import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";

type Event = { readonly type: string } & Record<string, unknown>;
/** The events of a response. After `"hang"` it waits for an abort, after `"break"` the connection is lost. */
export type Script = readonly (Event | "hang" | "break")[];

/**
 * A model of `@ai-sdk/openai` (Responses API) or `@ai-sdk/anthropic` without a server, and the bodies that it sent. `hanging` resolves
 * when a script has reached its `"hang"`.
 */
export function scriptedProvider(name: "openai" | "anthropic", scripts: readonly Script[]) {
  const bodies: Record<string, unknown>[] = [];
  const { promise: hanging, resolve: hang } = Promise.withResolvers<void>();
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(JSON.parse(String(init?.body)));
    const script = scripts[bodies.length - 1] ?? (name === "openai" ? openaiText("ok") : anthropicText("ok"));
    return new Response(eventStream(script, hang, init?.signal ?? undefined), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  const options = { apiKey: "key", fetch };
  const model =
    name === "openai"
      ? createOpenAI(options).responses("gpt-5")
      : createAnthropic(options)("claude-sonnet-4-5");
  return { model, bodies, hanging };
}

function eventStream(
  script: Script,
  onHang: () => void,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return ReadableStream.from(
    (async function* () {
      for (const event of script) {
        if (event === "break") throw new TypeError("terminated");
        if (event === "hang") {
          onHang();
          await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
        } else yield encoder.encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
    })(),
  );
}

/** The items of a response of the Responses API. */
export const openaiItems = {
  begin: { type: "response.created", response: { id: "resp", created_at: 1, model: "gpt-5" } },
  end: { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } },
  /** A reasoning item; without `end` its beginning. */
  reasoning(id: string, index: number): [begin: Event[], end: Event] {
    const at = { item_id: id, output_index: index, summary_index: 0 };
    return [
      [
        { type: "response.output_item.added", output_index: index, item: { type: "reasoning", id } },
        { ...at, type: "response.reasoning_summary_part.added" },
        { ...at, type: "response.reasoning_summary_text.delta", delta: "thinking" },
      ],
      { type: "response.output_item.done", output_index: index, item: { type: "reasoning", id } },
    ];
  },
  text(id: string, index: number, text: string): [begin: Event[], end: Event] {
    const item = { type: "message", id };
    return [
      [
        { type: "response.output_item.added", output_index: index, item },
        { type: "response.output_text.delta", output_index: index, item_id: id, delta: text },
      ],
      { type: "response.output_item.done", output_index: index, item },
    ];
  },
  call(id: string, index: number, name: string, input: object): Event[] {
    const item = { type: "function_call", id, call_id: `call_${id}`, name, arguments: JSON.stringify(input) };
    return [
      { type: "response.output_item.added", output_index: index, item: { ...item, arguments: "" } },
      { type: "response.output_item.done", output_index: index, item: { ...item, status: "completed" } },
    ];
  },
  search(id: string, index: number): Event[] {
    const item = { type: "web_search_call", id, status: "completed", action: { type: "search", query: "x" } };
    return [
      { type: "response.output_item.added", output_index: index, item: { ...item, action: undefined } },
      { type: "response.output_item.done", output_index: index, item },
    ];
  },
};

function openaiText(text: string): Script {
  const [begin, end] = openaiItems.text(`msg_${text}`, 0, text);
  return [openaiItems.begin, ...begin, end, openaiItems.end];
}

/** The blocks of a response of the Messages API. */
export const anthropicBlocks = {
  begin: {
    type: "message_start",
    message: {
      id: "msg",
      model: "m",
      role: "assistant",
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  end: [
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ] as Event[],
  thinking(index: number): [begin: Event[], end: Event[]] {
    const delta = { type: "content_block_delta", index };
    return [
      [
        { type: "content_block_start", index, content_block: { type: "thinking", thinking: "" } },
        { ...delta, delta: { type: "thinking_delta", thinking: "thinking" } },
      ],
      [
        { ...delta, delta: { type: "signature_delta", signature: "signed" } },
        { type: "content_block_stop", index },
      ],
    ];
  },
  text(index: number, text: string): [begin: Event[], end: Event[]] {
    return [
      [
        { type: "content_block_start", index, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index, delta: { type: "text_delta", text } },
      ],
      [{ type: "content_block_stop", index }],
    ];
  },
  call(id: string, index: number, name: string, input: object): Event[] {
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return [
      { type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  },
};

function anthropicText(text: string): Script {
  const [begin, end] = anthropicBlocks.text(0, text);
  return [anthropicBlocks.begin, ...begin, ...end, ...anthropicBlocks.end];
}
