import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { listedIds, message, storeError } from "./values.ts";

export const listing: readonly ContractTest[] = [
  {
    title:
      "list: newest activity first, exact for the own process and after flush, the title after each update",
    async run({ mine, chats, connect, owner }) {
      for (const id of ["a", "b", "c"]) {
        await mine.create({ id });
        await sleep(2);
      }
      expect(await listedIds(mine)).toEqual(["c", "b", "a"]);
      const others = connect();
      const theirs = others.of(owner);
      expect(await listedIds(theirs)).toEqual(["c", "b", "a"]);
      await theirs.append("a", [message("m")]);
      expect(await listedIds(theirs)).toEqual(["a", "c", "b"]);
      expect(await listedIds(mine)).toEqual(["a", "c", "b"]);
      await sleep(2);
      await mine.touch("b");
      await chats.flush();
      expect(await listedIds(theirs)).toEqual(["b", "a", "c"]);
      await theirs.update("c", { title: "not to the front" });
      expect(await listedIds(mine)).toEqual(["b", "a", "c"]);
      const [, second, third] = (await connect().of(owner).list()).chats;
      expect(second).toMatchObject({ id: "a", messageCount: 1, lastMessage: { text: "m" } });
      expect(third).toMatchObject({ id: "c", title: "not to the front" });
      expect(third).not.toHaveProperty("metadata");
    },
  },
  {
    title: "list: is the same before and after a flush, in another process, and from the chats",
    async run({ mine, chats, connect, owner }) {
      for (let index = 0; index < 12; index++) await mine.create({ id: `c${index}`, labels: { index } });
      const before = await mine.list();
      await chats.flush();
      expect(await mine.list()).toEqual(before);
      expect(await connect().of(owner).list()).toEqual(before);
      for (const { id, ...listed } of before.chats) expect(await mine.get(id)).toMatchObject(listed);
    },
  },
  {
    title: "list: pages have each chat once, also while other chats change",
    async run({ mine, connect, owner }) {
      const ids = Array.from({ length: 30 }, (_, index) => `c${String(index).padStart(2, "0")}`);
      for (const id of ids) await mine.create({ id });
      const theirs = connect().of(owner);
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await mine.list({ limit: 7, ...(cursor !== undefined && { cursor }) });
        found.push(...page.chats.map(({ id }) => id));
        ({ cursor } = page);
        await theirs.create({ id: `new-${found.length}` });
      } while (cursor !== undefined);
      expect(found.toSorted()).toEqual(ids);
    },
  },
  {
    title: "list: filters by archived, pinned and labels; a cursor is a place in any of them",
    async run({ mine }) {
      await mine.create({ id: "plain" });
      await mine.create({ id: "pinned", pinned: true, labels: { kind: "a" } });
      await mine.create({ id: "archived", archived: true, labels: { kind: "a", n: 1 } });
      await mine.create({ id: "labelled", labels: { kind: "a", n: 1 } });
      const idsOf = async (filter: object) => (await mine.list(filter)).chats.map(({ id }) => id).toSorted();
      expect(await idsOf({})).toEqual(["labelled", "pinned", "plain"]);
      expect(await idsOf({ archived: true })).toEqual(["archived"]);
      expect(await idsOf({ pinned: true })).toEqual(["pinned"]);
      expect(await idsOf({ pinned: false })).toEqual(["labelled", "plain"]);
      expect(await idsOf({ labels: { kind: "a" } })).toEqual(["labelled", "pinned"]);
      expect(await idsOf({ labels: { n: 1, kind: "a" } })).toEqual(["labelled"]);
      const { chats, cursor = "" } = await mine.list({ limit: 1 });
      for (const other of [{ archived: true }, { pinned: false }, { labels: { kind: "a" } }]) {
        const rest = (await mine.list({ ...other, cursor })).chats.map(({ id }) => id);
        // The first chat can be any, because several chats can be created in one millisecond.
        expect(rest).not.toContain(chats[0]?.id);
      }
      await expect(mine.list({ cursor: "another" })).rejects.toMatchObject(
        storeError("INVALID_ARGUMENT", /cursor/),
      );
      await mine.update("pinned", { archived: true });
      expect(await idsOf({ pinned: true })).toEqual([]);
    },
  },
];
