import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, listedIds, message, storedText, storeError, textsIn } from "./values.ts";

export const deleting: readonly ContractTest[] = [
  {
    title: "delete: the chat can no longer be read or listed, and other chats are kept",
    async run({ mine, chats, stores, connect, owner }) {
      await mine.create({ id: "kept", messages: dialogue("q") });
      await mine.create({ id: "chat-id", title: "the-title", messages: [message("m", "user", "the-text")] });
      await mine.update("chat-id", { title: "the-title-2" });
      await chats.flush();
      expect(await storedText(stores)).toMatch(/chat-id.*the-t/);
      const theirs = connect().of(owner);
      await theirs.delete("chat-id");
      expect(await mine.get("chat-id")).toBeUndefined();
      expect(await mine.read("chat-id")).toBeUndefined();
      expect(await listedIds(mine)).toEqual(["kept"]);
      expect(await listedIds(theirs)).toEqual(["kept"]);
      await chats.flush();
      expect(await storedText(stores)).not.toMatch(/chat-id|the-t/);
      await theirs.delete("chat-id");
      await expect(mine.touch("chat-id")).rejects.toMatchObject(storeError("NOT_FOUND"));
    },
  },
  {
    title: "delete: an id can be used again, and the new chat has no data of the old one",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", title: "Old", messages: dialogue("q") }, { operationId: "op" });
      await mine.delete("c");
      const chat = await mine.create({ id: "c", title: "New" }, { operationId: "op" });
      expect(chat).toMatchObject({ title: "New", messageCount: 0 });
      expect((await connect().of(owner).list()).chats).toMatchObject([{ id: "c", title: "New" }]);
      expect(await textsIn(mine, "c")).toEqual([]);
    },
  },
  {
    title: "delete: a concurrent write precedes it or fails with NOT_FOUND; none restores the chat",
    async run({ mine, connect, owner }) {
      for (let round = 0; round < 5; round++) {
        const id = `c${round}`;
        await mine.create({ id, messages: dialogue("q") });
        const writes = Array.from({ length: 4 }, (_, index) =>
          connect()
            .of(owner)
            .append(id, [message(`m${index}`)]),
        );
        const outcomes = await Promise.allSettled([mine.delete(id), ...writes]);
        expect(outcomes[0]).toMatchObject({ status: "fulfilled" });
        for (const outcome of outcomes.slice(1)) {
          if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(storeError("NOT_FOUND"));
        }
        expect(await mine.get(id)).toBeUndefined();
      }
      expect(await listedIds(mine)).toEqual([]);
      expect(await listedIds(connect().of(owner))).toEqual([]);
    },
  },
  {
    title: "deleteAll: also deletes archived chats and the list, and no chat of another owner",
    async run({ mine, chats, stores, connect, owner }) {
      for (let index = 0; index < 20; index++) {
        await mine.create({ id: `chat-${index}`, title: "the-title", archived: index % 2 === 0 });
      }
      const others = chats.of(`${owner}-other`);
      await others.create({ id: "theirs" });
      await chats.flush();
      await connect().of(owner).deleteAll();
      expect(await listedIds(mine)).toEqual([]);
      expect((await mine.list({ archived: true })).chats).toEqual([]);
      expect(await storedText(stores)).not.toMatch(/chat-\d|the-title/);
      const left: string[] = [];
      for await (const { threadId } of stores.iterateThreads()) left.push(threadId);
      expect(
        left.filter((threadId) => threadId.includes(`:${owner}:`) || threadId.endsWith(`:${owner}`)),
      ).toEqual([]);
      expect(await listedIds(others)).toEqual(["theirs"]);
      await mine.deleteAll();
      await mine.create({ id: "again" });
      expect(await listedIds(connect().of(owner))).toEqual(["again"]);
    },
  },
  {
    title: "deleteAll: a chat created during the call is either deleted or listed",
    async run({ mine, connect, owner }) {
      for (let index = 0; index < 6; index++) await mine.create({ id: `c${index}` });
      const creator = connect();
      const made: string[] = [];
      const creations = (async () => {
        for (let index = 0; index < 6; index++) {
          made.push((await creator.of(owner).create({ id: `new-${index}` })).id);
          await sleep(3);
        }
      })();
      const deleted = connect().of(owner).deleteAll();
      const outcomes = await Promise.allSettled([creations, deleted]);
      expect(outcomes[0]).toMatchObject({ status: "fulfilled" });
      expect(outcomes[1]).toMatchObject({ status: "fulfilled" });
      const listed = await listedIds(mine);
      for (const id of made) expect((await mine.get(id)) !== undefined, id).toBe(listed.includes(id));
      await creator.flush();
      await mine.deleteAll();
      expect(await listedIds(mine)).toEqual([]);
    },
  },
];
