import type { ChatMessage } from "@scrollback/store-core";
import { modelMessageSchema, safeValidateUIMessages, type UIMessage } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anything, chats, expectKept, expectTyped } from "../../../conformance-tests/test/fixtures/conversions.ts";
import { fromModelMessages, fromUIMessages, toModelMessages, toUIMessages } from "../src/index.ts";

test("messages come back from model messages as they were, but for what is named", () => {
  fc.assert(
    fc.property(chats, (given) => {
      const { messages, lost } = toModelMessages(given);
      for (const message of messages) expect(modelMessageSchema.safeParse(message).error).toBe(undefined);
      const back = fromModelMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages);
    }),
    { numRuns: 1_000 },
  );
});

test("messages come back from UI messages as they were, but for what is named", async () => {
  await fc.assert(
    fc.asyncProperty(chats, async (given) => {
      const { messages, lost } = toUIMessages(given, { idOf: () => "made" });
      if (messages.length > 0)
        expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
      const back = fromUIMessages(messages);
      expect(back.lost).toEqual([]);
      expectKept(given, lost, back.messages.map(withoutMadeId));
    }),
    { numRuns: 1_000 },
  );
});

function withoutMadeId({ id, ...message }: ChatMessage): ChatMessage {
  return id === "made" ? message : { id, ...message };
}

test("values that are not messages are INVALID_ARGUMENT, and unknown parts are named", () => {
  for (const convert of [toModelMessages, fromModelMessages, toUIMessages, fromUIMessages]) {
    fc.assert(fc.property(anything, (given) => expectTyped(convert, given)), { numRuns: 500 });
    for (const given of [undefined, null, {}, "hi", [undefined], [null], [[]], [{ role: "user" }], new Array(1)]) {
      expect(() => convert(given as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  }
});
