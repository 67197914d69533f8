import { expect, vi } from "vitest";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

export const order: Clause = {
  title: "Order",
  declare(test) {
    test("keeps the order within a batch and between batches", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(7, "first"));
      await store.addMessages(numbered(1, "second"));
      await store.addMessages(numbered(12, "third"));
      const expected = [numbered(7, "first"), numbered(1, "second"), numbered(12, "third")].flat();
      expect(await store.listMessages()).toStrictEqual(expected);
    });

    test("a message added after another add returned comes after it, from any client", async (backend) => {
      const mine = backend.store();
      const others = backend.otherStores().open(mine.threadId);
      // More than a page of any known backend.
      for (let round = 0; round < 80; round++) {
        await (round % 2 === 0 ? mine : others).addMessages([user(`${round}`)]);
      }
      const expected = Array.from({ length: 80 }, (_, round) => `${round}`);
      expect(await textsIn(mine)).toEqual(expected);
      expect(await textsIn(others)).toEqual(expected);
    });

    test("equal and decreasing timestamps in messages do not change the order", async (backend) => {
      const store = backend.store();
      const at = Date.parse("2024-05-01T12:00:00Z");
      const messages = [0, 0, 0, -1_000, -2_000, 5_000, 0].map((offset, index) => ({
        ...user(`${index}`),
        id: `${9 - index}`,
        createdAt: new Date(at + offset),
      }));
      await store.addMessages(messages.slice(0, 4));
      for (const message of messages.slice(4)) await store.addMessages([message]);
      expect(await store.listMessages()).toStrictEqual(messages);
    });

    test("clients with wrong clocks do not change the order", async (backend) => {
      const mine = backend.store();
      const others = backend.otherStores().open(mine.threadId);
      try {
        for (let round = 0; round < 8; round++) {
          const wrong = [120_000, -120_000, 0, -60_000][round % 4] ?? 0;
          vi.useRealTimers();
          vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + wrong });
          await (round % 2 === 0 ? mine : others).addMessages([user(`${round}`)]);
        }
      } finally {
        vi.useRealTimers();
      }
      expect(await textsIn(mine)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    });

    test("sequence numbers increase in that order", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(3));
      await store.addMessages(numbered(3, "later"));
      const sequences = (await store.read()).entries.map(({ sequence }) => sequence);
      expect(sequences).toHaveLength(6);
      expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
      expect(new Set(sequences).size).toBe(6);
    });
  },
};
