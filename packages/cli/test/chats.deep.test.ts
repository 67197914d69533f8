import { ChatStore } from "@scrollback/chats";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Folder, run } from "./run.ts";

const COUNT = 150;

type Message = ReturnType<typeof message>;

let time = Date.now();
/** Each write has another time, so that the order of a list is certain. */
const chatsOf = (stores: StoreFactory) => new ChatStore<Message>({ stores, now: () => time++ });
const nameOf = (index: number) => `chat-${String(index).padStart(3, "0")}`;
const message = (id: string, content: string) => ({ id, role: "user" as const, content });

type Mine = ReturnType<ChatStore<Message>["of"]>;

async function idsOf(mine: Mine): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await mine.list({ limit: 100, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.chats.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

async function threadsOf(stores: StoreFactory, prefix: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { threadId } of stores.iterateThreads({ prefix })) ids.push(threadId);
  return ids;
}

/** Writes chats whose list has leaves, and returns the ids as listed. */
async function fill(stores: StoreFactory): Promise<string[]> {
  // Each note starts a compaction if there are enough notes.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  await using chats = chatsOf(stores);
  const mine = chats.of("ada");
  for (let index = 0; index < COUNT; index++)
    await mine.create({ id: nameOf(index), messages: [message("m", `question ${index}`)] });
  for (let index = 0; index < COUNT; index++) await mine.touch(nameOf(index));
  await chats.flush();
  random.mockRestore();
  expect(await threadsOf(stores, "chats:leaf:")).not.toEqual([]);
  return await idsOf(mine);
}

/** Ways of moving a database to other stores. */
const ways: Record<string, (folder: Folder) => Promise<StoreFactory>> = {
  "with scrollback copy": async (folder) => {
    expect(await run(["copy", folder.url(), folder.url("b"), "--verify"])).toMatchObject({ code: 0 });
    return folder.stores("b");
  },
  "with scrollback export and import": async (folder) => {
    const file = folder.file("all.jsonl");
    expect(await run(["export", folder.url(), "--output", file])).toMatchObject({ code: 0 });
    expect(await run(["import", folder.url("b"), file, "--verify"])).toMatchObject({ code: 0 });
    return folder.stores("b");
  },
  "with copyThread, to another backend": async (folder) => {
    await using stores = folder.stores();
    const target = createMemoryStores();
    for await (const { threadId } of stores.iterateThreads())
      await stores.copyThread(threadId, threadId, { target });
    return target;
  },
};

describe.each(Object.entries(ways))("chats that were moved %s", (_name, move) => {
  let stores: StoreFactory;
  let chats: ChatStore<Message>;
  let mine: Mine;
  let listed: string[];
  beforeEach(async () => {
    const folder = new Folder();
    const source = folder.stores();
    listed = await fill(source);
    await source.close();
    stores = await move(folder);
    chats = chatsOf(stores);
    mine = chats.of("ada");
    onTestFinished(async () => {
      await chats.flush();
      await stores.close();
      folder[Symbol.dispose]();
    });
  });

  test("are listed, edited, created and deleted as before", async () => {
    expect(listed).toHaveLength(COUNT);
    expect(await idsOf(mine)).toEqual(listed);
    const oldest = listed.at(-1) ?? "";
    await mine.edit(oldest, "m", message("m", "another question"));
    expect((await mine.read(oldest))?.entries.map(({ message: { content } }) => content)).toEqual([
      "another question",
    ]);
    await mine.create({ id: "new", messages: [message("m", "a new chat")] });
    const deleted = listed[COUNT / 2] ?? "";
    await mine.delete(deleted);
    const rest = listed.filter((id) => id !== oldest && id !== deleted);
    expect(await idsOf(mine)).toEqual(["new", oldest, ...rest]);
    for (const id of rest) await mine.touch(id);
    await chats.flush();
    expect(await idsOf(mine)).toEqual([...rest.toReversed(), "new", oldest]);
  });

  test("are deleted with all threads", async () => {
    await mine.deleteAll();
    expect(await idsOf(mine)).toEqual([]);
    expect(await threadsOf(stores, "")).toEqual([]);
  });
});
