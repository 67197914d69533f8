import { asSchema, isToolUIPart, readUIMessageStream, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import { expect, test } from "vitest";
import { serve, user } from "./serve.ts";
import { openTab } from "./ui-client.ts";

const call = { toolCallId: "k", toolName: "lookUp" };
const text = (id: string, delta: string): UIMessageChunk[] => [
  { type: "text-start", id },
  { type: "text-delta", id, delta },
  { type: "text-end", id },
];

/** For each type of chunk: a step that has it, as a provider or an application sends it. A new type of the SDK needs a step here. */
const steps: Record<string, UIMessageChunk[]> = {
  "text-start": text("t", "a"),
  "text-delta": text("t", "a"),
  "text-end": text("t", "a"),
  "reasoning-start": [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-end", id: "r" },
  ],
  "reasoning-delta": [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "a" },
    { type: "reasoning-end", id: "r" },
  ],
  "reasoning-end": [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-end", id: "r" },
  ],
  custom: [{ type: "custom", kind: "p.search" }],
  "tool-input-start": [
    { type: "tool-input-start", ...call },
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-output-available", toolCallId: "k", output: 1 },
  ],
  "tool-input-delta": [
    { type: "tool-input-start", ...call },
    { type: "tool-input-delta", toolCallId: "k", inputTextDelta: "{}" },
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-output-available", toolCallId: "k", output: 1 },
  ],
  "tool-input-available": [{ type: "tool-input-available", ...call, input: {} }],
  "tool-input-error": [{ type: "tool-input-error", ...call, input: "x", errorText: "no" }],
  "tool-approval-request": [
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-approval-request", toolCallId: "k", approvalId: "a" },
  ],
  "tool-approval-response": [
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-approval-request", toolCallId: "k", approvalId: "a" },
    { type: "tool-approval-response", approvalId: "a", approved: true },
    { type: "tool-output-available", toolCallId: "k", output: 1 },
  ],
  "tool-output-available": [
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-output-available", toolCallId: "k", output: 1 },
  ],
  "tool-output-error": [
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-output-error", toolCallId: "k", errorText: "no" },
  ],
  "tool-output-denied": [
    { type: "tool-input-available", ...call, input: {} },
    { type: "tool-approval-request", toolCallId: "k", approvalId: "a" },
    { type: "tool-output-denied", toolCallId: "k" },
  ],
  "source-url": [{ type: "source-url", sourceId: "s", url: "https://example.com" }],
  "source-document": [{ type: "source-document", sourceId: "s", mediaType: "text/plain", title: "d" }],
  file: [{ type: "file", url: "data:text/plain;base64,YQ==", mediaType: "text/plain" }],
  "reasoning-file": [{ type: "reasoning-file", url: "data:text/plain;base64,YQ==", mediaType: "text/plain" }],
  "steering-message": [{ type: "steering-message", id: "s", parts: [{ type: "text", text: "go" }] }],
  "data-": [{ type: "data-place", data: { at: 1 } }],
  "start-step": [{ type: "finish-step" }, { type: "start-step" }],
  "finish-step": [{ type: "finish-step" }, { type: "start-step" }],
  "reset-step": [
    { type: "text-start", id: "half" },
    { type: "text-delta", id: "half", delta: "Half" },
    { type: "reasoning-start", id: "thought" },
    { type: "tool-input-start", ...call },
    { type: "reset-step" },
  ],
  "message-metadata": [{ type: "message-metadata", messageMetadata: { seen: true } }],
  start: [],
  finish: [],
};
/** They end an answer, which is tested elsewhere. */
const endings = ["error", "abort"];

/** The types of chunks that the installed SDK reads, from its refusal of another one. */
async function knownTypes(): Promise<string[]> {
  const result = await asSchema(uiMessageChunkSchema).validate?.({ type: "?" });
  if (!result || result.success) throw new Error("the SDK accepts an unknown chunk");
  const [{ errors }] = JSON.parse(result.error.message) as [
    { errors: readonly (readonly { path: string[]; values?: string[] }[])[] },
  ];
  return errors.flatMap((issues) => {
    const { values = ["data-"] } = issues.find(({ path }) => path[0] === "type") ?? {};
    return values;
  });
}

test("each type of chunk of the installed SDK is in these tests", async () => {
  expect((await knownTypes()).toSorted()).toEqual([...Object.keys(steps), ...endings].toSorted());
});

test.each(Object.entries(steps))(
  "an answer with the chunk %s is stored as the SDK alone reads it",
  async (_, step) => {
    const chunks: UIMessageChunk[] = [
      { type: "start", messageId: "a" },
      ...[
        { type: "start-step" } as const,
        ...step,
        ...text("new", "Whole"),
        { type: "finish-step" } as const,
      ],
      ...[{ type: "start-step" } as const, ...text("z", "Second step"), { type: "finish-step" } as const],
      { type: "finish", finishReason: "stop" },
    ];
    let alone: unknown;
    for await (const message of readUIMessageStream({ stream: ReadableStream.from(structuredClone(chunks)) }))
      alone = JSON.parse(JSON.stringify(message.parts));
    await using server = await serve({ generate: () => ReadableStream.from(chunks) });
    const tab = openTab(server.url, "c");
    await tab.sendMessage(user("q"));
    expect(tab.error).toBeUndefined();
    const page = await server.mine.read("c");
    expect(page?.entries.at(-1)).toMatchObject({ status: "complete", message: { parts: alone } });
    expect(tab.plain.at(-1)?.parts).toEqual(alone);
    expect(server.errors).toEqual([]);
  },
);

test("a replay of a stored answer has each of its parts, also a call without an input", async () => {
  await using server = await serve();
  const kinds = Object.values(steps).flatMap((step) => step.filter(({ type }) => type.startsWith("tool-")));
  expect(kinds.length).toBeGreaterThan(0);
  const bare = { type: "tool-lookUp", toolCallId: "k", state: "output-available", output: 1 };
  const failed = {
    type: "tool-lookUp",
    toolCallId: "l",
    state: "output-error",
    rawInput: "x",
    errorText: "no",
  };
  const message = {
    id: "a",
    role: "assistant",
    parts: [{ type: "step-start" }, bare, failed, { type: "text", text: "end", state: "done" }],
  };
  await server.mine.create({ id: "c", messages: [user("q"), message as never] });
  const tab = openTab(server.url, "c", { messages: [user("q")] });
  await tab.resumeStream();
  expect(tab.error).toBeUndefined();
  expect(tab.lastText).toBe("end");
  expect(tab.lastMessage?.parts.filter(isToolUIPart)).toMatchObject([
    { state: "output-available" },
    { state: "output-error" },
  ]);
});
