import type { ChatMessage } from "@scrollback/store-core";
import { modelMessageSchema, safeValidateUIMessages, type UIMessage } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chats, everyday, optional } from "../../../conformance-tests/test/fixtures/chat-messages.ts";
import { expectChecked, expectKept, linesOf } from "../../../conformance-tests/test/fixtures/conversions.ts";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { fromModelMessages, fromUIMessages, toModelMessages, toUIMessages } from "../src/index.ts";

test("converting to model messages and back preserves messages, except the reported losses", () => {
  fc.assert(
    fc.property(chats, (given) => {
      const { messages, lost } = toModelMessages(given);
      for (const message of messages) expect(modelMessageSchema.safeParse(message).error).toBe(undefined);
      const back = fromModelMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages);
    }),
    { numRuns: rounds(200, 1_000) },
  );
});

test("converting to UI messages and back preserves messages, except the reported losses", async () => {
  await fc.assert(
    fc.asyncProperty(chats, async (given) => {
      const { messages, lost } = toUIMessages(given, { idOf: () => "made" });
      if (messages.length > 0)
        expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
      const back = fromUIMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages.map(withoutMadeId));
    }),
    { numRuns: rounds(200, 1_000) },
  );
});

function withoutMadeId({ id, ...message }: ChatMessage): ChatMessage {
  return id === "made" ? message : { id, ...message };
}

const text = fc.string({ unit: "binary", maxLength: 6 });
const id = fc.stringMatching(/^[a-z]{1,6}$/);
const json = fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)));
const metadata = fc.constantFrom({ p: { k: 1 } }, { q: { s: ["x"] } });
const file = optional(
  {
    ...{ type: fc.constant("file"), mediaType: fc.constantFrom("image/png", "text/plain"), filename: id },
    url: fc.constantFrom(
      "https://a.test/b.png",
      "data:image/png;base64,AAAA",
      "data:text/plain,hi",
      "not a url",
    ),
    providerMetadata: metadata,
  },
  "type",
  "mediaType",
  "url",
);
const reference = fc.constant({
  type: "file",
  mediaType: "a/b",
  url: "",
  providerReference: { openai: "f" },
});
const textPart = optional(
  {
    type: fc.constant("text"),
    text,
    state: fc.constantFrom("streaming", "done"),
    providerMetadata: metadata,
  },
  "type",
  "text",
);
const approval = { id, descriptor: json, requestReason: text, isAutomatic: fc.boolean(), signature: text };
const request = optional({ ...approval, inputSchemaInput: json }, "id");
const response = (approved: boolean) =>
  optional({ ...approval, approved: fc.constant(approved), reason: text }, "id", "approved");
const toolPart = fc
  .tuple(
    fc.uuid(),
    fc.constantFrom({ type: "tool-find" }, { type: "dynamic-tool", toolName: "find" }),
    optional({ title: text, callProviderMetadata: metadata, providerExecuted: fc.constant(true) }),
    fc.oneof(
      optional({ state: fc.constant("input-available"), input: json }, "state", "input"),
      optional({ state: fc.constant("input-streaming"), input: json }, "state"),
      optional(
        { state: fc.constant("approval-requested"), input: json, approval: request },
        "state",
        "input",
        "approval",
      ),
      fc
        .boolean()
        .chain((approved) =>
          fc.record({ state: fc.constant("approval-responded"), input: json, approval: response(approved) }),
        ),
      optional(
        {
          ...{ state: fc.constant("output-available"), input: json, output: json, approval: response(true) },
          ...{ preliminary: fc.boolean(), resultProviderMetadata: metadata },
        },
        "state",
        "input",
        "output",
      ),
      optional(
        {
          ...{ state: fc.constant("output-error"), input: json, rawInput: json, errorText: text },
          ...{ approval: response(true), resultProviderMetadata: metadata },
        },
        "state",
        "errorText",
        "input",
      ),
      fc.record({ state: fc.constant("output-denied"), input: json, approval: response(false) }),
    ),
  )
  .map(([toolCallId, type, more, state]) => ({ toolCallId, ...type, ...more, ...state }));
