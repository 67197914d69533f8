import { expect, expectTypeOf, test } from "vitest";
import {
  type ChatMessage,
  createMemoryStores,
  type MessageTraits,
  openStores,
  type StoreFactory,
  type StoreOptions,
} from "../src/index.ts";

interface Note {
  text: string;
}
const traits: MessageTraits<Note> = { role: () => "user", toolCalls: () => [], toolResults: () => [] };

test("given adapters open their schemes, and take precedence over loaded ones", async () => {
  const asked: object[] = [];
  const adapter = (options: { url: string }): StoreFactory => {
    asked.push(options);
    return createMemoryStores();
  };
  const adapters = { postgres: adapter, "my+db-2.x": adapter, sqlite: adapter, memory: adapter };
  for (const url of ["postgres://host/db", "my+db-2.x:here", "sqlite:chats.db", "memory:"]) {
    const stores = await openStores(url, { adapters, maxMessages: 3 });
    await stores.open("t").addMessages([{ role: "user", content: "hello" }]);
    expect(asked.pop()).toEqual({ url, maxMessages: 3, setup: true });
  }
});

test("missing tables are created by default, but on DynamoDB, whose tables cost money", async () => {
  const asked: (boolean | undefined)[] = [];
  const adapter = ({ setup }: StoreOptions): StoreFactory => {
    asked.push(setup);
    return createMemoryStores();
  };
  const adapters = { postgres: adapter, mongodb: adapter, dynamodb: adapter };
  for (const url of ["postgres://host", "mongodb://host", "dynamodb://table"])
    await openStores(url, { adapters });
  for (const setup of [true, false]) await openStores("dynamodb://table", { adapters, setup });
  await openStores("postgres://host", { adapters, setup: false });
  expect(asked).toEqual([true, true, false, true, false, false]);
});

test("an adapter opens both schemes of its database, unless the other one has an adapter", async () => {
  const named = (maxMessages: number) => () => createMemoryStores({ maxMessages });
  const adapters = { postgresql: named(1), redis: named(2), "mongodb+srv": named(3), mongodb: named(4) };
  const opened = async (url: string) => (await openStores(url, { adapters })).settings.maxMessages;
  expect(await opened("postgres://localhost/chats")).toBe(1);
  expect(await opened("rediss://localhost")).toBe(2);
  expect(await opened("mongodb+srv://localhost/chats")).toBe(3);
  expect(await opened("mongodb://localhost/chats")).toBe(4);
});

test("an unknown scheme is refused with the list of known ones", async () => {
  const adapters = { postgres: () => createMemoryStores() };
  for (const url of ["mysql://host", "constructor:", "postgres", "toString:"]) {
    await expect(openStores(url, { adapters })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(
        /memory:, .*sqlite:, postgres:; the url of a file is sqlite: and its path$/,
      ),
    });
  }
});

test("a memory URL with an option is refused", async () => {
  await expect(openStores("memory:?maxMessages=3")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      "openStores: url must not contain the option maxMessages; pass maxMessages to openStores beside url",
  });
});

test.each([[[]], [3], [{ "postgres:": createMemoryStores }], [{ postgres: "pg" }]])(
  "adapters %j are refused",
  async (adapters) => {
    await expect(openStores("memory:", { adapters: adapters as never })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("openStores: adapters must"),
    });
  },
);

test("messages that are not ChatMessages need traits", async () => {
  // @ts-expect-error: traits are missing
  createMemoryStores<Note>();
  // @ts-expect-error: traits are missing
  createMemoryStores<Note>({ maxMessages: 3 });
  // @ts-expect-error: traits are missing
  await openStores<Note>("memory:");
  // @ts-expect-error: traits are missing
  await openStores<Note>("memory:", { maxMessages: 3 });
  expectTypeOf(createMemoryStores({ traits })).toEqualTypeOf<StoreFactory<Note>>();
  // A generic function, like an adapter's.
  const adapters = { memory: createMemoryStores };
  const withTraits = () => openStores("memory:", { traits, adapters });
  expectTypeOf(withTraits).returns.resolves.toEqualTypeOf<StoreFactory<Note>>();
  const without = () => openStores("memory:", { adapters });
  expectTypeOf(without).returns.resolves.toEqualTypeOf<StoreFactory<ChatMessage>>();
  expectTypeOf(await openStores("memory:")).toEqualTypeOf<StoreFactory<ChatMessage>>();
  interface Titled extends ChatMessage {
    title: string;
  }
  expectTypeOf(await openStores<Titled>("memory:")).toEqualTypeOf<StoreFactory<Titled>>();
  expectTypeOf(createMemoryStores<Titled>({ maxMessages: 3 })).toEqualTypeOf<StoreFactory<Titled>>();
});
