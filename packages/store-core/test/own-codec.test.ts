import { describe, expect, test } from "vitest";
import { type Codec, createMemoryStores, jsonCodec, StoreError } from "../src/index.ts";

describe("a custom codec", () => {
  const message = (role: "system" | "user" | "assistant" | "tool") => ({ role, content: "a" });

  test("receives the location of each value and its write", async () => {
    const received: unknown[] = [];
    const codec: Codec = {
      encode: (value, write) => {
        received.push(write);
        return jsonCodec.encode(value);
      },
      decode: (text, place) => {
        received.push(place);
        return jsonCodec.decode(text);
      },
    };
    const store = createMemoryStores({ codec }).open("t");
    const options = { operationId: "op", createdAt: 1_000 };
    await store.commit({ append: [message("system"), message("tool")], metadata: 1 }, options);
    const of = { threadId: "t", operationId: "op" };
    expect(received.splice(0)).toEqual([
      { ...of, kind: "s", index: 0, createdAt: 1_000 },
      { ...of, kind: "t", index: 1, createdAt: 1_000 },
      { ...of, kind: "m", index: 0 },
      // To recognise the write if it is repeated at another time.
      { ...of, kind: "s", index: 0, createdAt: 0 },
      { ...of, kind: "t", index: 1, createdAt: 0 },
    ]);
    await store.read();
    expect(received).toEqual([
      { threadId: "t", kind: "s", createdAt: 1_000 },
      { threadId: "t", kind: "t", createdAt: 1_000 },
      { threadId: "t", kind: "m" },
    ]);
  });

  test.each([
    ["TOO_LARGE", "TOO_LARGE"],
    ["CORRUPT", "INVALID_ARGUMENT"],
  ] as const)(
    "that throws %s during a write rejects the write with %s and its message",
    async (code, expected) => {
      const refuse = (): never => {
        throw new StoreError(code, "too much");
      };
      const store = createMemoryStores({ codec: { ...jsonCodec, encode: refuse } }).open();
      await expect(store.addMessages([message("user")])).rejects.toMatchObject({
        code: expected,
        message: "messages[0]: too much",
      });
    },
  );

  test("that throws a StoreError during a read adds its message to the CORRUPT error", async () => {
    const refuse = (): never => {
      throw new StoreError("CORRUPT", "it is torn");
    };
    const store = createMemoryStores({ codec: { ...jsonCodec, decode: refuse } }).open("t");
    await store.addMessages([message("user")]);
    await expect(store.read()).rejects.toMatchObject({
      code: "CORRUPT",
      sequence: 1,
      message: 'message 1 of thread "t" cannot be read: it is torn',
    });
  });

  test.each(["", "\ud800", undefined])("that writes %j is refused", async (text) => {
    const store = createMemoryStores({ codec: { ...jsonCodec, encode: () => text as string } }).open();
    await expect(store.addMessages([message("user")])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("messages[0]: codec.encode"),
    });
  });
});
