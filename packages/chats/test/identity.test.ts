import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import type { Identified } from "../src/chat.ts";
import { ChatStore } from "../src/index.ts";

interface Said extends Identified {
  readonly content: string;
}
const message = (id: string, role: Said["role"] = "user", content = id): Said => ({ id, role, content });

async function withChat(count = 2) {
  const mine = new ChatStore<Said>({ stores: createMemoryStores() }).of("ada");
  const messages = Array.from({ length: count }, (_, index) =>
    message(`m${index}`, index % 2 === 0 ? "user" : "assistant"),
  );
  await mine.create({ id: "c", messages });
  return mine;
}

test.each([
  ["an answer", { append: [message("q")] }, "m1"],
  ["a question", { append: [message("q")] }, "m0"],
  ["the question that is added", { append: [message("q")] }, "q"],
  ["a message that an edit keeps", { keep: 2, append: [message("m2")] }, "m1"],
  ["the edited message", { keep: 2, append: [message("e")] }, "e"],
  ["another message than the continued one", { continues: "m3" }, "m1"],
  ["a stored message, without a change", {}, "m3"],
])("begin with the messageId of %s is a CONFLICT, and changes nothing", async (_, change, messageId) => {
  const mine = await withChat(4);
  const before = await mine.read("c");
  await expect(mine.begin("c", change, { messageId })).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await mine.read("c")).toEqual(before);
});

test("begin with a messageId that is dropped in the same commit, or continued, is accepted", async () => {
  const dropped = await withChat();
  const run = await dropped.begin("c", { keep: 1 }, { messageId: "m1" });
  await run.end({ message: message("m1", "assistant", "again"), status: "complete" });
  const continued = await withChat();
  const change = { keep: 1, append: [message("m1", "assistant", "more")], continues: "m1" };
  await (await continued.begin("c", change, { messageId: "m1" })).end({ status: "complete" });
  for (const mine of [dropped, continued]) expect((await mine.read("c"))?.entries).toHaveLength(2);
});

test("a repeated begin makes the unfinished answer of a run again; a later question refuses its id", async () => {
  const mine = new ChatStore<Said>({ stores: createMemoryStores(), leaseMs: 30, beatMs: 10 }).of("ada");
  const begin = async (id: string) =>
    await mine.begin("c", { append: [message(id)] }, { messageId: "a", whileRunning: "stop" });
  const run = await begin("q");
  run.update(message("a", "assistant", "half"));
  await run.save();
  await expect(begin("q2")).rejects.toMatchObject({ code: "CONFLICT" });
  await (await begin("q")).end({ message: message("a", "assistant", "whole"), status: "complete" });
  expect((await mine.read("c"))?.entries.map((entry) => entry.message.content)).toEqual(["q", "whole"]);
  await expect(begin("q")).rejects.toMatchObject({ code: "CONFLICT" });
});

test("no other write adds a message with the id of an answer that is being made", async () => {
  const mine = await withChat();
  const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
  const taken = { code: "CONFLICT" };
  await expect(mine.append("c", [message("a")])).rejects.toMatchObject(taken);
  await expect(mine.upsert("c", message("a"))).rejects.toMatchObject(taken);
  await expect(mine.edit("c", "q", message("a"))).rejects.toMatchObject(taken);
  await run.end({ message: message("a", "assistant"), status: "complete" });
  expect((await mine.read("c"))?.entries.map((entry) => entry.message.id)).toEqual(["m0", "m1", "q", "a"]);
});

test("edit refuses the id of any earlier message, however old", async () => {
  const mine = await withChat(200);
  const refused = mine.edit("c", "m198", message("m0", "user", "edited"));
  await expect(refused).rejects.toMatchObject({ code: "CONFLICT" });
  await mine.edit("c", "m198", message("m199", "user", "edited"));
  expect((await mine.read("c"))?.entries.at(-1)?.message).toEqual(message("m199", "user", "edited"));
});

test("import refuses an export in which an id repeats, and creates no chat", async () => {
  const mine = await withChat();
  const data = await mine.export("c");
  const [first] = data?.entries ?? [];
  const repeated = { ...data, entries: [...(data?.entries ?? []), first] };
  const problem = {
    code: "INVALID_STATE",
    message: expect.stringMatching(/messages\[2\] has the id of messages\[0\]/),
  };
  await expect(mine.import(repeated, { id: "d" })).rejects.toMatchObject(problem);
  expect(await mine.get("d")).toBeUndefined();
});

test.each([".", ".."])("no call creates a chat with the id %s, which no URL can name", async (id) => {
  const mine = await withChat();
  const data = await mine.export("c");
  const calls = [
    () => mine.create({ id }),
    () => mine.fork("c", { id }),
    () => mine.import(data, { id }),
    () => mine.begin(id, { append: [message("q")] }),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect((await mine.list()).chats).toHaveLength(1);
});

test("of two messages with one id, every method means the newest", async () => {
  const mine = await withChat(0);
  const texts = async () =>
    (await mine.read("c"))?.entries
      .filter(({ message }) => !message.id.startsWith("n"))
      .map(({ message }) => message.content);
  const others = Array.from({ length: 64 }, (_, index) => message(`n${index}`));
  await mine.append("c", [message("x", "assistant", "old"), ...others]);
  await mine.append("c", [message("x", "assistant", "new")]);
  const change = { keep: 65, append: [message("x", "assistant", "new!")], continues: "x" };
  const replaced = await mine.begin("c", change);
  expect(replaced.messageId).toBe("x");
  await replaced.end({ status: "complete" });
  expect(await texts()).toEqual(["old", "new!"]);
  const begun = await mine.begin("c", { append: [message("x", "assistant", "new!")] });
  await begun.end({ status: "stopped" });
  await expect(mine.begin("c", { append: [message("x", "assistant", "old")] })).rejects.toMatchObject({
    code: "CONFLICT",
  });
  await mine.append("c", [message("x", "assistant", "new!")]);
  expect(await texts()).toEqual(["old", "new!"]);
  await mine.upsert("c", message("x", "assistant", "newer"));
  expect(await texts()).toEqual(["old", "newer"]);
  await mine.dropAnswer("c", "x");
  expect(await texts()).toEqual(["old"]);
});
