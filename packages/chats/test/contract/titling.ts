import { expect } from "vitest";
import type { OwnedChats } from "../../src/list/owned-chats.ts";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { dialogue, message, storeError } from "./values.ts";

type Mine = OwnedChats<ContractMessage>;

const made = { title: "Title", titleBy: "model", titleOf: "q" } as const;
const createTitled = (mine: Mine, id: string) =>
  mine.create({ ...made, id, titleOf: message("q"), messages: dialogue("q", "a", "q2", "a2") });
const other = message("q", "user", "other");

/** The writes that change or drop the message of the title. */
const removals: Readonly<Record<string, (mine: Mine) => Promise<unknown>>> = {
  edit: (mine) => mine.edit("c", "q", other),
  "edit, another id": (mine) => mine.edit("c", "q", message("q3", "user", "q")),
  upsert: (mine) => mine.upsert("c", other),
  truncate: (mine) => mine.truncate("c", { behind: null }),
  begin: async (mine) =>
    await (await mine.begin("c", { keep: 0, append: [other] })).end({ status: "failed" }),
  "begin, other messages stay": async (mine) =>
    await (
      await mine.begin("c", (entries) => {
        const later = entries.slice(1).map((entry) => entry.message);
        return { keep: 0, append: [other, ...later] };
      })
    ).end({ status: "failed" }),
};

/** The writes that keep it. */
const others: Readonly<Record<string, (mine: Mine) => Promise<unknown>>> = {
  edit: (mine) => mine.edit("c", "q2", message("q2", "user", "other")),
  "edit, the same content": (mine) =>
    mine.edit("c", "q", { ...message("q"), metadata: { vote: 1 } } as never),
  upsert: (mine) => mine.upsert("c", message("a", "assistant", "other")),
  truncate: (mine) => mine.truncate("c", { behind: "q" }),
  dropAnswer: (mine) => mine.dropAnswer("c", "a"),
};

export const titling: readonly ContractTest[] = [
  ...Object.entries(removals).map(([name, remove]) => ({
    title: `titleOf: a title goes with the message that it was made of (${name}), and one of the user stays`,
    async run({ mine }: { mine: Mine }) {
      expect(await createTitled(mine, "c")).toMatchObject(made);
      await remove(mine);
      const chat = await mine.get("c");
      for (const field of Object.keys(made)) expect(chat).not.toHaveProperty(field);
      expect((await mine.list()).chats[0]).not.toHaveProperty("title");
      await mine.truncate("c", { behind: null });
      await mine.append("c", dialogue("q", "a"));
      const titled = await mine.update("c", { title: "Mine" });
      expect(titled).toMatchObject({ title: "Mine", titleBy: "user" });
      await remove(mine);
      expect(await mine.get("c")).toMatchObject({ title: "Mine", titleBy: "user" });
    },
  })),
  {
    title: "titleOf: a title stays while its message does",
    async run({ mine }) {
      for (const write of Object.values(others)) {
        await createTitled(mine, "c");
        await write(mine);
        expect(await mine.get("c")).toMatchObject(made);
        await mine.delete("c");
      }
    },
  },
  {
    title: "titleOf: update gives no title of a message that is gone or was changed, at any position",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue(...Array.from({ length: 150 }, (_, n) => `m${n}`)) });
      const title = (titleOf: ContractMessage) => mine.update("c", () => ({ ...made, titleOf }));
      expect(await title(message("m0"))).toMatchObject({ ...made, titleOf: "m0" });
      await mine.upsert("c", message("m0", "user", "other"));
      for (const one of [message("m0"), message("none")])
        await expect(title(one)).rejects.toMatchObject(storeError("NOT_FOUND", /titleOf/));
      expect(await mine.get("c")).not.toHaveProperty("title");
      const refused = mine.update("c", { title: "Mine", titleOf: message("m1") });
      await expect(refused).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /titleOf/));
    },
  },
  {
    title: "titleOf: forks, exports and imports keep it, and leave a title without its message behind",
    async run({ mine }) {
      await createTitled(mine, "c");
      expect(await mine.fork("c", { id: "whole" })).toMatchObject(made);
      await mine.edit("whole", "q", other);
      expect(await mine.get("whole")).not.toHaveProperty("title");
      expect(await mine.fork("c", { id: "empty", at: null })).not.toHaveProperty("title");
      expect(await mine.fork("c", { id: "named", at: null, title: "Mine" })).toMatchObject({ title: "Mine" });
      const exported = await mine.export("c");
      expect(await mine.import(exported, { id: "imported" })).toMatchObject(made);
      await mine.upsert("imported", other);
      expect(await mine.get("imported")).not.toHaveProperty("title");
      const cut = { ...exported, entries: [] };
      expect(await mine.import(cut, { id: "cut" })).not.toHaveProperty("title");
      const wrong = { ...exported, chat: { ...exported?.chat, titleOf: 5 } };
      await expect(mine.import(wrong)).rejects.toMatchObject(storeError("INVALID_STATE", /titleOf/));
    },
  },
  {
    title: "incarnation: tells a chat from one that is created under its id later",
    async run({ mine, connect, owner }) {
      const first = await createTitled(mine, "c");
      expect((await connect().of(owner).get("c"))?.incarnation).toBe(first.incarnation);
      await mine.delete("c");
      expect((await createTitled(mine, "c")).incarnation).not.toBe(first.incarnation);
      expect((await mine.export("c"))?.chat).not.toHaveProperty("incarnation");
    },
  },
];
