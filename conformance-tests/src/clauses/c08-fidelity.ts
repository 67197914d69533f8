import { randomFillSync } from "node:crypto";
import { type ChatMessage, jsonCodec } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import { checkProperty } from "../checks/property.ts";
import type { Clause } from "../clause.ts";
import { codecs } from "../messages/codecs.ts";
import { carrying, numbered, textsIn, toolCall, toolResult, user } from "../messages/messages.ts";
import { differenceOf } from "../messages/same-value.ts";
import {
  anyValue,
  carriedValues,
  confusableObjects,
  hostileStrings,
  refusedValues,
} from "../messages/values.ts";

/** The bytes of a thread at rest in addition to its content: keys, operation ids, revisions. */
const OVERHEAD_BYTES = 4_096;

export const fidelity: Clause = {
  title: "Fidelity",
  declare(test) {
    test("every kind of value is read as it was written", async (backend) => {
      const store = backend.store();
      await store.addMessages(carriedValues.map(({ value }) => carrying(value)));
      const read = await store.listMessages();
      carriedValues.forEach((carried, index) => {
        const expected = "back" in carried ? carried.back : carried.value;
        expect(differenceOf(read[index]?.metadata, expected), carried.what).toBeUndefined();
      });
    });

    test("every kind of value is read from metadata as it was written", async (backend) => {
      const store = backend.store();
      for (const { what, value, ...carried } of carriedValues.filter((_, index) => index % 3 === 0)) {
        await store.commit({ metadata: { value } });
        const { metadata } = await store.read();
        const expected = { value: "back" in carried ? carried.back : value };
        expect(differenceOf(metadata, expected), what).toBeUndefined();
      }
    });

    test("any nesting of values under any keys is read as it was written", async (backend) => {
      const store = backend.store({ maxMessages: 5, trimming: "exact" });
      const run = fc.asyncProperty(fc.array(anyValue, { minLength: 1, maxLength: 4 }), async (values) => {
        await store.addMessages(values.map(carrying));
        const read = await store.listMessages({ limit: values.length });
        const carried = read.map(({ metadata }) => metadata);
        expect(differenceOf(carried, values)).toBeUndefined();
      });
      await checkProperty(run, 150);
    });

    test("keys of one escaped character are read as they were written", async (backend) => {
      const store = backend.store();
      await store.addMessages(confusableObjects.map(carrying));
      const read = (await store.listMessages()).map(({ metadata }) => metadata);
      expect(differenceOf(read, confusableObjects)).toBeUndefined();
    });

    test("an error keeps its name, message and cause, and an absent cause stays absent", async (backend) => {
      const store = backend.store();
      await store.addMessages([
        carrying(new TypeError("without")),
        carrying(new TypeError("with", { cause: undefined })),
      ]);
      const [without, withCause] = (await store.listMessages()).map(({ metadata }) => metadata as Error);
      expect(without).toBeInstanceOf(Error);
      expect([without?.name, without?.message, without && "cause" in without]).toEqual([
        "TypeError",
        "without",
        false,
      ]);
      expect([withCause?.message, withCause && "cause" in withCause]).toEqual(["with", true]);
    });

    test("of other properties of an error, only code and the errors of an AggregateError are kept", async (backend) => {
      const store = backend.store();
      const failed = Object.assign(new Error("refused"), { code: "ECONNREFUSED", headers: "hunter2" });
      const all = Object.assign(new AggregateError([failed], "all failed"), { request: () => "hunter2" });
      await store.addMessages([carrying(all)]);
      expect(await backend.harness.raw.dump(store.threadId)).not.toContain("hunter2");
      const [read] = (await store.listMessages()).map(({ metadata }) => metadata as AggregateError);
      expect(read).toBeInstanceOf(AggregateError);
      expect(
        differenceOf(read?.errors, [Object.assign(new Error("refused"), { code: "ECONNREFUSED" })]),
      ).toBe(undefined);
      expect(Object.keys(read ?? {})).toEqual([]);
    });

    test("absent stays absent, undefined stays undefined, null stays null", async (backend) => {
      const store = backend.store();
      const messages: ChatMessage[] = [
        { role: "user", content: "absent" },
        { role: "user", content: "undefined", id: undefined, metadata: { a: undefined } },
        { role: "user", content: "null", metadata: null },
      ];
      await store.addMessages(messages);
      const read = await store.listMessages();
      expect(read).toStrictEqual(messages);
      expect(read.map((message) => Object.keys(message))).toEqual(
        messages.map((message) => Object.keys(message)),
      );
    });

    test("whole messages: every part, unknown parts and unknown fields", async (backend) => {
      const store = backend.store();
      const messages = [
        {
          id: "m1",
          role: "user",
          content: [
            { type: "text", text: "look\u0000 at 💬 this", providerOptions: { any: { "a.b": 1 } } },
            { type: "file", data: new Uint8Array([0, 255, 128]), mediaType: "image/png", filename: "a.png" },
            {
              type: "file",
              data: { type: "url", url: new URL("https://example.org/a.png") },
              mediaType: "image/png",
            },
            { type: "image", image: new ArrayBuffer(3) },
          ],
          authorName: "Ada",
          createdAt: new Date("2024-05-01T12:00:00.123Z"),
          metadata: { nested: [new Map([["a", 1n]])] },
        },
        toolCall("call 1"),
        toolResult("call 1"),
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm" },
            { type: "tool-call", toolCallId: "1", toolName: "t", input: { big: 2n ** 70n, none: undefined } },
            { type: "tool-approval-request", approvalId: "a", toolCallId: "1" },
            { type: "x-chart", points: new Float32Array([1.5, -0]), deep: { $set: { __proto__x: 1 } } },
          ],
        },
        {
          role: "tool",
          content: [{ type: "tool-approval-response", approvalId: "a", approved: false, reason: "no" }],
        },
        { role: "system", content: "", "unknown.field": new Set([1]), $kept: true },
      ] as unknown as ChatMessage[];
      await store.addMessages(messages);
      expect(await store.listMessages()).toStrictEqual(messages);
    });

    test("texts of every Unicode character are read as they were written", async (backend) => {
      const store = backend.store();
      let plane = "";
      for (let code = 0; code <= 0xffff; code++) plane += String.fromCharCode(code);
      const texts = [...hostileStrings, plane, "\u{10000}\u{10ffff}\u{1f600}"];
      await store.addMessages(texts.map(user));
      expect(await textsIn(store)).toEqual(texts);
    });

    test("a value that cannot be stored is refused by the write, at any depth, and nothing is written", async (backend) => {
      const store = backend.store();
      await store.addMessages([user("before")]);
      await backend.withoutRequests(async () => {
        for (const [what, value] of Object.entries(refusedValues)) {
          for (const wrapped of [
            value,
            { a: [value] },
            new Map([["a", value]]),
            new Set([value]),
            new Error("a", { cause: value }),
          ]) {
            const add = store.addMessages([user("good"), carrying(wrapped)]);
            const error = await rejection(add, "INVALID_ARGUMENT").catch((cause) => {
              throw new Error(`${what} was not refused`, { cause });
            });
            expect(error.message).toContain("messages[1]");
          }
          const metadata = await rejection(store.commit({ metadata: { value } }), "INVALID_ARGUMENT");
          expect(metadata.message).toContain("metadata");
        }
        await rejection(store.addMessages([carrying(new Map([[() => 1, 1]]))]), "INVALID_ARGUMENT");
      });
      expect(await textsIn(store)).toEqual(["before"]);
    });

    test("reads return fresh copies, and a write copies its arguments", async (backend) => {
      const store = backend.store();
      const given = carrying({ list: [1], bytes: new Uint8Array([1]) });
      const writing = store.commit({ append: [given], metadata: given.metadata });
      (given.metadata as { list: number[] }).list.push(2);
      given.content = "changed";
      await writing;
      const expected = { list: [1], bytes: new Uint8Array([1]) };
      for (let round = 0; round < 2; round++) {
        const { entries, metadata } = await store.read();
        const message = entries[0]?.message;
        expect(message).toStrictEqual(carrying(expected));
        expect(metadata).toStrictEqual(expected);
        (message?.metadata as typeof expected | undefined)?.list.push(3);
        (metadata as typeof expected).bytes[0] = 9;
      }
    });

    test("bytes take at most 4/3 of their size at rest, with any codec", async (backend) => {
      const size = 300_000;
      for (const bytes of [
        randomFillSync(new Uint8Array(size)),
        randomFillSync(new Float64Array(size / 8)),
        randomFillSync(new Uint8Array(size)).buffer,
        randomFillSync(Buffer.alloc(size)),
      ]) {
        for (const [what, codec] of Object.entries(codecs)) {
          const store = backend.store({ codec });
          await store.addMessages([
            { role: "user", content: [{ type: "file", data: bytes as never, mediaType: "a/b" }] },
          ]);
          const atRest = Buffer.byteLength(await backend.harness.raw.dump(store.threadId));
          expect(atRest, `${bytes.constructor.name}, ${what}`).toBeGreaterThan(size);
          expect(atRest, `${bytes.constructor.name}, ${what}`).toBeLessThanOrEqual(
            (size * 4) / 3 + OVERHEAD_BYTES,
          );
        }
      }
    });

    test("messages and metadata are read as they were written, with any codec", async (backend) => {
      const title = "night trams ".repeat(20);
      const metadata = { title, seen: new Date(0) };
      const messages = [...numbered(3), user(title), ...hostileStrings.map(user)];
      for (const [what, codec] of Object.entries(codecs)) {
        const store = backend.store({ codec });
        await store.commit({ append: messages, metadata });
        const other = await backend.otherStores({ codec }).open(store.threadId).read();
        expect(
          other.entries.map(({ message }) => message),
          what,
        ).toStrictEqual(messages);
        expect(other.metadata, what).toStrictEqual(metadata);
        const isReadable = (await backend.harness.raw.dump(store.threadId)).includes("night trams");
        expect(isReadable, `${what} is readable at rest`).toBe(what === "json");
      }
    });

    test("any text that a codec writes is stored unchanged", async (backend) => {
      const odd = { prefix: ' \u0000\n"\\{}💬é\u2028' };
      const codec = {
        encode: (value: unknown) => odd.prefix + jsonCodec.encode(value) + odd.prefix,
        decode: (text: string) => {
          expect(text.startsWith(odd.prefix) && text.endsWith(odd.prefix), "the text that was written").toBe(
            true,
          );
          return jsonCodec.decode(text.slice(odd.prefix.length, -odd.prefix.length));
        },
      };
      const store = createStores(backend.driver, { codec }).open();
      await store.commit({ append: numbered(3), metadata: odd });
      const { entries, metadata } = await store.read();
      expect(entries.map(({ message }) => message)).toStrictEqual(numbered(3));
      expect(metadata).toStrictEqual(odd);
    });
  },
};
