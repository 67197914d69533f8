import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import type { AssistantContent, ModelMessage } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toModelMessages, withoutUndefined } from "../src/agent/model-messages.ts";

const id = fc.string({ minLength: 1, maxLength: 8 });
const text = fc.string({ maxLength: 20 });
const json = fc.jsonValue({ maxDepth: 2 });
const providerOptions = fc.option(fc.record({ openai: fc.record({ cache: text }) }), { nil: undefined });
const optional = <T extends object>(part: fc.Arbitrary<T>) =>
  fc
    .tuple(part, providerOptions)
    .map(([one, options]) => (options ? { ...one, providerOptions: options } : one));
const part = <const Type extends string, T>(type: Type, fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  optional(fc.record({ type: fc.constant(type), ...fields } as { type: fc.Arbitrary<Type> }));

const output = fc.oneof(
  part("text", { value: text }),
  part("json", { value: json }),
  part("error-text", { value: text }),
  part("error-json", { value: json }),
  part("execution-denied", { reason: text }),
  part("content", { value: fc.array(fc.record({ type: fc.constant("text"), text })) }),
);
const result = part("tool-result", { toolCallId: id, toolName: id, output });
const file = part("file", { data: fc.oneof(text, fc.uint8Array({ maxLength: 9 })), mediaType: text });
const modelMessage = fc
  .oneof(
    optional(fc.record({ role: fc.constant("system"), content: text })),
    optional(
      fc.record({
        role: fc.constant("user"),
        content: fc.oneof(text, fc.array(fc.oneof(part("text", { text }), file), { minLength: 1 })),
      }),
    ),
    optional(
      fc.record({
        role: fc.constant("assistant"),
        content: fc.oneof(
          text,
          fc.array(
            fc.oneof(
              part("text", { text }),
              part("reasoning", { text }),
              part("tool-call", { toolCallId: id, toolName: id, input: json }),
              part("tool-approval-request", { approvalId: id, toolCallId: id }),
              file,
              result,
            ),
            { minLength: 1 },
          ),
        ),
      }),
    ),
    optional(
      fc.record({
        role: fc.constant("tool"),
        content: fc.array(
          fc.oneof(
            result,
            part("tool-approval-response", { approvalId: id, approved: fc.boolean(), reason: text }),
          ),
          { minLength: 1 },
        ),
      }),
    ),
  )
  .map((message) => structuredClone(message) as ModelMessage);

describe("ModelMessage and ChatMessage", () => {
  test("any message of the AI SDK is read from a store exactly as it was written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(modelMessage, { minLength: 1, maxLength: 5 }), async (messages) => {
        const store = createMemoryStores().open();
        await store.addMessages(messages);
        expect(toModelMessages(await store.listMessages())).toStrictEqual(messages);
      }),
      { numRuns: 200 },
    );
  });

  test("fields that only a ChatMessage has are not sent to the model", () => {
    const message: ChatMessage = {
      id: "1",
      role: "user",
      content: "Hi",
      authorName: "Alice",
      createdAt: new Date(),
      metadata: { a: 1 },
      providerOptions: { openai: { a: 1 } },
    };
    expect(toModelMessages([message])).toStrictEqual([
      { role: "user", content: "Hi", providerOptions: { openai: { a: 1 } } },
    ]);
  });

  test("null in an optional field of a part counts as absent, because the AI SDK refuses it", () => {
    const nulls = { providerOptions: null, providerExecuted: null } as object;
    const call = { type: "tool-call" as const, toolCallId: "1", toolName: "t", input: null };
    expect(
      toModelMessages([
        {
          role: "assistant",
          content: [
            { type: "text", text: "x", ...nulls },
            { ...call, ...nulls },
          ],
        },
      ]),
    ).toStrictEqual([{ role: "assistant", content: [{ type: "text", text: "x" }, call] }]);
  });

  test("parts that models do not accept are omitted, and messages with only such parts", () => {
    const chart = { type: "chart", points: [1] } as never;
    expect(
      toModelMessages([
        { role: "user", content: [chart, { type: "text", text: "See the chart" }] },
        { role: "assistant", content: [chart] },
        { role: "tool", content: "no call is named" },
        {
          role: "system",
          content: [
            { type: "text", text: "Be" },
            { type: "text", text: "kind" },
          ],
        },
        { role: "assistant", content: [] },
      ]),
    ).toStrictEqual([
      { role: "user", content: [{ type: "text", text: "See the chart" }] },
      { role: "system", content: "Be\nkind" },
      { role: "assistant", content: [] },
    ]);
  });

  test.each([
    ["sunny", undefined, { type: "text", value: "sunny" }],
    ["no such city", true, { type: "error-text", value: "no such city" }],
    [{ degrees: 21 }, undefined, { type: "json", value: { degrees: 21 } }],
    [{ type: "rain" }, false, { type: "json", value: { type: "rain" } }],
    [{ code: 404 }, true, { type: "error-json", value: { code: 404 } }],
    [undefined, undefined, { type: "json", value: null }],
    [{ type: "json", value: 1 }, undefined, { type: "json", value: 1 }],
  ])("a tool's result %o (error: %o) is converted to the AI SDK's form", (value, isError, expected) => {
    const ids = { type: "tool-result" as const, toolCallId: "1", toolName: "t" };
    const result = { ...ids, output: value, ...(isError !== undefined && { isError }) };
    expect(toModelMessages([{ role: "tool", content: [result] }])).toStrictEqual([
      { role: "tool", content: [{ ...ids, output: expected }] },
    ]);
  });

  test("a response is stored without the fields that the AI SDK sets to undefined, and with all others", () => {
    const content: AssistantContent = [
      { type: "text", text: "x" },
      { type: "tool-call", toolCallId: "1", toolName: "t", input: { kept: undefined, n: null } },
    ];
    Object.assign(content[0] ?? {}, { providerOptions: undefined });
    expect(withoutUndefined([{ role: "assistant", content }])).toStrictEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "x" },
          { type: "tool-call", toolCallId: "1", toolName: "t", input: { kept: undefined, n: null } },
        ],
      },
    ]);
  });
});
