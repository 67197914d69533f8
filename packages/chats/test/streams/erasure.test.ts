import { streamOf } from "@scrollback/collections/internal";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ChatStore } from "../../src/index.ts";
import { answerThreadOf } from "../../src/internal.ts";

const CHAT = "chats:chat:ada:c";
const question = { id: "q", role: "user" as const, content: "text" };

/** A chat with a run whose answer is in the stores. */
async function streaming(stores: StoreFactory) {
  const chats = new ChatStore({ stores, onError: () => undefined });
  const mine = chats.of("ada");
  const run = await mine.begin("c", { append: [question] });
  const writer = answerThreadOf(mine, "c")?.write(run.id);
  writer?.add("secret");
  const stored = async () => (await stores.open(streamOf(CHAT)).listMessages()).length;
  await expect.poll(stored).toBe(1);
  return { chats, mine, run, writer, stored };
}

test.each(["delete", "deleteAll"] as const)(
  "%s erases the text of a running answer, also of an unreadable chat",
  async (method) => {
    for (const isDamaged of [false, true]) {
      const stores = createMemoryStores();
      const { mine, run, writer, stored } = await streaming(stores);
      if (isDamaged) await stores.open(CHAT).commit({ metadata: "damaged" });
      await (method === "delete" ? mine.delete("c") : mine.deleteAll());
      expect(await stored()).toBe(0);
      writer?.add("more");
      await writer?.ended;
      expect(await stored()).toBe(0);
      await run.end({ status: "stopped" }).catch(() => undefined);
    }
  },
);

test("a move leaves no text of an answer with the old owner", async () => {
  const stores = createMemoryStores();
  const { chats, run, writer, stored } = await streaming(stores);
  await run.end({ status: "stopped" });
  writer?.end();
  await chats.move("c", { from: "ada", to: "eve" });
  expect(await stored()).toBe(0);
  await writer?.ended;
});

test("stores whose threads cannot expire have no text of answers, and their chats are deleted", async () => {
  const driver = new MemoryDriver();
  Object.defineProperty(driver, "capabilities", { value: { ...driver.capabilities, expiry: false } });
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c" });
  expect(answerThreadOf(mine, "c")).toBeUndefined();
  await mine.delete("c");
  expect(await mine.get("c")).toBeUndefined();
});
