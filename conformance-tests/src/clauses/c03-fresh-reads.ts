import { expect } from "vitest";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

export const freshReads: Clause = {
  title: "Fresh reads",
  declare(test) {
    test("a read that starts after a commit returned sees it, on any client", async (backend) => {
      const mine = backend.store();
      const others = backend.otherStores().open(mine.threadId);
      for (let round = 1; round <= 25; round++) {
        const [writer, reader] = round % 2 === 0 ? [mine, others] : [others, mine];
        const revision = await writer.addMessages([user(`${round}`)]);
        const [own, other, newest] = await Promise.all([writer.read(), reader.read(), textsIn(reader, 1)]);
        expect(own.revision).toBe(revision);
        expect(other.revision).toBe(revision);
        expect(other.entries).toHaveLength(round);
        expect(newest).toEqual([`${round}`]);
      }
    });

    test("a read sees every kind of write", async (backend) => {
      const mine = backend.store();
      const others = backend.otherStores().open(mine.threadId);
      await mine.addMessages(numbered(3));
      expect(await textsIn(others)).toHaveLength(3);
      await mine.popMessage();
      expect(await textsIn(others)).toEqual(["message 1", "message 2"]);
      await mine.replaceMessages([user("new")]);
      expect(await textsIn(others)).toEqual(["new"]);
      await mine.commit({ metadata: "title" });
      expect((await others.read()).metadata).toBe("title");
      await mine.clear();
      expect(await others.read()).toMatchObject({ entries: [] });
      await others.addMessages([user("after")]);
      expect(await textsIn(mine)).toEqual(["after"]);
    });

    test("a read sees all writes acknowledged before it started, during concurrent writes", async (backend) => {
      const clients = [backend.stores(), backend.otherStores()];
      const { threadId } = backend.store();
      const acknowledged: string[] = [];
      const write = async (name: number) => {
        const store = clients[name % 2]?.open(threadId);
        for (let index = 0; index < 12; index++) {
          await store?.addMessages([user(`${name}/${index}`)]);
          acknowledged.push(`${name}/${index}`);
        }
      };
      const readers = clients.map((stores) => async () => {
        const before = [...acknowledged];
        const seen = new Set(await textsIn(stores.open(threadId)));
        expect(
          before.filter((text) => !seen.has(text)),
          "acknowledged but not read",
        ).toEqual([]);
      });
      await meanwhile(Promise.all([0, 1, 2, 3].map(write)), ...readers);
      expect(acknowledged).toHaveLength(48);
    });
  },
};