const answerPart = fc.oneof(
  ...[textPart, file, reference, toolPart, toolPart],
  optional({ type: fc.constant("reasoning"), text, id, providerMetadata: metadata }, "type", "text"),
  fc.constantFrom(
    { type: "step-start" },
    { type: "custom", kind: "acme.note" },
    { type: "reasoning-file", mediaType: "image/png", url: "https://a.test/r.png" },
    { type: "source-url", sourceId: "s", url: "https://a.test" },
    { type: "data-weather", data: { degrees: 3 } },
    { type: "steering-message", id: "x", parts: [] },
  ),
);
/** Two calls never have one id, and two approvals neither, as two arbitrary ones sometimes have. */
function withOwnIds(messages: Record<string, unknown>[]): Record<string, unknown>[] {
  let calls = 0;
  const own = (part: { toolCallId: string; approval?: { id: string } }) => {
    const call = calls++;
    const { toolCallId, approval } = part;
    return {
      ...part,
      toolCallId: `${toolCallId} ${call}`,
      ...(approval && { approval: { ...approval, id: `${approval.id} ${call}` } }),
    };
  };
  return messages.map((message) => ({
    ...message,
    parts: (message.parts as object[]).map((part) =>
      "toolCallId" in part ? own(part as Parameters<typeof own>[0]) : part,
    ),
  }));
}
const uiMessageLists = fc.array(
  fc.oneof(
    optional(
      {
        id: fc.uuid(),
        role: fc.constant("assistant"),
        metadata: json,
        parts: fc.array(answerPart, { minLength: 1, maxLength: 5 }),
      },
      "id",
      "role",
      "parts",
    ),
    optional(
      {
        ...{ id: fc.uuid(), role: fc.constantFrom("user", "system"), metadata: json },
        parts: fc.array(fc.oneof(textPart, file, reference), { minLength: 1, maxLength: 3 }),
      },
      "id",
      "role",
      "parts",
    ),
  ),
  { maxLength: 4 },
);
const uiMessages = uiMessageLists.map(withOwnIds) as fc.Arbitrary<unknown> as fc.Arbitrary<UIMessage[]>;

test("converting from UI messages and back preserves them, except the reported losses", () => {
  fc.assert(
    fc.property(uiMessages, (given) => {
      const { messages, lost } = fromUIMessages(given);
      const back = toUIMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages, canonicalUI);
    }),
    { numRuns: rounds(200, 1_000) },
  );
});

/** Removes what carries no information: steps without parts, the start of the first step, and the state of finished parts. */
function canonicalUI(messages: readonly Record<string, unknown>[]): unknown {
  return messages.map(({ parts, ...message }) => ({
    ...message,
    parts: (parts as Record<string, unknown>[])
      .filter(
        ({ type }, index, all) =>
          type !== "step-start" || (hasPart(all.slice(0, index)) && nextIsPart(all.slice(index))),
      )
      // A dynamic tool is read back with the tool's own type.
      .map(({ toolName: _, ...part }) => part)
      .map(({ state, ...part }) => (state === "done" ? part : { ...part, state })),
  }));
}

const hasPart = (parts: Record<string, unknown>[]) => parts.some(({ type }) => type !== "step-start");
const nextIsPart = ([, next]: Record<string, unknown>[]) => next !== undefined && next.type !== "step-start";

test("a typical conversation loses only what is documented", () => {
  expect(linesOf(toModelMessages(everyday).lost)).toEqual([
    ...["1 id dropped", "1 authorName dropped", "1 createdAt dropped", "1 metadata dropped"],
    ...["3 id dropped", "4 id dropped"],
  ]);
  expect(linesOf(toUIMessages(everyday).lost)).toEqual([
    "1 authorName dropped",
    "1 createdAt dropped",
    "3 id dropped",
  ]);
});

test("values that are not messages fail with INVALID_ARGUMENT, and unknown parts are reported", () => {
  for (const convert of [toModelMessages, fromModelMessages, toUIMessages, fromUIMessages])
    expectChecked(convert);
});
