import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, message, storeError, textsIn } from "./values.ts";

const many = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

export const changing: readonly ContractTest[] = [
  {
    title: "append: adds at the end, and skips messages that the chat has",
    async run({ mine }) {
      const first = await mine.create({ id: "c", messages: dialogue("q") });
      await sleep(2);
      const chat = await mine.append("c", [message("a", "assistant"), message("q2")]);
      expect(chat).toMatchObject({ messageCount: 3, lastMessage: { id: "q2", role: "user", text: "q2" } });
      expect(chat.activeAt).toBeGreaterThan(first.activeAt);
      expect(await mine.append("c", [message("q2")])).toEqual(chat);
      await mine.append("c", [message("q2"), message("a2", "assistant")]);
      expect(await textsIn(mine, "c")).toEqual(["q", "a", "q2", "a2"]);
      const other = mine.append("c", [message("q2", "user", "other")]);
      await expect(other).rejects.toMatchObject(storeError("CONFLICT", /id/));
    },
  },
  {
    title: "after: a write that expects another last message fails with CONFLICT",
    async run({ mine }) {
      await mine.create({ id: "c" });
      await mine.append("c", [message("q")], { after: null });
      const refused = [
        () => mine.append("c", [message("x")], { after: null }),
        () => mine.append("c", [message("x")], { after: "a" }),
        () => mine.upsert("c", message("x"), { after: null }),
        () => mine.edit("c", "q", message("x"), { after: "a" }),
        () => mine.truncate("c", { from: "q" }, { after: "a" }),
        () => mine.dropAnswer("c", "q", { after: null }),
      ];
      for (const call of refused)
        await expect(call()).rejects.toMatchObject(storeError("CONFLICT", /last message/));
      await mine.append("c", [message("a", "assistant")], { after: "q" });
      expect(await textsIn(mine, "c")).toEqual(["q", "a"]);
    },
  },
  {
    title: "after: one of two tabs that answer the same message wins",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      const tabs = ["x", "y"].map((id) =>
        connect()
          .of(owner)
          .append("c", [message(id)], { after: "a" }),
      );
      const outcomes = await Promise.allSettled(tabs);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
        reason: storeError("CONFLICT", /last message/),
      });
      expect(await textsIn(mine, "c")).toHaveLength(3);
    },
  },
  {
    title: "upsert: replaces a message at any position, or appends it",
    async run({ mine }) {
      const created = await mine.create({ id: "c", messages: dialogue(...many(150)) });
      await sleep(2);
      for (const index of [149, 100, 60, 3, 0]) {
        const status = index === 3 ? "stopped" : "complete";
        const chat = await mine.upsert("c", message(`m${index}`, "user", `new ${index}`), { status });
        expect(chat.messageCount).toBe(150);
      }
      const page = await mine.read("c");
      expect(page?.entries.map((entry) => entry.message.id)).toEqual(many(150));
      const changed = page?.entries.filter((entry) => entry.message.content.startsWith("new"));
      expect(changed?.map((entry) => entry.message.id)).toEqual(["m0", "m3", "m60", "m100", "m149"]);
      for (const entry of changed ?? []) {
        expect(entry.createdAt).toBe(created.createdAt);
        expect(entry.updatedAt).toBeGreaterThan(created.createdAt);
        expect(entry.status).toBe(entry.message.id === "m3" ? "stopped" : "complete");
      }
      expect(page?.chat.lastMessage?.text).toBe("new 149");
      const chat = await mine.upsert("c", message("last"));
      expect(chat).toMatchObject({ messageCount: 151, lastMessage: { id: "last" } });
    },
  },
  {
    title: "upsert: a message that is replaced keeps its status and error, and its chat its place in lists",
    async run({ mine }) {
      const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      await run.end({ message: message("a", "assistant"), status: "failed", error: "no reply" });
      const stopped = message("stopped", "assistant");
      const before = await mine.upsert("c", stopped, { status: "stopped" });
      await sleep(2);
      const replace = async (id: string, options?: { status?: "failed" | "complete" }) => {
        const chat = await mine.upsert("c", message(id, "assistant", `${id}, voted`), options);
        expect(chat.activeAt).toBe(before.activeAt);
        expect(chat.updatedAt).toBeGreaterThan(before.updatedAt);
        const { status, error } =
          (await mine.read("c"))?.entries.find((entry) => entry.message.id === id) ?? {};
        return { status, error };
      };
      expect(await replace("a")).toEqual({ status: "failed", error: "no reply" });
      expect(await replace("a", { status: "failed" })).toEqual({ status: "failed", error: "no reply" });
      expect(await replace("stopped")).toEqual({ status: "stopped", error: undefined });
      expect(await replace("a", { status: "complete" })).toEqual({ status: "complete", error: undefined });
      expect(await textsIn(mine, "c")).toEqual(["q", "a, voted", "stopped, voted"]);
    },
  },
  {
    title: "edit: replaces a message and drops all later ones",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue(...many(100)) });
      const chat = await mine.edit("c", "m10", message("other", "user", "new text"));
      expect(chat).toMatchObject({ messageCount: 11, lastMessage: { id: "other", text: "new text" } });
      expect(await textsIn(mine, "c")).toEqual([...many(10), "new text"]);
      await mine.edit("c", "m0", message("m0", "user", "same id"));
      expect(await textsIn(mine, "c")).toEqual(["same id"]);
      await expect(mine.edit("c", "m10", message("x"))).rejects.toMatchObject(
        storeError("NOT_FOUND", /message/),
      );
      await mine.append("c", [message("b", "assistant")]);
      await expect(mine.edit("c", "b", message("m0"))).rejects.toMatchObject(storeError("CONFLICT", /id/));
    },
  },
  {
    title: "truncate: drops from or behind a message, or all",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue(...many(100)) });
      expect(await mine.truncate("c", { behind: "m80" })).toMatchObject({ lastMessage: { id: "m80" } });
      expect(await mine.truncate("c", { from: "m10" })).toMatchObject({
        messageCount: 10,
        lastMessage: { id: "m9" },
      });
      expect(await textsIn(mine, "c")).toEqual(many(10));
      const chat = await mine.truncate("c", { behind: null });
      expect(chat.messageCount).toBe(0);
      expect(chat).not.toHaveProperty("lastMessage");
      expect(await mine.truncate("c", { behind: null })).toEqual(chat);
      await expect(mine.truncate("c", { from: "m1" })).rejects.toMatchObject(storeError("NOT_FOUND"));
    },
  },
  {
    title: "truncate: returns the last message also if all messages that were read are dropped",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue(...many(100)) });
      const chat = await mine.truncate("c", { from: "m36" });
      expect(chat).toMatchObject({ messageCount: 36, lastMessage: { id: "m35", text: "m35" } });
    },
  },
  {
    title:
      "dropAnswer: drops from an assistant's message or behind a user's, by default behind the last user's",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q1", "a1", "q2", "a2", "q3", "a3") });
      await mine.dropAnswer("c");
      expect(await textsIn(mine, "c")).toEqual(["q1", "a1", "q2", "a2", "q3"]);
      await mine.dropAnswer("c", "a2");
      expect(await textsIn(mine, "c")).toEqual(["q1", "a1", "q2"]);
      await mine.dropAnswer("c", "q1");
      expect(await textsIn(mine, "c")).toEqual(["q1"]);
      const chat = await mine.get("c");
      expect(await mine.dropAnswer("c")).toEqual(chat);
      await mine.truncate("c", { behind: null });
      await expect(mine.dropAnswer("c")).rejects.toMatchObject(storeError("NOT_FOUND", /user/));
    },
  },
  {
    title: "messages keep values that JSON lacks, and lists show their text cut to 160 characters",
    async run({ mine }) {
      const dated = { ...message("d", "user", "😀".repeat(200)), sentAt: new Date(5) };
      const chat = await mine.create({ id: "c", messages: [dated] });
      expect(chat.lastMessage?.text).toBe("😀".repeat(160));
      expect((await mine.read("c"))?.entries[0]?.message).toEqual(dated);
    },
  },
];
