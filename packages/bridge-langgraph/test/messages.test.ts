import {
  AIMessage,
  BaseMessage,
  FunctionMessage,
  ChatMessage as GenericMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chats, everyday } from "../../../conformance-tests/test/fixtures/chat-messages.ts";
import {
  expectChecked,
  expectKept,
  expectTyped,
  linesOf,
} from "../../../conformance-tests/test/fixtures/conversions.ts";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { fromLangChainMessages, toLangChainMessages } from "../src/messages/index.ts";

test("converting to LangChain messages and back preserves messages, except the reported losses", () => {
  fc.assert(
    fc.property(chats, (given) => {
      const { messages, lost } = toLangChainMessages(given);
      for (const message of messages) expect(BaseMessage.isInstance(message)).toBe(true);
      const back = fromLangChainMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages);
    }),
    { numRuns: rounds(250, 1_000) },
  );
});

const text = fc.string({ unit: "binary", maxLength: 6 });
const id = fc.stringMatching(/^[a-z]{1,6}$/);
const json = fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)));
const block = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      { type: fc.constant("text"), text, annotations: fc.constant([]) },
      { requiredKeys: ["type", "text"] },
    ),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom<object>(
      { type: "image", mimeType: "image/png", data: "AAAA", metadata: { filename: "a.png", width: 4 } },
      { type: "image", url: "https://a.test/b.png" },
      { type: "audio", mimeType: "audio/wav", data: "AAAA" },
      { type: "video", fileId: "f1" },
      { type: "file", mimeType: "application/pdf", url: "https://a.test/b.pdf", id: "block" },
      { type: "file", data: "AAAA" },
      { type: "image_url", image_url: { url: "https://a.test/c.png", detail: "low" } },
      { type: "image_url", image_url: "data:image/png;base64,AAAA" },
      { type: "image", source_type: "base64", mime_type: "image/png", data: "AAAA" },
      { type: "image_url", image_url: 5 },
      { type: "input_audio", input_audio: {} },
      { type: "non_standard", value: {} },
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "reasoning", reasoning: "hm" },
    ),
  },
);
const content = fc.oneof(text, fc.array(block, { minLength: 1, maxLength: 3 })) as fc.Arbitrary<never>;
const fields = fc.record(
  { id, name: id, additional_kwargs: fc.constantFrom({}, { k: 1 }) },
  { requiredKeys: [] },
);
const calls = fc.array(
  fc.record(
    { id: fc.uuid(), name: id, args: json, type: fc.constant("tool_call" as const) },
    { requiredKeys: ["id", "name", "args"] },
  ),
  { maxLength: 2 },
);
const langChainMessages = fc.array(
  fc.oneof(
    fc.tuple(fields, content).map(([own, said]) => new HumanMessage({ ...own, content: said })),
    fc.tuple(fields, content).map(([own, said]) => new SystemMessage({ ...own, content: said })),
    fc
      .tuple(fields, content, calls)
      .map(
        ([own, said, tool_calls]) =>
          new AIMessage({ ...own, content: said, tool_calls, response_metadata: { model: "m" } } as never),
      ),
    fc
      .tuple(content, id, id, fc.constantFrom("success" as const, "error" as const))
      .map(
        ([said, name, tool_call_id, status]) =>
          new ToolMessage({ content: said, name, tool_call_id, status, artifact: [] }),
      ),
    text.map((said) => new GenericMessage({ content: said, role: "critic" })),
    text.map((said) => new GenericMessage({ content: said, role: "user" })),
    text.map((said) => new FunctionMessage({ content: said, name: "f" })),
    id.map((gone) => new RemoveMessage({ id: gone })),
  ),
  { maxLength: 4 },
);

test("converting from LangChain messages and back preserves them, except the reported losses", () => {
  fc.assert(
    fc.property(langChainMessages, (given) => {
      const { messages, lost } = fromLangChainMessages(given as BaseMessage[]);
      const back = toLangChainMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given.map(fieldsOf), lost, back.messages.map(fieldsOf), canonicalLangChain);
    }),
    { numRuns: rounds(250, 1_000) },
  );
});

/** The content of a LangChain message as plain fields. */
function fieldsOf(message: BaseMessage): Record<string, unknown> {
  const { id, name, type, content: said, additional_kwargs, response_metadata } = message;
  const { output_version: _, ...metadata } = response_metadata as Record<string, unknown>;
  const more = message as unknown as Record<string, unknown>;
  const { tool_calls, tool_call_id, status, artifact } = more;
  return {
    ...{ type, id, name, content: said, tool_call_id, status, artifact },
    ...{ additional_kwargs: { ...additional_kwargs }, response_metadata: metadata },
    tool_calls: tool_calls ?? [],
  };
}

/** Makes equal: a text and one text block; a call inside and outside of the content; older blocks and standard blocks. */
function canonicalLangChain(messages: readonly Record<string, unknown>[]): unknown {
  return messages.map(({ content: said, tool_calls, ...message }) => {
    const blocks =
      typeof said === "string" ? [{ type: "text", text: said }] : (said as Record<string, unknown>[]);
    const calls = (tool_calls as Record<string, unknown>[]).map(({ id, name, args }) => ({
      type: "tool_call",
      id,
      name,
      args,
    }));
    const own = blocks.filter(({ type, text }) => type !== "tool_call" && !(calls.length > 0 && text === ""));
    return { ...message, content: [...own.map(canonicalBlock), ...calls] };
  });
}

function canonicalBlock(block: Record<string, unknown>): unknown {
  if (typeof block !== "object") return block;
  const { type, mime_type, source_type: _, image_url, ...rest } = block;
  if (type === "image_url") {
    const { url, ...more } = (typeof image_url === "string" ? { url: image_url } : image_url) as Record<
      string,
      unknown
    >;
    const inline = /^data:(.*);base64,(.*)$/.exec(String(url));
    const found = inline ? { mimeType: inline[1], data: inline[2] } : { mimeType: "image", url };
    return { type: "image", ...found, ...more };
  }
  if (!["image", "audio", "video", "file"].includes(String(type))) return block;
  const {
    mimeType = mime_type ?? (type === "file" ? "application/octet-stream" : type),
    metadata,
    ...more
  } = rest;
  const hasMetadata = Object.keys(Object(metadata)).length > 0;
  return { type, mimeType, ...more, ...(hasMetadata && { metadata }) };
}

test("a typical conversation loses only what is documented", () => {
  expect(linesOf(toLangChainMessages(everyday).lost)).toEqual([
    ...["1 createdAt dropped", "1 metadata dropped", "1 content[0].providerOptions dropped"],
    "3 content[0].output changed",
  ]);
});

test("values that are not messages fail with INVALID_ARGUMENT, and unknown blocks are reported", () => {
  const blocks = fc
    .array(
      fc.oneof(
        fc.anything(),
        fc.record({ type: fc.constantFrom("text", "image", "tool_call"), text: fc.anything() }),
      ),
    )
    .map((content) => [new AIMessage({ content: content as never })]);
  for (const convert of [toLangChainMessages, fromLangChainMessages]) expectChecked(convert);
  fc.assert(
    fc.property(blocks, (given) => expectTyped(fromLangChainMessages, given)),
    { numRuns: 500 },
  );
});
