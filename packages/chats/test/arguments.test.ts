import { createMemoryStores } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ChatStore } from "../src/index.ts";
import { message, storeError } from "./contract/values.ts";
import { CountingDriver } from "./counting-driver.ts";

const driver = new CountingDriver();
const chats = new ChatStore({ stores: createStores(driver) });
const mine = chats.of("ada");
/** Values that a caller without types may pass. */
const invalid = (value: unknown) => value as never;

const calls: [string, () => Promise<unknown>][] = [
  ["no id", () => mine.get("")],
  ["an id past 1,024 bytes", () => mine.get("x".repeat(1_025))],
  ["an unknown option", () => mine.get("c", invalid({ limit: 1 }))],
  ["a limit of -1", () => mine.read("c", { limit: -1 })],
  ["a limit of 0 for a list", () => mine.list({ limit: 0 })],
  ["a limit of 1,001 for a list", () => mine.list({ limit: 1_001 })],
  ["an unknown filter", () => mine.list(invalid({ title: "x" }))],
  ["a label that is an object", () => mine.create({ labels: invalid({ a: {} }) })],
  ["a label that is not finite", () => mine.create({ labels: { a: Number.NaN } })],
  ["an unknown field", () => mine.create(invalid({ name: "x" }))],
  ["metadata that is a Map", () => mine.create({ metadata: invalid(new Map()) })],
  ["metadata that cannot be stored", () => mine.create({ metadata: { a: () => 1 } })],
  ["a title of another's without a title", () => mine.update("c", { titleBy: "model" })],
  ["a patch that is a string", () => mine.update("c", invalid("title"))],
  ["an operation id that is empty", () => mine.touch("c", { operationId: "" })],
  ["an expected revision for a new chat", () => mine.create({}, invalid({ expectedRevision: "r" }))],
  ["a message without an id", () => mine.append("c", [invalid({ role: "user" })])],
  ["a message with an id past 256 bytes", () => mine.append("c", [message("x".repeat(257))])],
  ["a message of an unknown role", () => mine.upsert("c", invalid({ id: "m", role: "robot" }))],
  ["two messages with one id", () => mine.append("c", [message("m"), message("n"), message("m")])],
  ["two messages with one id in a new chat", () => mine.create({ messages: [message("m"), message("m")] })],
  [
    "two messages with one id at the begin of a run",
    () => mine.begin("c", { append: [message("m"), message("m")] }),
  ],
  ["messages that are not messages", () => mine.append("c", invalid("hello"))],
  ["an unknown status", () => mine.upsert("c", message("m"), { status: invalid("done") })],
  ["an after that is a number", () => mine.append("c", [message("m")], { after: invalid(1) })],
  ["no message id", () => mine.edit("c", invalid(undefined), message("m"))],
  ["a truncate with both from and behind", () => mine.truncate("c", invalid({ from: "a", behind: "b" }))],
  ["a truncate without from and behind", () => mine.truncate("c", invalid({}))],
  ["no id of a message to read", () => mine.readMessage("c", "")],
  ["a deletion with something else", () => mine.deleteMessage("c", "m", invalid({ with: "question" }))],
  ["a message's patch without metadata", () => mine.updateMessage("c", "m", invalid({}))],
  [
    "a message's patch with another field",
    () => mine.updateMessage("c", "m", invalid({ metadata: 1, id: "n" })),
  ],
  ["a message's metadata that cannot be stored", () => mine.updateMessage("c", "m", { metadata: () => 1 })],
  ["a move without the new owner", () => chats.move("c", invalid({ from: "ada" }))],
  ["a move to the same owner", () => chats.move("c", { from: "ada", to: "ada" })],
  ["a change of a run with an unknown field", () => mine.begin("c", invalid({ nothing: true }))],
  ["a change of a run that keeps -1 messages", () => mine.begin("c", { keep: -1 })],
  ["a change of a run that appends no array", () => mine.begin("c", invalid({ append: message("m") }))],
  ["a change of a run that continues no id", () => mine.begin("c", invalid({ continues: 1 }))],
  ["an unknown whileRunning", () => mine.begin("c", {}, { whileRunning: invalid("wait") })],
  ["a run id that is empty", () => mine.stop("c", "")],
  ["a fork at a number", () => mine.fork("c", { at: invalid(1) })],
  ["an unknown option of an import", () => mine.import({}, invalid({ title: "x" }))],
  ["a follow of every 0 ms", async () => mine.follow("c", { everyMs: 0 })],
  ["a signal that is not an AbortSignal", () => mine.touch("c", { signal: invalid({}) })],
];

test.each(calls)("%s fails with INVALID_ARGUMENT before any request", async (_name, call) => {
  driver.take();
  await expect(call()).rejects.toMatchObject(storeError("INVALID_ARGUMENT"));
  expect(driver.take()).toEqual([]);
});

test("a message that the store's check refuses fails with INVALID_ARGUMENT, and the error has no text of it", async () => {
  const strict = new ChatStore({
    stores: createMemoryStores(),
    check: (one) => ("parts" in Object(one) ? undefined : "must have parts"),
  });
  const refused = strict.of("ada").create({ messages: [message("secret")] });
  await expect(refused).rejects.toMatchObject(
    storeError("INVALID_ARGUMENT", /^create: messages\[0\]: must have parts$/),
  );
});

test("stores that trim and invalid options are refused", () => {
  const stores = createMemoryStores({ maxMessages: 10 });
  const refused = [
    { stores },
    {},
    { stores: createMemoryStores(), extra: 1 },
    { stores: createMemoryStores(), leaseMs: 5_000 },
    { stores: createMemoryStores(), beatMs: 0 },
    undefined,
  ];
  for (const options of refused) {
    expect(() => new ChatStore(invalid(options))).toThrow(
      expect.objectContaining(storeError("INVALID_ARGUMENT")),
    );
  }
  expect(() => chats.of("")).toThrow(expect.objectContaining(storeError("INVALID_ARGUMENT")));
});
