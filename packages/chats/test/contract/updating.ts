import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, storeError, textsIn } from "./values.ts";

export const updating: readonly ContractTest[] = [
  {
    title: "update: merges by field and key, and changes neither messages nor activeAt",
    async run({ mine, connect, owner }) {
      const before = await mine.create({
        id: "c",
        title: "Old",
        labels: { a: 1, b: 2 },
        metadata: { x: 1, y: 2 },
        messages: dialogue("q", "a"),
      });
      const labels = { b: null, c: "3" };
      const updated = await connect()
        .of(owner)
        .update("c", {
          title: "New",
          titleBy: "model",
          archived: true,
          labels,
          metadata: { y: null, z: [3] },
        });
      expect(updated).toMatchObject({ title: "New", titleBy: "model", archived: true, pinned: false });
      expect(updated.labels).toEqual({ a: 1, c: "3" });
      expect(updated.metadata).toEqual({ x: 1, z: [3] });
      expect(updated).toMatchObject({
        activeAt: before.activeAt,
        messageCount: 2,
        lastMessage: before.lastMessage,
      });
      expect(updated.revision).not.toBe(before.revision);
      expect(await mine.get("c")).toEqual(updated);
      expect(await textsIn(mine, "c")).toEqual(["q", "a"]);
    },
  },
  {
    title: "update: null removes the title, and an empty title is refused",
    async run({ mine }) {
      await mine.create({ id: "c", title: "Old" });
      const updated = await mine.update("c", { title: null });
      expect(updated).not.toHaveProperty("title");
      expect(updated).not.toHaveProperty("titleBy");
      await expect(mine.update("c", { title: "" })).rejects.toMatchObject(storeError("INVALID_ARGUMENT"));
    },
  },
  {
    title: "update: a function receives the current chat, and undefined changes nothing",
    async run({ mine, connect, owner }) {
      const chat = await mine.create({ id: "c", metadata: { n: 1 } });
      const same = await mine.update("c", (now) => {
        expect(now).toEqual(chat);
        return undefined;
      });
      expect(same).toEqual(chat);
      const count = (who: typeof mine) =>
        who.update("c", ({ metadata }) => ({ metadata: { n: Number(metadata.n) + 1 } }));
      await Promise.all([count(mine), count(connect().of(owner)), count(connect().of(owner))]);
      expect((await mine.get("c"))?.metadata).toEqual({ n: 4 });
    },
  },
  {
    title: "expectedRevision: applies only if the chat is unchanged since",
    async run({ mine }) {
      const first = await mine.create({ id: "c" });
      const second = await mine.update("c", { title: "A" }, { expectedRevision: first.revision });
      await expect(
        mine.update("c", { title: "B" }, { expectedRevision: first.revision }),
      ).rejects.toMatchObject(storeError("CONFLICT", /expectedRevision/));
      await mine.append("c", dialogue("q"), { expectedRevision: second.revision });
      await expect(mine.touch("c", { expectedRevision: second.revision })).rejects.toMatchObject(
        storeError("CONFLICT"),
      );
      expect(await mine.get("c")).toMatchObject({ title: "A", messageCount: 1 });
    },
  },
  {
    title: "limits: a value over a limit fails with TOO_LARGE and changes nothing",
    async run({ mine }) {
      const chat = await mine.create({ id: "c", title: "t".repeat(512), labels: { a: "x".repeat(500) } });
      const tooLarge = [
        { title: "t".repeat(513) },
        { labels: { a: "x".repeat(1_100) } },
        { labels: { b: "x".repeat(600) } },
        { metadata: { a: "x".repeat(64 * 1_024) } },
      ];
      for (const patch of tooLarge) {
        await expect(mine.update("c", patch)).rejects.toMatchObject(storeError("TOO_LARGE"));
      }
      await expect(mine.create(tooLarge[0])).rejects.toMatchObject(storeError("TOO_LARGE"));
      expect(await mine.get("c")).toEqual(chat);
    },
  },
];
