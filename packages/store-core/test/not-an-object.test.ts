import { expect, test } from "vitest";
import { createMemoryStores, jsonCodec, type StoreError } from "../src/index.ts";

const message = (content: string) => ({ role: "user" as const, content });

/** Reads the second message of each thread as another value: it was damaged. */
const damaging = (value: unknown) => ({
  ...jsonCodec,
  decode: (text: string) => (text.includes("second") ? value : jsonCodec.decode(text)),
});

test.each([null, 5, "text", true, [], undefined])(
  "a stored message that is no object is CORRUPT, with its place: %j",
  async (value) => {
    await using stores = createMemoryStores({ codec: damaging(value) });
    const store = stores.open("a");
    await store.addMessages([message("first"), message("second")]);
    const place = { code: "CORRUPT", sequence: 2, threadId: "a" };
    const text = expect.stringMatching(/^message 2 of thread "a" cannot be read: the message must be/);
    for (const call of [
      () => store.listMessages(),
      () => store.read(),
      () => store.popMessage(),
      () => stores.copyThread("a", "b"),
    ])
      await expect(call()).rejects.toMatchObject({ ...place, message: text });
  },
);

test("onCorruptRecord takes a message that is no object, and the others are read", async () => {
  const errors: StoreError[] = [];
  await using stores = createMemoryStores({
    codec: damaging(null),
    onCorruptRecord: (error) => errors.push(error),
  });
  await stores.open("a").addMessages([message("first"), message("second"), message("third")]);
  expect(await stores.open("a").listMessages()).toEqual([message("first"), message("third")]);
  expect(errors).toMatchObject([{ code: "CORRUPT", sequence: 2 }]);
});

test("a message that is no object is not stored, also where the traits check nothing", async () => {
  const traits = { role: () => "user" as const, toolCalls: () => [], toolResults: () => [] };
  await using stores = createMemoryStores<unknown>({ traits });
  for (const value of [null, 5, "text", []])
    await expect(stores.open("a").addMessages([value])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "messages[0]: must be an object",
    });
});
