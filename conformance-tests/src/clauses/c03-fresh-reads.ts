import { expect } from "vitest";
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
  },
};
