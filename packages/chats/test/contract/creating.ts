import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, message, storeError, textsOf } from "./values.ts";

export const creating: readonly ContractTest[] = [
  {
    title: "create: creates a chat with its fields and messages, which other processes read",
    async run({ mine, connect, owner }) {
      const fields = { title: "Rome", pinned: true, labels: { work: true, kind: "trip", n: 2 } };
      const metadata = { model: "small", since: new Date(7), nested: { deep: [1, undefined] } };
      const chat = await mine.create({ ...fields, metadata, messages: dialogue("q", "a") });
      expect(chat).toMatchObject({ ...fields, titleBy: "user", archived: false, messageCount: 2, metadata });
      expect(chat.id).toMatch(/^[\da-f-]{36}$/);
      expect(chat.lastMessage).toEqual({ id: "a", role: "assistant", text: "a", createdAt: chat.createdAt });
      const theirs = connect().of(owner);
      expect(await theirs.get(chat.id)).toEqual(chat);
      const page = await theirs.read(chat.id);
      expect(page?.chat).toEqual(chat);
      expect(page?.entries).toEqual(
        dialogue("q", "a").map((one) => ({
          message: one,
          createdAt: chat.createdAt,
          updatedAt: chat.createdAt,
          status: "complete",
        })),
      );
    },
  },
  {
    title: "create: an empty chat has no last message, and is listed",
    async run({ mine }) {
      const chat = await mine.create({ id: "c" });
      expect(chat).toMatchObject({ id: "c", messageCount: 0, pinned: false, labels: {}, metadata: {} });
      expect(chat).not.toHaveProperty("lastMessage");
      expect(chat).not.toHaveProperty("title");
      expect((await mine.list()).chats).toMatchObject([{ id: "c" }]);
      expect(await mine.read("c")).toEqual({ chat, entries: [] });
    },
  },
  {
    title: "create: a used id fails with CONFLICT, used by any process",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", title: "First" });
      await expect(connect().of(owner).create({ id: "c" })).rejects.toMatchObject(
        storeError("CONFLICT", /taken/),
      );
      expect((await mine.get("c"))?.title).toBe("First");
    },
  },
  {
    title: "create: ids of any characters and up to 1,024 bytes are separate chats",
    async run({ mine }) {
      const ids = ["a:b", "a%3Ab", "a", "#", "ü/../", "x".repeat(1_024), `${"x".repeat(1_023)}y`];
      for (const id of ids) await mine.create({ id, title: `t-${id.slice(-8)}` });
      for (const id of ids) expect(await mine.get(id)).toMatchObject({ id, title: `t-${id.slice(-8)}` });
      const listed = (await mine.list({ limit: 100 })).chats.map(({ id }) => id);
      expect(listed.sort()).toEqual([...ids].sort());
    },
  },
  {
    title: "get, read: return undefined for a missing chat and for another owner's",
    async run({ mine, chats }) {
      await mine.create({ id: "c", messages: [message("secret")] });
      const others = chats.of("bob");
      expect(await others.get("c")).toBeUndefined();
      expect(await others.read("c")).toBeUndefined();
      expect((await others.list()).chats).toEqual([]);
      const calls = [
        () => others.update("c", { title: "x" }),
        () => others.touch("c"),
        () => others.append("c", [message("m")]),
        () => others.upsert("c", message("secret")),
        () => others.edit("c", "secret", message("m")),
        () => others.truncate("c", { behind: null }),
        () => others.dropAnswer("c"),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject(storeError("NOT_FOUND"));
      expect(textsOf((await mine.read("c"))?.entries)).toEqual(["secret"]);
    },
  },
  {
    title: "read: pages backwards from the newest, each message once",
    async run({ mine }) {
      const ids = Array.from({ length: 25 }, (_, index) => `m${index}`);
      await mine.create({ id: "c", messages: dialogue(...ids) });
      const found: string[] = [];
      let before: string | undefined;
      let pages = 0;
      do {
        const page = await mine.read("c", { limit: 10, ...(before !== undefined && { before }) });
        found.unshift(...textsOf(page?.entries));
        before = page?.older;
        pages += 1;
      } while (before !== undefined);
      expect(found).toEqual(ids);
      expect(pages).toBe(3);
    },
  },
];
